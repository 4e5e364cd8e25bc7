package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// home is where the operator keeps the set-up of the Claude Code CLI. Nothing in it is ever changed.
type home struct {
	dir   string // has settings.json and CLAUDE.md
	state string // the file with the MCP servers, and with the directories that are trusted
}

// homeOf finds it by an agent's environment; there is none without HOME.
func homeOf(env []string) (home, bool) {
	if dir := lookup(env, "CLAUDE_CONFIG_DIR"); dir != "" {
		return home{dir: dir, state: filepath.Join(dir, ".claude.json")}, true
	}
	dir := lookup(env, "HOME")
	return home{dir: filepath.Join(dir, ".claude"), state: filepath.Join(dir, ".claude.json")}, dir != ""
}

// lookup returns a variable of an environment, in which the last one of a name counts.
func lookup(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// claudeState is what matters here of the CLI's own file beside the settings. Servers of a project are those that
// the operator added for this directory; what came with the directory is in .mcp.json and is none of them.
type claudeState struct {
	Servers  map[string]json.RawMessage `json:"mcpServers"`
	Projects map[string]claudeProject   `json:"projects"`
}

type claudeProject struct {
	Trusted bool                       `json:"hasTrustDialogAccepted"`
	Servers map[string]json.RawMessage `json:"mcpServers"`
	Off     []string                   `json:"disabledMcpServers"`
}

// readState is a state as it was read, and of which file.
type readState struct {
	path  string
	size  int64
	when  time.Time
	state claudeState
}

// state reads the operator's state. The file has the CLI's history in it and can be large, so it is read again only
// when it has changed. A file that is missing, or that the CLI could not read either, is an empty state.
func (d *Dispatcher) state(path string) (claudeState, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return claudeState{}, nil
	}
	if err != nil {
		return claudeState{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.read.path == path && d.read.size == info.Size() && d.read.when.Equal(info.ModTime()) {
		return d.read.state, nil
	}
	var state claudeState
	if err := readJSON(os.ReadFile, path, &state); err != nil {
		return claudeState{}, err
	}
	d.read = readState{path: path, size: info.Size(), when: info.ModTime(), state: state}
	return state, nil
}

// readJSON reads a file as the CLI does: strictly, a byte order mark aside. Read is how.
func readJSON(read func(string) ([]byte, error), path string, into any) error {
	raw, err := read(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), into); err != nil {
		return fmt.Errorf("%s is not valid JSON: %w", path, err)
	}
	return nil
}

// place is a working directory as the state's projects are keyed: by its own name, and by that of its repository.
type place struct{ dir, root string }

// placeOf resolves a working directory; empty is ours.
func placeOf(dir string) (place, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return place{}, err
	}
	return place{dir: dir, root: repository(dir)}, nil
}

// projects are the state's entries for a place, the one that counts most first.
func (s claudeState) projects(p place) []claudeProject {
	entries := []claudeProject{s.Projects[p.dir]}
	if p.root != "" && p.root != p.dir {
		entries = append(entries, s.Projects[p.root])
	}
	return entries
}

// trusted reports whether the operator told the CLI to trust a place, and with it the settings that it came with.
// As in the CLI, a directory above counts only where it is the repository's root (measured).
func (s claudeState) trusted(p place) bool {
	for _, entry := range s.projects(p) {
		if entry.Trusted {
			return true
		}
	}
	return false
}

// configOf is where an agent keeps its own files; empty when that is not known.
func (d *Dispatcher) configOf(cmd Command) string {
	own, ok := homeOf(append(slices.Clone(d.Env), cmd.Env...))
	if !cmd.Inherits || !ok {
		return ""
	}
	return own.dir
}
