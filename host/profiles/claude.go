package profiles

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// claude is Claude Code (2.1.197 and 2.1.332).
func claude() Profile {
	return Profile{
		Name:  "claude",
		entry: func(s Server) any { return newClaudeEntry(s) },
		parts: func(s Server) []Part {
			return []Part{
				{
					Where: `~/.claude.json, as "operator" in its "mcpServers"; or: claude mcp add-json -s user operator "$(kitsoki mcp config claude --json)"`,
					Text:  indented(newClaudeEntry(s)),
				},
				{
					Where: `~/.claude/settings.json: the tool may be called unasked, and a call that waits is not put into the background after 120 s`,
					Text: indented(map[string]any{
						"permissions": map[string]any{"allow": []string{ClaudeTool}},
						"env":         map[string]string{"CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS": "0"},
					}),
				},
			}
		},
		wrap: wrapClaude,
	}
}

// claudeEntry is an entry of an MCP configuration. AlwaysLoad keeps the tool out of tool search; Timeout is a hard limit
// in milliseconds that progress does not extend (both measured).
type claudeEntry struct {
	Type       string            `json:"type"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env,omitempty"`
	Timeout    int64             `json:"timeout"`
	AlwaysLoad bool              `json:"alwaysLoad"`
}

func newClaudeEntry(s Server) claudeEntry {
	return claudeEntry{Type: "stdio", Command: s.Command, Args: s.Args, Env: s.Env, Timeout: waitMS, AlwaysLoad: true}
}

// Flags of the CLI, with their other spellings. Those that take lists add up when they are repeated; of the others the
// last one counts, and so does the last of several servers with one name (measured).
const (
	claudeAppend     = "--append-system-prompt"
	claudeAppendFile = "--append-system-prompt-file"
	claudeConfig     = "--mcp-config"
	claudeAllow      = "--allowedTools"
	claudeDeny       = "--disallowedTools"
)

// claudeCommands are subcommands: no model runs in them.
func claudeCommands() []string {
	return []string{"agents", "attach", "auth", "auto-mode", "config", "doctor", "gateway", "install", "logs", "mcp", "plugin", "plugins", "project", "rm", "setup-token", "stop", "ultrareview", "update", "upgrade"}
}

// wrapClaude adds flags of ours, each as one argument, since a flag that takes a list would take a prompt after it too.
func wrapClaude(args []string, _ func(string) string, b Bridge) (Wrapped, error) {
	if len(args) > 0 && slices.Contains(claudeCommands(), args[0]) {
		return Wrapped{Args: args}, nil
	}
	w := Wrapped{Args: args, Headless: printsOnly(args)}
	var denied []string
	if w.Headless {
		denied = append(denied, "AskUserQuestion") // it resolves empty without a terminal
	}
	if b.Server == nil {
		if !w.Headless {
			return w, nil // the operator is at its own screen
		}
		denied = append(denied, ClaudeTool)
	} else {
		path := filepath.Join(b.Dir, "mcp.json")
		config := map[string]any{"mcpServers": map[string]any{serverName: newClaudeEntry(*b.Server)}}
		if err := os.WriteFile(path, []byte(indented(config)), 0o600); err != nil {
			return Wrapped{}, fmt.Errorf("the agent's MCP configuration could not be written: %w", err)
		}
		w.Args = before(w.Args, claudeConfig+"="+path, claudeAllow+"="+ClaudeTool)
		w.Defaults = []string{"MCP_CONNECTION_NONBLOCKING=0", "CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS=0"}
	}
	if len(denied) > 0 {
		w.Args = before(w.Args, claudeDeny+"="+strings.Join(denied, ","))
	}
	var err error
	w.Args, err = appendClause(w.Args, b)
	return w, err
}

// printsOnly reports whether -p is among the flags, alone or with others behind one dash.
func printsOnly(args []string) bool {
	return slices.ContainsFunc(flags(args), func(a string) bool {
		if a == "--print" {
			return true
		}
		if len(a) < 2 || a[0] != '-' || a[1] == '-' {
			return false
		}
		short, _, _ := strings.Cut(a[1:], "=")
		if at := strings.IndexAny(short, "drnwm"); at >= 0 { // what follows one of these is its value
			short = short[:at]
		}
		return strings.Contains(short, "p")
	})
}

// appendClause adds the clause to what the command appends to the system prompt already, in its words or in a file.
func appendClause(args []string, b Bridge) ([]string, error) {
	if at, value := lastValue(args, claudeAppend); at >= 0 {
		return withValue(args, at, claudeAppend, value+"\n\n"+b.Clause), nil
	}
	at, file := lastValue(args, claudeAppendFile)
	if at < 0 {
		return before(args, claudeAppend+"="+b.Clause), nil
	}
	// 2.1.197 takes one of the two flags only (measured).
	words, err := os.ReadFile(file)
	if err != nil {
		return args, nil //nolint:nilerr // the command itself says what is wrong with its file
	}
	path := filepath.Join(b.Dir, "append.txt")
	if err := os.WriteFile(path, append(words, "\n\n"+b.Clause...), 0o600); err != nil {
		return nil, fmt.Errorf("the clause for the agent's system prompt could not be written: %w", err)
	}
	return withValue(args, at, claudeAppendFile, path), nil
}

// lastValue finds the last use of a flag that takes one value, in either spelling.
func lastValue(args []string, flag string) (at int, value string) {
	at = -1
	for i, a := range flags(args) {
		if v, ok := strings.CutPrefix(a, flag+"="); ok {
			at, value = i, v
		} else if a == flag && i+1 < len(args) {
			at, value = i, args[i+1]
		}
	}
	return at, value
}

// withValue gives the flag at a place another value, in the spelling that it has there.
func withValue(args []string, at int, flag, value string) []string {
	if args[at] == flag {
		args[at+1] = value
	} else {
		args[at] = flag + "=" + value
	}
	return args
}

func indented(v any) string {
	raw, _ := json.MarshalIndent(v, "", "  ") // strings, numbers and maps of them always can be
	return string(raw)
}
