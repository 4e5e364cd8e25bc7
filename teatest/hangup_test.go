package teatest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/control"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/tmux"
)

// S5 (stay): the terminal is lost with an ask open. The ask stays, with its draft, for the next terminal, and the agent
// goes on with the answer; with nothing left to do the process ends by itself.
func TestWorkOutlivesItsTerminal(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	owner := asking(t, env, askSteps)
	quiet()
	owner.Type("i")
	owner.WaitFor("Enter accept")
	owner.Type("half an answer")
	owner.WaitFor("half an answer")
	quiet()
	pid := owner.PID()
	owner.CloseSession()
	if !eventually(func() bool {
		rows := workOf(t, env)
		return len(rows) == 2 && rows[0].Kind == control.RowQuestion && rows[0].PID == pid
	}) {
		t.Fatalf("the ask is not there: %+v", workOf(t, env))
	}
	checkIdleProcess(t, pid)
	if out, err := run(t, env, "sessions"); err != nil || !strings.Contains(out, "detached, process") {
		t.Errorf("the list of sessions has no detached one: %v\n%s", err, out)
	}
	second := attached(t, env)
	second.WaitFor("half an answer")
	quiet()
	second.Keys("Enter")
	second.WaitFor("Enter accept")
	quiet()
	second.Keys("Enter")
	second.WaitFor("got half an answer")
	leave(t, second)
	checkNoKitsokiLeft(t, env)
	if code := owner.WaitExit(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	for id, outcome := range checkTrace(t, env) {
		if outcome != "answered" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
	checkNothingLeft(t, env)
}

// checkIdleProcess checks that a process that waits does not spin.
func checkIdleProcess(t *testing.T, pid int) {
	t.Helper()
	before := processorTimeOf(t, pid)
	quiet()
	quiet()
	if used := processorTimeOf(t, pid) - before; used > 300*time.Millisecond {
		t.Errorf("process %d used %s of 1.2 s", pid, used)
	}
}

// A lost connection of ssh is a lost terminal.
func TestAskOutlivesAnSSHConnection(t *testing.T) {
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	term, s := overSSH(t, env, program(t), "demo", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, scenarioHead+askSteps))
	see := term.sees
	see("This is a demo")
	term.sends("begin it")
	see("begin it")
	term.sends("\r")
	see("waits")
	quiet()
	term.sends("i")
	quiet()
	term.sends("far away")
	see("far away")
	quiet()
	signal(t, term.cmd.Process.Pid, unix.SIGKILL)
	term.waitExit()
	if !eventually(func() bool { return len(childrenOf(t, s.pid)) == 0 }) {
		t.Errorf("sshd still has the session: %v", childrenOf(t, s.pid))
	}
	var rows []control.Row
	if !eventually(func() bool { rows = workOf(t, env); return len(rows) == 2 && rows[0].Kind == control.RowQuestion }) {
		t.Fatalf("the ask is not there: %+v", rows)
	}
	again := openTerminal(t, env, program(t), "attach", rows[0].SessionID)
	again.sees("far away")
	quiet()
	again.sends("\r")
	again.sees("Enter accept")
	quiet()
	again.sends("\r")
	again.sees("got far away")
	again.sends("\x03")
	again.sees("again leaves")
	again.sends("\x03")
	if code := again.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	again.checkRestored()
	checkNobodyLeft(t, env)
	checkTrace(t, env)
	checkNothingLeft(t, env)
}

// processorTimeOf is what a process has used so far.
func processorTimeOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // Linux tells it in hundredths
}
