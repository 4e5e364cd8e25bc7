package wall

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Spec is what an agent and all that it starts may do behind a wall, beside reading and running.
type Spec struct {
	// Writable directories may be changed, with all that is below them. They exist, and nobody else writes what
	// others run or trust into them: what is made there stays there, but whoever reads it reads the agent's word.
	Writable []string
	// Files may be overwritten, and not removed, replaced or renamed. They exist.
	Files []string
	// Sockets are the unix stream sockets that may be connected to, by whatever name leads to them.
	Sockets []string
	// AgentConnects lets the agent's own process open network connections. What it starts never may.
	AgentConnects bool
}

// resolved is the spec with every path as the kernel will see it. An error names what is missing.
func (s Spec) resolved() (Spec, error) {
	out := Spec{AgentConnects: s.AgentConnects}
	for _, list := range []struct {
		what     string
		from     []string
		to       *[]string
		suitable func(os.FileInfo) bool
	}{
		{"directory", s.Writable, &out.Writable, os.FileInfo.IsDir},
		{"regular file", s.Files, &out.Files, func(i os.FileInfo) bool { return i.Mode().IsRegular() }},
		{"socket", s.Sockets, &out.Sockets, func(i os.FileInfo) bool { return i.Mode()&os.ModeSocket != 0 }},
	} {
		for _, path := range list.from {
			if !filepath.IsAbs(path) {
				return Spec{}, fmt.Errorf("the wall takes absolute paths, not %q", path)
			}
			there, err := filepath.EvalSymlinks(path)
			if err != nil {
				return Spec{}, fmt.Errorf("what may be written or connected to is not there: %w", err)
			}
			info, err := os.Stat(there)
			if err != nil {
				return Spec{}, fmt.Errorf("what may be written or connected to is not there: %w", err)
			}
			if !list.suitable(info) {
				return Spec{}, fmt.Errorf("%s is not a %s", path, list.what)
			}
			*list.to = append(*list.to, there)
		}
	}
	if slices.Contains(out.Writable, "/") {
		return Spec{}, fmt.Errorf("a wall around everything is none: / cannot be writable")
	}
	return out, nil
}

// writable reports whether a path, without symbolic links in it, may be changed.
func (s Spec) writable(path string) bool {
	return slices.Contains(s.Files, path) || slices.ContainsFunc(s.Writable, func(dir string) bool {
		rest, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rest) && rest != "."
	})
}
