package agent

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// repository returns the root of the git repository that a directory belongs to, of a linked worktree that of the
// main one; empty: there is none. Dir has no symbolic links.
func repository(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(filepath.Join(at, ".git"))
		switch {
		case err == nil && info.Mode().IsRegular():
			return mainWorktree(at)
		case err == nil:
			return at
		case at == filepath.Dir(at):
			return ""
		}
	}
}

// mainWorktree returns the root that a linked worktree belongs to. The repository has to know of the worktree: a
// file .git that only claims to be of somebody's repository makes a root of its own.
func mainWorktree(at string) string {
	link := filepath.Join(at, ".git")
	raw, err := readSmall(link)
	own, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir: ")
	if err != nil || !ok {
		return at
	}
	own = from(at, own)
	worktrees := filepath.Dir(own)
	common := filepath.Dir(worktrees)
	if filepath.Base(worktrees) != "worktrees" || filepath.Base(common) != ".git" {
		return at
	}
	raw, err = readSmall(filepath.Join(own, "gitdir"))
	if err != nil {
		return at
	}
	back, err := filepath.EvalSymlinks(from(own, strings.TrimSpace(string(raw))))
	root, rootErr := filepath.EvalSymlinks(filepath.Dir(common))
	if err != nil || rootErr != nil || back != link {
		return at
	}
	return root
}

// from is a path as seen from a directory.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

const maxSmall = 1 << 20

var errNotSmall = errors.New("it is no file of at most 1 MiB")

// readSmall reads a file that somebody else may have made: it neither waits for a pipe nor reads without an end.
func readSmall(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSmall {
		return nil, errNotSmall
	}
	return io.ReadAll(io.LimitReader(f, maxSmall))
}
