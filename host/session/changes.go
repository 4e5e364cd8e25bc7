package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

// gitChanges is how long git may take to read a whole directory before a task, and again after it. The first delays the
// agent; in a repository that takes longer, what a task changed is not told.
const gitChanges = 5 * time.Second

// state is a directory as it was at one moment, as git would keep it: everything that is not ignored. It lies in a
// scratch directory of its own, with an index and objects that the repository never sees.
type state struct {
	g    repository
	tree string
	err  error // why there is none; nil with an empty tree: nobody wants to know
}

// stateBefore looks at the directory before a task changes it.
func (s *Session) stateBefore(ctx context.Context, req agent.Request) *state {
	if req.Verb != agent.Task {
		return &state{}
	}
	st := &state{}
	st.tree, st.err = st.open(ctx, s.opt.Dir)
	return st
}

// open makes the scratch directory and takes the first tree.
func (st *state) open(ctx context.Context, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitChanges)
	defer cancel()
	st.g = repository{dir: dir}
	if err := st.g.guard(ctx, true); err != nil {
		return "", err
	}
	index, err := st.g.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return "", err
	}
	objects, err := st.g.line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "kitsoki-changes-")
	if err != nil {
		return "", err
	}
	st.g.scratch = scratch
	// A copy of the index knows which files have not been touched, so that they need not be read.
	if err := copyFile(filepath.Join(scratch, "index"), index); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(scratch, "objects"), 0o700); err != nil {
		return "", err
	}
	st.g.env = []string{
		"GIT_INDEX_FILE=" + filepath.Join(scratch, "index"), "GIT_OBJECT_DIRECTORY=" + filepath.Join(scratch, "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + objects,
	}
	return st.take(ctx)
}

// take writes the directory, as it is now, as a tree.
func (st *state) take(ctx context.Context) (string, error) {
	if _, err := st.g.line(ctx, "add", "--all", "--ignore-errors", "--", "."); err != nil {
		return "", err
	}
	return st.g.line(ctx, "write-tree")
}

// changes compares the directory with what it was, and removes the scratch directory. It has nothing to say where git
// could not tell. It is to be called once.
func (st *state) changes(ctx context.Context) Diff {
	if st.g.scratch != "" {
		defer func() { _ = os.RemoveAll(st.g.scratch) }() // objects are read-only files in directories that are ours
	}
	if st.tree == "" {
		return Diff{}
	}
	ctx, cancel := context.WithTimeout(ctx, gitChanges)
	defer cancel()
	now, err := st.take(ctx)
	if err != nil || now == st.tree {
		return Diff{}
	}
	var d Diff
	out, more, err := st.g.run(ctx, gitAnswer, treeDiffArgs(st.tree, now, "--raw", "--numstat", "-z")...)
	if err != nil {
		return Diff{}
	}
	d.Files = parseStat(out)
	d.Truncated = more || len(d.Files) > diffFiles
	d.Files = d.Files[:min(len(d.Files), diffFiles)]
	text, more, err := st.g.run(ctx, diffText, treeDiffArgs(st.tree, now, "--patch")...)
	d.Truncated = d.Truncated || more || err != nil
	d.add(text, st.g.dir, nil)
	return d
}

// treeDiffArgs are those of a diff between two trees of what is in the directory.
func treeDiffArgs(from, to string, what ...string) []string {
	args := diffArgs(from, what...)
	return append(args[:len(args)-2], to, "--", ".")
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func changedFiles(d Diff) []trace.ChangedFile {
	var files []trace.ChangedFile
	for _, f := range d.Files {
		files = append(files, trace.ChangedFile{Path: f.Path, Added: f.Added, Deleted: f.Deleted})
	}
	return files
}

// changedIn says what a turn changed in a line. Paths are safe already.
func changedIn(e trace.TurnEnded) string {
	var added, deleted int
	for _, f := range e.Files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	switch len(e.Files) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("changed %s: +%d −%d", e.Files[0].Path, added, deleted)
	}
	return fmt.Sprintf("changed %d files: +%d −%d", len(e.Files), added, deleted)
}

// decidedIn says what a turn decided in a line.
func decidedIn(e trace.TurnEnded) string {
	if e.Value == nil {
		return ""
	}
	return askbridge.SafeText(decided(e.Value))
}
