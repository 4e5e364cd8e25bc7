package profiles

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// noEnv is an environment with nothing in it.
func noEnv(string) string { return "" }

func bridge(t *testing.T) Bridge {
	t.Helper()
	return Bridge{
		Dir: t.TempDir(), Clause: "CLAUSE",
		Server: &Server{Command: "/bin/kitsoki", Args: []string{"mcp-operator-ask"}, Env: map[string]string{"SOCK": "/run/ask.sock"}},
	}
}

func find(t *testing.T, name string) Profile {
	t.Helper()
	p, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFind(t *testing.T) {
	for _, name := range Names() {
		if p := find(t, "/some/where/"+name); p.Name != name {
			t.Errorf("%s is found as %q", name, p.Name)
		}
	}
	if _, err := Find("aider"); err == nil || !strings.Contains(err.Error(), "claude, codex, opencode, gemini") {
		t.Errorf("got %v", err)
	}
}

// What Claude Code has of its own stays as it is and where it is; ours is added in one argument each, and what it appends
// to the system prompt is kept.
func TestWrapClaude(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"plain", "-p|hi", "-p|hi|MCP|ALLOW|DENY|--append-system-prompt=CLAUSE"},
		{"a prompt after a bare dash", "-p|--model|opus|--|--odd prompt", "-p|--model|opus|MCP|ALLOW|DENY|--append-system-prompt=CLAUSE|--|--odd prompt"},
		{
			"its own lists", "--mcp-config|a.json|b.json|--allowedTools=Bash(git *)|--disallowed-tools|WebFetch|-p",
			"--mcp-config|a.json|b.json|--allowedTools=Bash(git *)|--disallowed-tools|WebFetch|-p|MCP|ALLOW|DENY|--append-system-prompt=CLAUSE",
		},
		{"its own words", "-p|--append-system-prompt|Be brief.|hi", "-p|--append-system-prompt|Be brief.\n\nCLAUSE|hi|MCP|ALLOW|DENY"},
		{
			"the last of its words, with =", "--append-system-prompt=One|-p|--append-system-prompt=Two=2",
			"--append-system-prompt=One|-p|--append-system-prompt=Two=2\n\nCLAUSE|MCP|ALLOW|DENY",
		},
		{"words behind the dash are a prompt", "-p|--|--append-system-prompt|x", "-p|MCP|ALLOW|DENY|--append-system-prompt=CLAUSE|--|--append-system-prompt|x"},
		{"several letters", "-cp|hi", "-cp|hi|MCP|ALLOW|DENY|--append-system-prompt=CLAUSE"},
		{"its own screen", "hi", "hi|MCP|ALLOW|--append-system-prompt=CLAUSE"},
		{"a letter's value", "-rp", "-rp|MCP|ALLOW|--append-system-prompt=CLAUSE"},
		{"a subcommand", "mcp|list", "mcp|list"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bridge(t)
			args := strings.Split(c.args, "|")
			kept := slices.Clone(args)
			w, err := find(t, "claude").Wrap(args, noEnv, b)
			want := strings.NewReplacer(
				"MCP", "--mcp-config="+filepath.Join(b.Dir, "mcp.json"), "ALLOW", "--allowedTools="+ClaudeTool, "DENY", "--disallowedTools=AskUserQuestion",
			).Replace(c.want)
			if got := strings.Join(w.Args, "|"); err != nil || got != want {
				t.Errorf("got %q, %v\nwant %q", got, err, want)
			}
			if w.Headless != strings.Contains(c.want, "DENY") || !slices.Equal(args, kept) {
				t.Errorf("headless is %v; the arguments are now %q", w.Headless, args)
			}
		})
	}
}

