package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/sys/unix"
)

// largestFile bounds what is changed here, in bytes: a diff has to be read by a person.
const largestFile = 4 << 20

// change is what an Edit or a Write would do to one file. The path has no symbolic links in it.
type change struct {
	path   string
	before string
	after  string
	fresh  bool // the file is not there yet
}

// readChange works out what a call would change, from the file as it is now. Errors are for the agent.
func readChange(tool string, input json.RawMessage, dir string) (*change, error) {
	in, err := members(input)
	if err != nil {
		return nil, err
	}
	file, err := text(in, "file_path")
	switch {
	case err != nil:
		return nil, err
	case file == nil || *file == "":
		return nil, errors.New("it names no file")
	}
	path := *file
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if path, err = resolve(path); err != nil {
		return nil, err
	}
	c := &change{path: path}
	if err := c.load(); err != nil {
		return nil, err
	}
	if tool == "Edit" {
		return c, c.edit(in)
	}
	content, err := text(in, "content")
	switch {
	case err != nil:
		return nil, err
	case content == nil:
		return nil, errors.New("it has no content")
	}
	c.after = *content
	return c, nil
}

// resolve follows the symbolic links of a path, of which the end need not be there.
func resolve(path string) (string, error) {
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; {
		actual, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(actual, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("the file cannot be found: %w", err)
		}
		if _, err := os.Lstat(dir); err == nil {
			return "", fmt.Errorf("%s is a link to nothing", dir)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("the file cannot be found: %w", err)
		}
		dir = up
	}
}

// load reads the file as it is.
func (c *change) load() error {
	f, err := openat(c.path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		c.fresh, c.before = true, ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("the file cannot be read: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("the file cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case info.Size() > largestFile:
		return fmt.Errorf("the file has %d bytes; up to %d are changed here", info.Size(), largestFile)
	}
	text, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	if err != nil {
		return fmt.Errorf("the file cannot be read: %w", err)
	}
	c.before = string(text)
	return nil
}

// edit replaces as Edit does: one occurrence, or all of them. The agent sees lines without their ends: in a file whose
// lines all end in CR LF, so do those of the texts.
func (c *change) edit(in map[string]json.RawMessage) error {
	was, err := text(in, "old_string")
	if err != nil {
		return err
	}
	now, err := text(in, "new_string")
	if err != nil {
		return err
	}
	all := false
	if raw, ok := in["replace_all"]; ok {
		if err := json.Unmarshal(raw, &all); err != nil {
			return errors.New("replace_all is neither true nor false")
		}
	}
	switch {
	case was == nil || now == nil:
		return errors.New("it does not say what to replace by what")
	case c.fresh && *was == "":
		c.after = *now
		return nil
	case c.fresh:
		return errors.New("there is no such file")
	case *was == "":
		return errors.New("there is nothing to look for, and the file is there already")
	case *was == *now:
		return errors.New("both texts are the same")
	}
	from, to := *was, *now
	if endsInCRLF(c.before) && !strings.Contains(from+to, "\r") {
		from, to = strings.ReplaceAll(from, "\n", "\r\n"), strings.ReplaceAll(to, "\n", "\r\n")
	}
	switch n := strings.Count(c.before, from); {
	case n == 0:
		return errors.New("the text that is to be replaced is not in the file; read it again")
	case n > 1 && !all:
		return fmt.Errorf("the text that is to be replaced is in the file %d times; say more of what is around it, or replace all", n)
	}
	c.after = strings.ReplaceAll(c.before, from, to)
	return nil
}

// endsInCRLF reports whether every line of a text ends so, and there is one.
func endsInCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && strings.Count(text, "\r\n") == n
}

func (c *change) title(dir string) string {
	if c.fresh {
		return "write the new file " + short(c.path, dir)
	}
	return "change " + short(c.path, dir)
}

// diff is the change, exactly: where texts cannot be told by lines, it says so and shows all of the new one.
func (c *change) diff() string {
	if !utf8.ValidString(c.before) || !utf8.ValidString(c.after) {
		return fmt.Sprintf("the file is no text: %d bytes become %d\n%q", len(c.before), len(c.after), c.after)
	}
	if c.before == c.after {
		return "nothing changes: the file has this content already"
	}
	return strings.TrimSuffix(udiff.Unified("before", "after", c.before, c.after), "\n")
}

// errHalf is a change that was begun and did not come to its end.
var errHalf = errors.New("the file may be written in part; read it again")

// apply makes the change, if the file is still what the operator was shown.
func (c *change) apply() error {
	now := &change{path: c.path}
	if err := now.load(); err != nil {
		return err
	}
	if now.fresh != c.fresh || now.before != c.before {
		return errors.New("the file changed while the operator read; read it again and propose the change anew")
	}
	flags := unix.O_WRONLY | unix.O_TRUNC | unix.O_NONBLOCK
	if c.fresh {
		if err := makeDirs(filepath.Dir(c.path)); err != nil {
			return err
		}
		flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL
	}
	f, err := openat(c.path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(c.after)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(errHalf, err)
	}
	return nil
}

// makeDirs makes a directory and those above it that are not there, through no symbolic link.
func makeDirs(path string) error {
	dir, err := openat(path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err == nil {
		return dir.Close()
	}
	up := filepath.Dir(path)
	if !errors.Is(err, fs.ErrNotExist) || up == path {
		return err
	}
	if err := makeDirs(up); err != nil {
		return err
	}
	parent, err := openat(up, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }() // it was only looked up
	if err := unix.Mkdirat(int(parent.Fd()), filepath.Base(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return &fs.PathError{Op: "mkdir", Path: path, Err: err}
	}
	return nil
}

// openat opens a path in which nothing is a symbolic link, also none that was put there meanwhile (openat2(2)).
func openat(path string, flags int, mode uint64) (*os.File, error) {
	if flags&unix.O_CREAT == 0 {
		mode = 0 // the call takes none then
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: uint64(flags) | unix.O_CLOEXEC, Mode: mode, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
