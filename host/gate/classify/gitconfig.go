package classify

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	longestConfig = 256 << 10
	longestIndex  = 256 << 20
)

// plainRepository returns an error unless git, started in dir, finds configuration of repositories in which no line
// can make a reading command start a program, open a connection or read another file. Every .git on the way up
// counts, because git passes over those that are not whole. With submodules it looks whether there are any: git
// status and diff run git in them.
func plainRepository(dir string, submodules bool) error {
	for at := dir; ; at = filepath.Dir(at) {
		if isBare(at) {
			return errors.New("a directory looks like a repository without files: " + at)
		}
		if err := plainGitDir(filepath.Join(at, ".git"), submodules); err != nil {
			return err
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// isBare reports whether git may take a directory itself for a repository, or for a working tree's part of one.
func isBare(dir string) bool {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return filepath.Base(dir) != ".git" && has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

func plainGitDir(dotGit string, submodules bool) error {
	info, err := os.Stat(dotGit)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return errors.New("its repository cannot be read")
	}
	gitDir := dotGit
	if !info.IsDir() {
		// A linked working tree, or a submodule.
		if gitDir, err = pointer(dotGit, "gitdir: "); err != nil {
			return err
		}
	}
	common := gitDir
	if _, err := os.Lstat(filepath.Join(gitDir, "commondir")); err == nil {
		if common, err = pointer(filepath.Join(gitDir, "commondir"), ""); err != nil {
			return err
		}
	}
	for _, config := range []string{
		filepath.Join(gitDir, "config"), filepath.Join(gitDir, "config.worktree"), filepath.Join(common, "config"), filepath.Join(common, "config.worktree"),
	} {
		if err := plainConfig(config); err != nil {
			return err
		}
	}
	if submodules {
		return withoutSubmodules(gitDir)
	}
	return nil
}

// pointer reads a file of one line that names a directory.
func pointer(file, prefix string) (string, error) {
	text, err := readAtMost(file, 4096)
	if err != nil {
		return "", errors.New("its repository cannot be read")
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), prefix)
	if !ok || target == "" || strings.ContainsAny(target, "\n\x00") {
		return "", errors.New("its repository cannot be read")
	}
	if !filepath.IsAbs(target) {
		target = filepath.Dir(file) + "/" + target
	}
	return target, nil
}

// withoutSubmodules looks for the mode of a submodule's entry in the index. These bytes may stand for something else
// by chance; then git is asked for once more often than it had to be.
func withoutSubmodules(gitDir string) error {
	files, err := filepath.Glob(filepath.Join(escapeGlob(gitDir), "sharedindex.*"))
	if err != nil {
		return errors.New("its index cannot be read")
	}
	for _, file := range append(files, filepath.Join(gitDir, "index")) {
		index, err := readAtMost(file, longestIndex)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return errors.New("its index cannot be read")
		case bytes.Contains(index, []byte{0, 0, 0xE0, 0}):
			return errors.New("there are submodules, whose configuration may name programs")
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(path, `\$0`)
}

func readAtMost(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > limit:
		return nil, errors.New("not a file that can be read")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, limit))
}

// plainConfig returns an error unless every line of a configuration file is understood and known to be inert.
func plainConfig(file string) error {
	text, err := readAtMost(file, longestConfig)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return errors.New("its configuration cannot be read")
	}
	section := ""
	head := regexp.MustCompile(`^\[([A-Za-z0-9-]+)( "[^"\\]*")?\]$`)
	entry := regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*)( *=.*)?$`)
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, longestConfig+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := head.FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := entry.FindStringSubmatch(line)
		if m == nil || strings.HasSuffix(line, `\`) || !inert(section, strings.ToLower(m[1])) {
			return fmt.Errorf("its configuration may name programs: %s", line)
		}
	}
	if lines.Err() != nil {
		return errors.New("its configuration cannot be read")
	}
	return nil
}

// inert lists what a repository's configuration may hold without having a say in what a reading command starts.
func inert(section, name string) bool {
	known := map[string]string{
		"advice":     "*",
		"branch":     "remote merge rebase description pushremote autosetuprebase autosetupmerge vscode-merge-base gh-merge-base mergeoptions",
		"color":      "*",
		"commit":     "verbose cleanup status",
		"core":       "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath protecthfs protectntfs longpaths abbrev compression preloadindex untrackedcache checkstat trustctime",
		"extensions": "worktreeconfig objectformat preciousobjects",
		"fetch":      "prune prunetags parallel",
		"gc":         "*",
		"index":      "version threads",
		"init":       "defaultbranch",
		"merge":      "conflictstyle ff renames",
		"pack":       "threads windowmemory",
		"pull":       "rebase ff",
		"push":       "default autosetupremote followtags",
		"rebase":     "autostash autosquash updaterefs",
		"remote":     "url fetch pushurl push tagopt prune mirror gh-resolved",
		"rerere":     "enabled autoupdate",
		"status":     "short branch showuntrackedfiles relativepaths",
		"submodule":  "active url",
		"tag":        "sort",
		"user":       "name email",
	}
	list, ok := known[section]
	return ok && (list == "*" || slices.Contains(strings.Fields(list), name))
}
