package profiles

import (
	"encoding/json"
	"fmt"
	"slices"
)

// opencode is opencode.ai's (1.18.33).
func opencode() Profile {
	return Profile{
		Name:  "opencode",
		entry: func(s Server) any { return newOpencodeEntry(s) },
		parts: func(s Server) []Part {
			return []Part{{
				Where: `~/.config/opencode/opencode.json, as "operator" in its "mcp"`,
				Text:  indented(newOpencodeEntry(s)),
			}}
		},
		wrap: wrapOpencode,
	}
}

// opencodeEntry is an entry of its configuration. By itself it waits 60 s for an answer, which progress extends; it
// passes its whole environment on (both measured).
type opencodeEntry struct {
	Type        string            `json:"type"`
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment,omitempty"`
	Enabled     bool              `json:"enabled"`
	Timeout     int64             `json:"timeout"`
}

func newOpencodeEntry(s Server) opencodeEntry {
	return opencodeEntry{
		Type: "local", Command: append([]string{s.Command}, s.Args...), Environment: s.Env, Enabled: true, Timeout: waitMS,
	}
}

// envOpencode is a configuration that is merged over those of files.
const envOpencode = "OPENCODE_CONFIG_CONTENT"

func wrapOpencode(args []string, getenv func(string) string, b Bridge) (Wrapped, error) {
	w := Wrapped{Args: args, Headless: slices.Contains(flags(args), "run")}
	if b.Server == nil {
		return w, nil
	}
	config, err := object(getenv(envOpencode), envOpencode)
	if err != nil {
		return Wrapped{}, err
	}
	if err := set(config, "mcp", newOpencodeEntry(*b.Server)); err != nil {
		return Wrapped{}, fmt.Errorf("%s: %w", envOpencode, err)
	}
	raw, err := json.Marshal(config)
	w.Env = []string{envOpencode + "=" + string(raw)}
	return w, err
}

// object reads a JSON object; an empty text is an empty one.
func object(text, from string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if text == "" {
		return out, nil
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("%s is no JSON object, so the operator's server cannot be added to it: %w", from, err)
	}
	return out, nil
}

// set puts the server's entry among the servers of a configuration, which are below a name.
func set(config map[string]json.RawMessage, name string, entry any) error {
	servers, err := object(string(config[name]), fmt.Sprintf("%q in it", name))
	if err != nil {
		return err
	}
	if servers == nil {
		servers = map[string]json.RawMessage{} // it was null
	}
	if servers[serverName], err = json.Marshal(entry); err != nil {
		return err
	}
	config[name], err = json.Marshal(servers)
	return err
}
