package teatest

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/tmux"
)

// shortOf waits for the only open ask and returns the id that the commands take.
func shortOf(t *testing.T, env []string, asks string) string {
	t.Helper()
	var row struct{ ID string }
	if !eventually(func() bool {
		out, err := run(t, env, "inbox", "--json")
		return err == nil && strings.Contains(out, asks) && json.Unmarshal([]byte(out), &row) == nil
	}) {
		t.Fatalf("%q is not in the inbox", asks)
	}
	return row.ID
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// The inbox in another terminal shows what the first one does; of many who answer from the shell at once one has, and
// the screen says who.
func TestInboxAnswersForTheTerminal(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	watch := tmux.Start(t, 100, 24, env, program(t), "inbox", "--watch")
	watch.WaitFor("no ask is open")
	owner := asking(t, env, askSteps)
	watch.WaitFor("Port?")
	id := shortOf(t, env, "Port?")
	if out, err := run(t, env, "answer", id, "--pick", "nothing like it"); exitCode(err) != 2 || !strings.Contains(out, "its rows are: 1 ") {
		t.Errorf("a label that is not there: %v\n%s", err, out)
	}
	owner.WaitFor("waits")
	const rivals = 5
	codes := make([]int, rivals)
	var all sync.WaitGroup
	for i := range rivals {
		all.Go(func() {
			out, err := run(t, env, "answer", id, "--pick", "2", "--note", "from the shell")
			if codes[i] = exitCode(err); codes[i] == 4 && !strings.Contains(out, "answered by kitsoki answer") {
				t.Errorf("the loser was told %s", out)
			}
		})
	}
	all.Wait()
	won := 0
	for _, code := range codes {
		if code == 0 {
			won++
		} else if code != 4 {
			t.Errorf("the codes are %v", codes)
		}
	}
	if won != 1 {
		t.Errorf("%d have answered: %v", won, codes)
	}
	owner.WaitFor("answered on kitsoki answer")
	quiet()
	owner.Keys("Escape")
	owner.WaitFor("got two") // the agent has it
	watch.WaitFor("no ask is open")
	watch.WaitGone("Port?")
	watch.Keys("C-c")
	if code := watch.WaitExit(); code != 0 {
		t.Errorf("the watch ended with %d", code)
	}
	owner.Keys("C-c")
	owner.Keys("C-c")
	owner.WaitExit()
	checkTrace(t, env)
}

// A script asks, and the operator answers it on the screen like an agent; it is gone from there when the script is.
func TestScriptAsksTheTerminal(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	owner := tmux.Start(t, 100, 24, env, program(t), "demo", "--cwd", t.TempDir())
	owner.WaitFor("This is a demo")
	type end struct {
		out string
		err error
	}
	asked := make(chan end, 1)
	go func() {
		out, err := run(t, env, "ask", "Deploy now?", "--option", "yes", "--option", "no, later", "--header", "Deploy")
		asked <- end{out, err}
	}()
	owner.WaitFor("Deploy now?")
	owner.WaitFor("guest: shell")
	quiet()
	owner.Keys("2", "Enter")
	select {
	case got := <-asked:
		if got.err != nil || got.out != "no, later\n" {
			t.Errorf("the script got %q, %v", got.out, got.err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the script got no answer")
	}

	ctx, kill := context.WithCancel(t.Context())
	script := exec.CommandContext(ctx, program(t), "ask", "Still there?")
	script.Env = env
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	owner.WaitFor("Still there?")
	kill()
	if err := script.Wait(); err == nil {
		t.Error("a script that was killed was answered")
	}
	owner.WaitFor("asker gone")
	owner.Keys("C-c")
	owner.Keys("C-c")
	if code := owner.WaitExit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, owner.Screen())
	}
	if out, err := run(t, env, "trace", "--check"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run(t, env, "ask", "Anybody?"); exitCode(err) != 3 || !strings.Contains(out, "start kitsoki in another one") {
		t.Errorf("with nobody there: %v\n%s", err, out)
	}
}

// Over ssh everything is as it is at home.
func TestInboxOverSSH(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	words := append(append([]string{"exec", "env", "-i"}, env...), program(t), "control-stdio")
	for i, w := range words[1:] {
		words[i+1] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	s := startSSHD(t, script(t, "bridge", "#!/bin/sh\necho Welcome\n"+strings.Join(words, " ")+"\n"))
	ssh := []string{}
	for _, w := range s.client[:len(s.client)-1] {
		if w != "-tt" {
			ssh = append(ssh, w)
		}
	}
	here := append(append([]string{}, s.clientEnv...), "XDG_RUNTIME_DIR="+t.TempDir(), "KITSOKI_SSH="+strings.Join(ssh, " "))
	owner := asking(t, env, askSteps)
	if out, err := run(t, here, "inbox"); err != nil || !strings.Contains(out, "no ask is open") {
		t.Errorf("this machine: %v\n%s", err, out)
	}
	out, err := run(t, here, "inbox", "--host", "127.0.0.1")
	if err != nil || !strings.Contains(out, "Port?") {
		t.Fatalf("the other machine: %v\n%s", err, out)
	}
	id := shortOf(t, env, "Port?")
	if out, err := run(t, here, "answer", id, "--host", "127.0.0.1", "--pick", "1", "--note", "from afar"); err != nil || !strings.HasPrefix(out, "answered "+id) {
		t.Errorf("%v\n%s", err, out)
	}
	owner.WaitFor("answered on kitsoki answer")
	quiet()
	owner.Keys("Escape")
	owner.WaitFor("got one")
	if out, err := run(t, here, "answer", id, "--host", "127.0.0.1", "--pick", "1"); exitCode(err) != 4 {
		t.Errorf("a second answer: %v\n%s", err, out)
	}
	if out, err := run(t, here, "inbox", "--host", "no-such-box.invalid"); exitCode(err) != 3 || !strings.Contains(out, "no kitsoki could be reached on no-such-box.invalid: ") {
		t.Errorf("a machine that is not there: %v\n%s", err, out)
	}
}
