package profiles

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gemini is Google's (gemini-cli 0.61.0).
func gemini() Profile {
	return Profile{
		Name:  "gemini",
		entry: func(s Server) any { return newGeminiEntry(s) },
		parts: func(s Server) []Part {
			return []Part{{
				Where: `~/.gemini/settings.json, as "operator" in its "mcpServers"; the workspace must be a trusted one`,
				Text:  indented(newGeminiEntry(s)),
			}}
		},
		wrap: wrapGemini,
	}
}

// geminiEntry is an entry of its settings. Without Trust a headless run does not call the tool; by itself it waits
// 600 s for an answer (both measured).
type geminiEntry struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout int64             `json:"timeout"`
	Trust   bool              `json:"trust"`
}

func newGeminiEntry(s Server) geminiEntry {
	return geminiEntry{Command: s.Command, Args: s.Args, Env: s.Env, Timeout: waitMS, Trust: true}
}

// The settings that stand over the operator's own, and where they are when nobody says so.
const (
	envGemini    = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
	systemGemini = "/etc/gemini-cli/settings.json"
	geminiNames  = "--allowed-mcp-server-names"
)

func wrapGemini(args []string, getenv func(string) string, b Bridge) (Wrapped, error) {
	w := Wrapped{Args: args, Headless: geminiHeadless(args)}
	if b.Server == nil {
		return w, nil
	}
	if open := writable(b.Dir); open != "" {
		return Wrapped{}, fmt.Errorf("gemini ignores settings below %s, because others can write there; set XDG_RUNTIME_DIR to a directory of your own", open)
	}
	err := withSettings(&w, getenv, b)
	return w, err
}

// withSettings gives the server in a copy of the system's settings.
func withSettings(w *Wrapped, getenv func(string) string, b Bridge) error {
	from := cmp.Or(getenv(envGemini), systemGemini)
	text, err := os.ReadFile(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("gemini's system settings could not be read, so the operator's server cannot be added to them: %w", err)
	}
	settings, err := object(string(text), from)
	if err != nil {
		return err
	}
	if err := set(settings, "mcpServers", newGeminiEntry(*b.Server)); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	path := filepath.Join(b.Dir, "settings.json")
	if err := os.WriteFile(path, []byte(indented(settings)), 0o600); err != nil {
		return fmt.Errorf("gemini's settings could not be written: %w", err)
	}
	w.Env = []string{envGemini + "=" + path}
	if at, value := lastValue(w.Args, geminiNames); at >= 0 && !slices.Contains(strings.Split(value, ","), serverName) {
		w.Args = withValue(w.Args, at, geminiNames, value+","+serverName)
	}
	return nil
}

// geminiHeadless reports whether a prompt was given that is not the first of a talk.
func geminiHeadless(args []string) bool {
	return slices.ContainsFunc(flags(args), func(a string) bool {
		return a == "-p" || a == "--prompt" || strings.HasPrefix(a, "--prompt=")
	})
}

// writable is the nearest directory at or above dir that its group or others can write into; none: empty.
func writable(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.Mode().Perm()&0o022 != 0 {
			return at
		}
		if at == filepath.Dir(at) {
			return ""
		}
	}
}
