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
	servers  map[string]json.RawMessage
	projects []claudeProject // of the working directory and of its repository, the one that counts most first
}

type claudeProject struct {
	Trusted bool                       `json:"hasTrustDialogAccepted"`
	Servers map[string]json.RawMessage `json:"mcpServers"`
	Off     []string                   `json:"disabledMcpServers"`
}

// stateOf reads what the operator's file says of a place. The CLI keeps a lot in it, changes it in every run, and
// reads nothing of one that is broken.
func stateOf(path string, at place) (claudeState, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return claudeState{}, nil
	}
	if err != nil {
		return claudeState{}, err
	}
	keys := []string{at.dir}
	if at.root != "" && at.root != at.dir {
		keys = append(keys, at.root)
	}
	state := claudeState{projects: make([]claudeProject, len(keys))}
	err = members(withoutMark(raw), func(name string, value []byte) error {
		switch name {
		case "mcpServers":
			return json.Unmarshal(value, &state.servers)
		case "projects":
			return members(value, func(name string, value []byte) error {
				if i := slices.Index(keys, name); i >= 0 {
					return json.Unmarshal(value, &state.projects[i])
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return claudeState{}, fmt.Errorf("%s is not valid JSON: %w", path, err)
	}
	return state, nil
}

// trusted reports whether the operator told the CLI to trust a place, and with it the settings that it came with.
// As in the CLI, a directory above counts only where it is the repository's root (measured).
func (s claudeState) trusted() bool {
	return slices.ContainsFunc(s.projects, func(p claudeProject) bool { return p.Trusted })
}

// withoutMark is a text without a byte order mark, which the CLI allows.
func withoutMark(raw []byte) []byte { return bytes.TrimPrefix(raw, []byte("\ufeff")) }

// readJSON reads a small file as the CLI does: strictly.
func readJSON(path string, into any) error {
	raw, err := readSmall(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(withoutMark(raw), into); err != nil {
		return fmt.Errorf("%s is not valid JSON: %w", path, err)
	}
	return nil
}

// place is a working directory as the state's projects are named: by itself, and by its repository.
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

// configOf is where an agent keeps its own files; empty when that is not known.
func (d *Dispatcher) configOf(cmd Command) string {
	own, ok := homeOf(append(slices.Clone(d.Env), cmd.Env...))
	if !cmd.Inherits || !ok {
		return ""
	}
	return own.dir
}
