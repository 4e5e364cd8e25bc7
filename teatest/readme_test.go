package teatest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

// The newcomer's path in the README: from a clone to another day, with the real agent and a scripted model.
func TestFirstDay(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	tmux.Require(t)
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commandsIn(t, "testdata/readme/first-day.txtar") {
		if !strings.Contains(string(readme), command) {
			t.Errorf("the README does not name %q", command)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/readme", RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error { return firstDay(e, bin) },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"terminal": startInTerminal,
			"see":      func(s *testscript.TestScript, _ bool, args []string) { paneOf(s).WaitFor(args[0]) },
			"type":     func(s *testscript.TestScript, _ bool, args []string) { paneOf(s).Type(args[0]) },
			"keys":     func(s *testscript.TestScript, _ bool, args []string) { paneOf(s).Keys(args...) },
			"read":     func(*testscript.TestScript, bool, []string) { quiet() },
			"leaves":   leaves,
		},
	})
}

// commandsIn are the commands of a script that an operator types.
func commandsIn(t *testing.T, path string) []string {
	t.Helper()
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(script)) {
		for _, verb := range []string{"terminal ", "exec "} {
			if command, ok := strings.CutPrefix(strings.TrimSpace(line), verb); ok {
				words := strings.SplitN(command, " '", 2) // what is typed there may differ
				out = append(out, words[0])
			}
		}
	}
	if len(out) < 8 {
		t.Fatalf("the script has only %q", out)
	}
	return out
}

// testing of a script, its running program, and the key of each.
type scriptKey string

func firstDay(e *testscript.Env, bin string) error {
	t, ok := e.T().(testing.TB)
	if !ok {
		return os.ErrInvalid
	}
	e.Values[scriptKey("t")] = t
	api := messagesapi.Start(t,
		ask("Postgres", "SQLite"),
		goOn("toolu_db", "Postgres it is."),
		messagesapi.Step{When: messagesapi.PromptContains("why"), Reply: messagesapi.Say("Because the team runs it."), Repeat: true},
	)
	clone, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	home, bins := filepath.Join(e.WorkDir, "home"), filepath.Join(e.WorkDir, "bin")
	for _, dir := range []string{home, bins} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.Symlink(bin, filepath.Join(bins, "claude")); err != nil {
		return err
	}
	// The caches of this machine's go: a newcomer's are empty, and filled from the network.
	env := claudecli.Env(t, api.URL(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "GOBIN="+bins, "CLONE="+clone, "GOFLAGS=-buildvcs=false")
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"} {
		env = append(env, name+"="+goEnv(t, name))
	}
	e.Vars = append(e.Vars, env...)
	e.Setenv("PATH", bins+string(os.PathListSeparator)+os.Getenv("PATH"))
	e.Values[scriptKey("pane")] = new(*tmux.Pane)
	return nil
}

func goEnv(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatalf("go env %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

func startInTerminal(s *testscript.TestScript, _ bool, args []string) {
	t := s.Value(scriptKey("t")).(testing.TB) //nolint:errcheck,forcetypeassert // firstDay put it there
	var env []string
	for _, name := range []string{
		"HOME", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "LANG", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN", "GOFLAGS",
	} {
		env = append(env, name+"="+s.Getenv(name))
	}
	// The program starts in the directory that the script is in.
	argv := append([]string{"/bin/sh", "-c", `cd "$0" && exec "$@"`, s.MkAbs(".")}, args...)
	p := tmux.Start(t, 80, 24, env, argv...)
	*s.Value(scriptKey("pane")).(**tmux.Pane) = p //nolint:errcheck,forcetypeassert // likewise
}

func paneOf(s *testscript.TestScript) *tmux.Pane {
	return *s.Value(scriptKey("pane")).(**tmux.Pane) //nolint:errcheck,forcetypeassert // likewise
}

func leaves(s *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	s.Check(err)
	if code := paneOf(s).WaitExit(); code != want {
		s.Fatalf("the program left with %d", code)
	}
}
