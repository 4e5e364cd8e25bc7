package teatest

import (
	"strings"
	"testing"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/tmux"
)

// demo starts the demo in a terminal. The environment is as for the real agent, so that nothing of the machine's
// own set-up takes part.
func demo(t *testing.T, w, h int, args ...string) (*tmux.Pane, []string) {
	t.Helper()
	tmux.Require(t)
	env := claudecli.Env(t, "http://127.0.0.1:9")
	return tmux.Start(t, w, h, env, append([]string{program(t), "demo", "--cwd", t.TempDir()}, args...)...), env
}

func quit(t *testing.T, p *tmux.Pane) {
	t.Helper()
	p.Keys("C-c")
	p.WaitFor("again quits")
	p.Keys("C-c")
	if code := p.WaitExit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Screen())
	}
}

func TestDemoAnsweredWithTheKeyboard(t *testing.T) {
	p, env := demo(t, 80, 24)
	p.WaitFor("This is a demo")
	p.Type("start the service")
	p.Keys("Enter")
	p.WaitFor("Which database should the new service use?")
	p.WaitFor("waits")
	quiet()
	p.Keys("2", "Enter")
	p.WaitFor(`The operator chose "SQLite"`)
	p.WaitFor("idle")
	quit(t, p)
	for id, outcome := range checkTrace(t, env) {
		if outcome != "answered" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
	checkNothingLeft(t, env)
}

func TestDemoWithThreeQuestions(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		p, env := demo(t, size[0], size[1], "--scenario", "three-questions")
		p.WaitFor("demo")
		p.Type("cut it")
		p.Keys("Enter")
		p.WaitFor("When should the release go out?")
		p.WaitFor("( ) Today")
		quiet()
		p.Keys("3", "Enter")
		p.WaitFor("Which checks should run")
		quiet()
		p.Keys("Space", "Down", "Down", "Space", "Enter")
		p.WaitFor("What should the release be called?")
		quiet()
		p.Type("i")
		p.Type("15:00, Nova")
		p.Keys("Enter")
		p.WaitFor("This is what the agent will get")
		quiet()
		p.Keys("Enter")
		p.WaitFor("idle")
		if screen := strings.Join(strings.Fields(p.Screen()), " "); !strings.Contains(screen, `"After the freeze"`) ||
			!strings.Contains(screen, `"lint, race"`) || !strings.Contains(screen, `"15:00, Nova"`) {
			t.Errorf("the last words do not quote the answers:\n%s", p.Screen())
		}
		quit(t, p)
		checkTrace(t, env)
		checkNothingLeft(t, env)
	}
}