func TestWrapClaudeGivesAServer(t *testing.T) {
	b := bridge(t)
	if _, err := find(t, "claude").Wrap([]string{"-p"}, noEnv, b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(b.Dir, "mcp.json")
	raw, err := os.ReadFile(path)
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v, %v", err, statErr, info.Mode())
	}
	var config struct{ MCPServers map[string]claudeEntry }
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	if e := config.MCPServers["operator"]; e.Command != "/bin/kitsoki" || e.Env["SOCK"] != "/run/ask.sock" || !e.AlwaysLoad || e.Timeout < 3600_000 {
		t.Errorf("%s", raw)
	}
}

// A file that is appended to the system prompt is not changed; 2.1.197 does not take words beside it.
func TestWrapClaudeWithWordsInAFile(t *testing.T) {
	b := bridge(t)
	file := filepath.Join(t.TempDir(), "words.txt")
	if err := os.WriteFile(file, []byte("Be brief."), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := find(t, "claude").Wrap([]string{"-p", "--append-system-prompt-file", file}, noEnv, b)
	if err != nil || w.Args[2] == file || slices.ContainsFunc(w.Args, func(a string) bool { return strings.HasPrefix(a, claudeAppend+"=") }) {
		t.Fatalf("%q, %v", w.Args, err)
	}
	for path, want := range map[string]string{file: "Be brief.", w.Args[2]: "Be brief.\n\nCLAUSE"} {
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", path, got, err)
		}
	}
	missing := []string{"-p", "--append-system-prompt-file=" + filepath.Join(b.Dir, "none")}
	if w, err := find(t, "claude").Wrap(missing, noEnv, b); err != nil || !slices.Contains(w.Args, missing[1]) {
		t.Errorf("%q, %v", w.Args, err)
	}
}

