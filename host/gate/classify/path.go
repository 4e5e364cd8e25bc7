package classify

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many links one path may lead through, as in Linux.
const maxLinks = 40

// places are the directories of a call, with links resolved.
type places struct {
	dir   string
	roots []string // dir among them
	home  string
}

func newPlaces(c Call) (*places, error) {
	if !filepath.IsAbs(c.Dir) {
		return nil, errors.New("the working directory is not known")
	}
	p := &places{home: c.Home}
	for i, root := range append([]string{c.Dir}, c.Roots...) {
		if !filepath.IsAbs(root) {
			continue
		}
		end, err := resolve(root, "/")
		if err != nil {
			return nil, err
		}
		if i == 0 {
			p.dir = end
		}
		p.roots = append(p.roots, end)
	}
	return p, nil
}

// spot is where a path leads to, in every way that it may be read.
type spot struct {
	named string   // as it was written, absolute
	real  []string // with links resolved
	vague bool     // it could not be followed to its end
}

// locate follows a path. A shell's cd and many programs take "a/.." for nothing before they look; the kernel follows
// the link a first. Where the two differ, the path leads to both.
func (p *places) locate(path, from string) spot {
	if !filepath.IsAbs(path) {
		path = from + "/" + path
	}
	s := spot{named: filepath.Clean(path)}
	for _, way := range []string{path, s.named} {
		end, err := resolve(way, "/")
		if err != nil {
			s.vague = true
		}
		if !slices.Contains(s.real, end) {
			s.real = append(s.real, end)
		}
	}
	return s
}

func (p *places) inside(s spot) bool {
	return !s.vague && !slices.ContainsFunc(s.real, func(end string) bool { return !p.holds(end) })
}

func (p *places) holds(end string) bool {
	return slices.ContainsFunc(p.roots, func(root string) bool { return within(end, root) })
}

// steady reports whether a path is the same file to a tool that trims spaces off it and composes its characters, as
// Claude Code does: nothing at its ends, no control character, and no sign that has another form.
func steady(path string) bool {
	if path != strings.TrimSpace(path) {
		return false
	}
	for _, r := range path {
		whole := r >= ' ' && r < 0x7f || r > 0xA0 && r < 0x300 || r >= 0x391 && r <= 0x3C9 || r >= 0x400 && r < 0x482 || r >= 0x3041 && r <= 0x3096 ||
			r >= 0x30A1 && r <= 0x30FA || r >= 0x4E00 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7A3
		if !whole {
			return false
		}
	}
	return true
}

// short returns a path as a person in the working directory would write it.
func (p *places) short(path string) string {
	if rel, err := filepath.Rel(p.dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func within(path, root string) bool {
	return path == root || root == "/" || strings.HasPrefix(path, root+"/")
}

// resolve follows every link of a path as the kernel does, one name after the other. What is not there yet is kept as
// it is written. With an error the path is as far as it got, and the rest.
func resolve(path, from string) (string, error) {
	if !filepath.IsAbs(path) {
		path = from + "/" + path
	}
	at, rest, links := "/", strings.Split(path, "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if within(next, "/proc") || within(next, "/dev") {
			// What is there is another thing to every process that looks.
			return filepath.Join(next, filepath.Join(rest...)), errors.New("a path cannot be followed")
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, os.ErrNotExist):
			at = next
			continue
		case err != nil:
			return filepath.Join(next, filepath.Join(rest...)), errors.New("a path cannot be followed")
		case info.Mode()&os.ModeSymlink == 0:
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return filepath.Join(next, filepath.Join(rest...)), errors.New("a path cannot be followed")
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, nil
}
