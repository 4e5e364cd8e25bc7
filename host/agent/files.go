package agent

import (
	"encoding/json"
	"path/filepath"
	"slices"
)

// changes collects the files that an agent changes, by its own account: the calls of its editing tools, and of its
// sub-agents', that came back without an error. What a shell command changes is not among them.
type changes struct {
	open  map[string]string // calls without a result yet, by id, and their paths
	files []string
}

func (c *changes) called(e ToolUse) {
	path := editedPath(e)
	if path == "" {
		return
	}
	if c.open == nil {
		c.open = map[string]string{}
	}
	c.open[e.ID] = path
}

// came notes the result of a call, of an agent that works in dir.
func (c *changes) came(e ToolResult, dir string) {
	path, ours := c.open[e.ID]
	delete(c.open, e.ID)
	if !ours || e.IsError {
		return
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	c.files = union(c.files, []string{filepath.Clean(path)})
}

// editedPath is the file that a call is to change; empty for tools that change none.
func editedPath(e ToolUse) string {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	switch e.Name {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
	default:
		return ""
	}
	if json.Unmarshal(e.Input, &in) != nil {
		return ""
	}
	if in.Notebook != "" {
		return in.Notebook
	}
	return in.File
}

// union is a with what of b it lacks, at its end.
func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}