// Nobody there: the tool of an entry of the operator's own goes too, but only where the agent has no screen.
func TestWrapClaudeWithNobody(t *testing.T) {
	p := find(t, "claude")
	w, err := p.Wrap([]string{"-p", "hi"}, noEnv, Bridge{Clause: "NOBODY", Dir: t.TempDir()})
	if want := "-p hi --disallowedTools=AskUserQuestion,mcp__operator__ask --append-system-prompt=NOBODY"; err != nil || strings.Join(w.Args, " ") != want {
		t.Errorf("%q, %v", w.Args, err)
	}
	if w, err := p.Wrap([]string{"hi"}, noEnv, Bridge{Clause: "NOBODY"}); err != nil || !slices.Equal(w.Args, []string{"hi"}) || len(w.Defaults) > 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

func TestWrapCodex(t *testing.T) {
	p := find(t, "codex")
	for _, c := range []struct {
		args     []string
		at       int // where ours begins
		headless bool
	}{
		{[]string{"-m", "o5", "exec", "--json", "hi"}, 3, true},
		{[]string{"e", "hi"}, 1, true},
		{[]string{"hi"}, 0, false},
		{[]string{"--", "exec"}, 0, false},
	} {
		w, err := p.Wrap(c.args, noEnv, bridge(t))
		if err != nil || w.Headless != c.headless || w.Args[c.at] != "-c" {
			t.Fatalf("%q: %+v, %v", c.args, w, err)
		}
		n := len(w.Args) - len(c.args)
		if rest := slices.Delete(slices.Clone(w.Args), c.at, c.at+n); !slices.Equal(rest, c.args) {
			t.Errorf("what was %q is now %q", c.args, rest)
		}
		ours := w.Args[c.at : c.at+n]
		for _, want := range []string{
			`mcp_servers.operator.command="/bin/kitsoki"`, `mcp_servers.operator.args=["mcp-operator-ask"]`, `mcp_servers.operator.env={ SOCK = "/run/ask.sock" }`,
			`mcp_servers.operator.required=true`, `mcp_servers.operator.default_tools_approval_mode="approve"`,
		} {
			if !slices.Contains(ours, want) {
				t.Errorf("%s is missing in %q", want, ours)
			}
		}
	}
	if w, err := p.Wrap([]string{"exec", "hi"}, noEnv, Bridge{}); err != nil || len(w.Args) != 2 {
		t.Errorf("%+v, %v", w, err)
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestWrapOpencode(t *testing.T) {
	p := find(t, "opencode")
	w, err := p.Wrap([]string{"run", "hi"}, env(envOpencode, `{"model":"m","mcp":{"mine":{"type":"local"}}}`), bridge(t))
	if err != nil || !w.Headless || !slices.Equal(w.Args, []string{"run", "hi"}) || len(w.Env) != 1 {
		t.Fatalf("%+v, %v", w, err)
	}
	var config struct {
		Model string
		MCP   map[string]opencodeEntry
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(w.Env[0], envOpencode+"=")), &config); err != nil {
		t.Fatal(err)
	}
	if e := config.MCP["operator"]; config.Model != "m" || config.MCP["mine"].Type != "local" || e.Environment["SOCK"] == "" || e.Command[1] != "mcp-operator-ask" || e.Timeout < 3600_000 {
		t.Errorf("%s", w.Env[0])
	}
	if _, err := p.Wrap([]string{"run"}, env(envOpencode, `{// mine`), bridge(t)); err == nil || !strings.Contains(err.Error(), "is no JSON object") {
		t.Errorf("got %v", err)
	}
	if _, err := p.Wrap([]string{"run"}, env(envOpencode, `{"mcp":null}`), bridge(t)); err != nil {
		t.Error(err)
	}
}

func TestWrapGemini(t *testing.T) {
	p := find(t, "gemini")
	system := filepath.Join(t.TempDir(), "system.json")
	if err := os.WriteFile(system, []byte(`{"theme":"x","mcpServers":{"mine":{"command":"m"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := bridge(t)
	if writable(b.Dir) == "" {
		t.Fatal("a directory for temporary files that others cannot write to")
	}
	if _, err := p.Wrap([]string{"-p", "hi"}, env(envGemini, system), b); err == nil || !strings.Contains(err.Error(), "others can write there") {
		t.Errorf("got %v", err)
	}
	w := Wrapped{Args: []string{"-p", "hi", geminiNames, "mine"}}
	if err := withSettings(&w, env(envGemini, system), b); err != nil || w.Args[3] != "mine,operator" || !geminiHeadless(w.Args) {
		t.Fatalf("%+v, %v", w, err)
	}
	raw, err := os.ReadFile(strings.TrimPrefix(w.Env[0], envGemini+"="))
	if err != nil {
		t.Fatal(err)
	}
	var settings struct {
		Theme      string
		MCPServers map[string]geminiEntry
	}
	if err := json.Unmarshal(raw, &settings); err != nil {
		t.Fatal(err)
	}
	if e := settings.MCPServers["operator"]; settings.Theme != "x" || settings.MCPServers["mine"].Command != "m" || !e.Trust || e.Env["SOCK"] == "" {
		t.Errorf("%s", raw)
	}
}

// What is printed for codex is TOML, whose tables, strings, lists and numbers these are.
func TestConfigsCanBeRead(t *testing.T) {
	for _, name := range Names() {
		for _, part := range find(t, name).Config(Server{Command: `/odd "path"/kitsoki`, Args: []string{"mcp-operator-ask"}}) {
			if name != "codex" {
				var v map[string]any
				if err := json.Unmarshal([]byte(part.Text), &v); err != nil || strings.Contains(part.Where, "\n") {
					t.Errorf("%s: %v\n%s", name, err, part.Text)
				}
				continue
			}
			lines := strings.Split(part.Text, "\n")
			if lines[0] != "[mcp_servers.operator]" {
				t.Errorf("it begins with %s", lines[0])
			}
			for _, line := range lines[1:] {
				key, value, ok := strings.Cut(line, " = ")
				if !ok || strings.ContainsAny(key, ` "`) || !json.Valid([]byte(value)) {
					t.Errorf("%s", line)
				}
			}
		}
	}
}
