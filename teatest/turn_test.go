package teatest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/kitsoki/teatest/claudecli"
)

// On a terminal a turn that takes longer says what the agent does, in a line that is gone when the words come.
func TestTurnShowsItsProgress(t *testing.T) {
	t.Parallel()
	scenario := filepath.Join(t.TempDir(), "slow.yaml")
	if err := os.WriteFile(scenario, []byte(`name: slow
description: Takes its time.
pace: 1ms
steps:
  - tool: {name: Bash, input: {command: "make all\x1b[2J"}, takes: 2500ms, result: done}
  - say: It is built.
`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(claudecli.Env(t, "http://127.0.0.1:9"), "TERM=xterm")
	term := openTerminal(t, env, program(t), "turn", "build it", "--agent", "scripted", "--scenario", scenario)
	if code := term.waitExit(); code != 0 {
		t.Fatalf("exit code %d: %q", code, term.output())
	}
	term.waitFor("It is built.")
	out := term.output()
	for _, want := range []string{"1s · Bash make all‹ESC›[2J", "\r\x1b[2KIt is built."} {
		if !strings.Contains(out, want) {
			t.Errorf("the terminal lacks %q: %q", want, out)
		}
	}
}
