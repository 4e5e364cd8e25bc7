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
	path     string
	before   string
	after    string
	fresh    bool // the file is not there yet
	wasMode  fs.FileMode
	replaced int // occurrences, of an Edit
}

// editInput is the input of Edit and of Write, by the names that they have there.
type editInput struct {
	Path       string  `json:"file_path"`
	Content    *string `json:"content"`
	Old        *string `json:"old_string"`
	New        *string `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
}

// readChange works out what a call would change, from the file as it is now. Errors are for the agent.
func readChange(tool string, input json.RawMessage, dir string) (*change, error) {
	var in editInput
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, fmt.Errorf("its input cannot be read: %w", err)
	}
	if in.Path == "" {
		return nil, errors.New("it names no file")
	}
	path := in.Path
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	c := &change{path: path}
	if err := c.load(); err != nil {
		return nil, err
	}
	if tool == "Write" {
		if in.Content == nil {
			return nil, errors.New("it has no content")
		}
		c.after = *in.Content
		return c, nil
	}
	return c, c.edit(in)
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
	c.before, c.wasMode = string(text), info.Mode()
	return nil
}

// edit replaces as Edit does: one occurrence, or all of them.
func (c *change) edit(in editInput) error {
	switch {
	case in.Old == nil || in.New == nil:
		return errors.New("it does not say what to replace by what")
	case c.fresh && *in.Old == "":
		c.after = *in.New
		return nil
	case c.fresh:
		return errors.New("there is no such file")
	case *in.Old == "":
		return errors.New("there is nothing to look for, and the file is there already")
	case *in.Old == *in.New:
		return errors.New("both texts are the same")
	}
	c.replaced = strings.Count(c.before, *in.Old)
	switch {
	case c.replaced == 0:
		return errors.New("the text that is to be replaced is not in the file; read it again")
	case c.replaced > 1 && !in.ReplaceAll:
		return fmt.Errorf("the text that is to be replaced is in the file %d times; say more of what is around it, or replace all", c.replaced)
	}
	c.after = strings.ReplaceAll(c.before, *in.Old, *in.New)
	return nil
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

// apply makes the change, if the file is still what the operator was shown.
func (c *change) apply() error {
	now := &change{path: c.path}
	if err := now.load(); err != nil {
		return err
	}
	if now.fresh != c.fresh || now.before != c.before {
		return errors.New("the file changed while the operator read; read it again and propose the change anew")
	}
	flags := unix.O_WRONLY | unix.O_TRUNC
	if c.fresh {
		if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil { //nolint:gosec // as the agent itself would
			return err
		}
		flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL
	}
	f, err := openat(c.path, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(c.after)
	return errors.Join(err, f.Close())
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
