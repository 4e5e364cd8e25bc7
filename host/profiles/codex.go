package profiles

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// codex is OpenAI's (0.171.0).
func codex() Profile {
	return Profile{
		Name:  "codex",
		entry: func(s Server) any { return newCodexEntry(s) },
		parts: func(s Server) []Part {
			e := newCodexEntry(s)
			var text strings.Builder
			fmt.Fprintf(&text, "[mcp_servers.%s]\n", serverName)
			for _, kv := range e.values() {
				fmt.Fprintf(&text, "%s = %s\n", kv[0], kv[1])
			}
			return []Part{{Where: "~/.codex/config.toml", Text: strings.TrimSuffix(text.String(), "\n")}}
		},
		wrap: wrapCodex,
	}
}

// codexEntry is a table of its configuration. Required keeps a turn from starting before the tool is there; by itself it
// waits 300 s for an answer, asks about each call, runs them one after another, and passes no variable on but HOME and
// PATH (all measured).
type codexEntry struct {
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env,omitempty"`
	EnvVars  []string          `json:"env_vars"`
	Required bool              `json:"required"`
	Timeout  int64             `json:"tool_timeout_sec"`
	Approval string            `json:"default_tools_approval_mode"`
	Parallel bool              `json:"supports_parallel_tool_calls"`
}

func newCodexEntry(s Server) codexEntry {
	return codexEntry{
		Command: s.Command, Args: s.Args, Env: s.Env, EnvVars: passedOn(),
		Required: true, Timeout: waitMS / 1000, Approval: "approve", Parallel: true,
	}
}

// values are the entry's keys with their values in TOML, of which JSON's strings, numbers and lists are a part.
func (e codexEntry) values() [][2]string {
	out := [][2]string{{"command", toml(e.Command)}, {"args", toml(e.Args)}}
	if len(e.Env) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(e.Env)) {
			pairs = append(pairs, name+" = "+toml(e.Env[name]))
		}
		out = append(out, [2]string{"env", "{ " + strings.Join(pairs, ", ") + " }"})
	}
	return append(out, [][2]string{
		{"env_vars", toml(e.EnvVars)}, {"required", toml(e.Required)}, {"tool_timeout_sec", toml(e.Timeout)},
		{"default_tools_approval_mode", toml(e.Approval)}, {"supports_parallel_tool_calls", toml(e.Parallel)},
	}...)
}

func toml(v any) string {
	raw, _ := json.Marshal(v) // likewise
	return string(raw)
}

// wrapCodex gives the server by -c, which every one of its commands takes.
func wrapCodex(args []string, _ func(string) string, b Bridge) (Wrapped, error) {
	at := slices.IndexFunc(flags(args), func(a string) bool { return a == "exec" || a == "e" })
	w := Wrapped{Args: args, Headless: at >= 0}
	if b.Server == nil {
		return w, nil
	}
	var ours []string
	for _, kv := range newCodexEntry(*b.Server).values() {
		ours = append(ours, "-c", "mcp_servers."+serverName+"."+kv[0]+"="+kv[1])
	}
	w.Args = slices.Insert(w.Args, at+1, ours...) // with none of these commands in front of all
	return w, nil
}
