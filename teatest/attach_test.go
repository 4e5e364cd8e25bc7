package teatest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/control"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/tmux"
)

// asking starts a demo in a terminal and brings it to its first ask.
func asking(t *testing.T, env []string, steps string) *tmux.Pane {
	t.Helper()
	p := tmux.Start(t, 100, 24, env, program(t), "demo", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, scenarioHead+steps))
	p.WaitFor("This is a demo")
	p.Type("begin it")
	p.WaitFor("begin it")
	p.Keys("Enter")
	p.WaitFor("Port?")
	p.WaitFor("waits")
	return p
}

// attached puts a second terminal onto the only session.
func attached(t *testing.T, env []string, args ...string) *tmux.Pane {
	t.Helper()
	return tmux.Start(t, 100, 24, env, append([]string{program(t), "attach"}, args...)...)
}

// run runs a command of kitsoki's and returns what it printed.
func run(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(program(t), args...)
	cmd.Env, cmd.Dir = env, t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// workOf asks every running kitsoki of an environment for its work.
func workOf(t *testing.T, env []string) []control.Row {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	clients, err := control.All(ctx, filepath.Join(lookup(env, "XDG_RUNTIME_DIR"), "kitsoki"))
	if err != nil {
		t.Fatal(err)
	}
	var all []control.Row
	for _, c := range clients {
		rows, err := c.Work(ctx)
		if err == nil {
			all = append(all, rows...)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	return all
}

// leave ends an attached terminal and leaves its session running.
func leave(t *testing.T, p *tmux.Pane) {
	t.Helper()
	p.Keys("C-c")
	p.WaitFor("again leaves")
	p.Keys("C-c")
	if code := p.WaitExit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.Screen())
	}
}

// Two terminals on one session: what is typed in one is seen in the other, and the first answer counts, from either.
func TestAttachedTerminalAnswers(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	owner := asking(t, env, askSteps+`  - ask: {id: b, questions: [{question: Host?, header: Host, options: [{label: here}, {label: there}], multiSelect: false}]}
  - say: 'on {{answer "b" "Host?"}}'
`)
	out, err := run(t, env, "sessions")
	if want := fmt.Sprintf("live, process %d", owner.PID()); err != nil || !strings.Contains(out, want) {
		t.Errorf("the list of sessions has no %q: %v\n%s", want, err, out)
	}
	second := attached(t, env)
	second.WaitFor("waits")
	quiet()
	owner.Type("i")
	owner.WaitFor("Enter accept")
	owner.Type("between the two")
	second.WaitFor("between the two")
	owner.Keys("Escape")
	quiet()
	second.Keys("2", "Enter")
	quiet()
	second.Keys("Enter") // the words of the other terminal go along as a note
	second.WaitFor("This is what the agent will get")
	quiet()
	second.Keys("Enter")
	second.WaitFor("Host?")
	owner.WaitFor(fmt.Sprintf("answered on terminal %d at ", second.PID()))
	quiet()
	owner.Keys("Escape")
	owner.WaitFor("Host?")
	quiet()
	owner.Type("i")
	owner.WaitFor("Enter accept")
	owner.Type("my own words")
	second.WaitFor("my own words")
	quiet()
	owner.Keys("Enter")
	second.WaitFor(fmt.Sprintf("answered on terminal %d at ", owner.PID()))
	quiet()
	second.Keys("Escape")
	second.WaitFor("on my own words")
	second.WaitFor("idle")
	if screen := second.Screen(); strings.Contains(screen, "> my own words") {
		t.Errorf("what was typed and sent in the one terminal stands in the prompt of the other:\n%s", screen)
	}
	owner.WaitFor("on my own words")
	leave(t, second)
	second.WaitFor("goes on in process")
	quit(t, owner)
	checkTrace(t, env)
	checkNoKitsokiLeft(t, env)
	checkNothingLeft(t, env)
}

// The kitsoki that a terminal is attached to is killed: the screen says so, and what was typed is given back.
func TestOwnerIsKilledWhileAttached(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	owner := asking(t, env, askSteps)
	second := attached(t, env)
	second.WaitFor("waits")
	quiet()
	second.Type("i")
	second.WaitFor("Enter accept")
	second.Type("not to be lost")
	owner.WaitFor("not to be lost")
	signal(t, owner.PID(), unix.SIGKILL)
	second.WaitFor("the connection to its kitsoki was lost")
	quiet()
	second.Keys("Escape")
	quiet()
	second.Keys("Escape")
	second.WaitFor("this session is gone")
	leave(t, second)
	second.WaitFor("not sent: not to be lost")
	second.WaitFor("is gone with process")
	if out, err := run(t, env, "sessions"); err != nil || strings.Contains(out, "live, process") {
		t.Errorf("a killed one is listed as live: %v\n%s", err, out)
	}
	checkNoKitsokiLeft(t, env)
}

// checkNoKitsokiLeft is checkNobodyLeft where the terminals that the test drives are there still.
func checkNoKitsokiLeft(t *testing.T, env []string) {
	t.Helper()
	ours := func() (left []int) {
		for _, pid := range family(env) {
			if argv := arguments(pid); len(argv) > 0 && argv[0] == program(t) {
				left = append(left, pid)
			}
		}
		return left
	}
	if !eventually(func() bool { return len(ours()) == 0 }) {
		for _, pid := range ours() {
			t.Errorf("process %d is left: %q", pid, arguments(pid))
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// A second kitsoki joins the first: three asks of two processes are answered from one terminal, and nothing opens over
// its composer by itself.
func TestTwoKitsokiHaveOneInbox(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	desk := tmux.Start(t, 100, 24, env, program(t), "demo", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, scenarioHead+askSteps))
	desk.WaitFor("This is a demo")
	other := asking(t, env, `  - together:
      - ask: {id: a, questions: [{question: Port?, header: Port, options: [{label: eighty}, {label: ninety}], multiSelect: false}]}
      - ask: {id: b, questions: [{question: Host?, header: Host, options: [{label: here}, {label: there}], multiSelect: false}]}
  - say: 'port {{answer "a" "Port?"}}, host {{answer "b" "Host?"}}'
`)
	desk.WaitFor(fmt.Sprintf("(process %d)", other.PID()))
	desk.WaitFor("2 wait")
	desk.Type("work of mine")
	desk.WaitFor("work of mine")
	quiet()
	desk.Keys("Enter") // its own ask opens by itself, and those of the other process do not
	desk.WaitFor("Port?")
	desk.WaitFor("1 ( ) one")
	quiet()
	desk.Keys("2", "Enter")
	desk.WaitFor("got two")
	desk.WaitFor("2 wait")
	quiet()
	desk.Keys("C-o")
	desk.WaitFor("inbox: 2 open")
	desk.WaitFor(fmt.Sprintf("(process %d): scripted", other.PID()))
	quiet()
	desk.Keys("1")
	desk.WaitFor("Enter sends")
	desk.Keys("Enter")
	other.WaitFor(fmt.Sprintf("answered on terminal %d at ", desk.PID()))
	desk.WaitFor("inbox: 1 open")
	quiet()
	desk.Keys("2")
	desk.WaitFor("Enter sends")
	desk.Keys("Enter")
	desk.WaitFor("inbox: 0 open")
	quiet()
	other.Keys("Escape")
	other.WaitMatch(regexp.MustCompile(`port eighty, host there|port ninety, host here`)) // whichever came first
	desk.Keys("Tab")
	desk.WaitFor("settled: 3 of 3")
	desk.Keys("Escape")
	quit(t, desk)
	quit(t, other)
	checkNoKitsokiLeft(t, env)
	checkNothingLeft(t, env)
	checkTraces(t, lookup(env, "XDG_STATE_HOME"))
}
