package teatest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/control"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/needs"
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

// A session is started without a terminal, gets one, loses it by the operator's will, and is stopped.
func TestDetachAttachAndStop(t *testing.T) {
	tmux.Require(t)
	t.Parallel()
	notice := filepath.Join(t.TempDir(), "notice")
	env := claudecli.Env(t, "http://127.0.0.1:9", "KITSOKI_NOTIFY_ON_ASK=cat >"+notice, "KITSOKI_NOTIFY_AFTER=0s")
	out, err := run(t, env, "demo", "--detach", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, scenarioHead+askSteps), "do it")
	if err != nil || !strings.Contains(out, "runs in the background") {
		t.Fatalf("not started: %v\n%s", err, out)
	}
	var rows []control.Row
	if !eventually(func() bool { rows = workOf(t, env); return len(rows) == 2 && rows[0].Kind == control.RowQuestion }) {
		t.Fatalf("the ask is not there: %+v", rows)
	}
	if !eventually(func() bool { raw, _ := os.ReadFile(notice); return strings.Contains(string(raw), "Port?") }) {
		t.Error("the operator's program was not told of the ask")
	}
	id := rows[0].SessionID
	if out, err := run(t, env, "demo", "--resume", id); err == nil || !strings.Contains(out, "kitsoki sessions attach "+id) {
		t.Errorf("a second process took it up, or was not told how to: %v\n%s", err, out)
	}
	second := attached(t, env, id)
	second.WaitFor("waits")
	leave(t, second)
	if out, err := run(t, env, "sessions", "stop", id); err != nil || !strings.Contains(out, "has ended") {
		t.Errorf("not stopped: %v\n%s", err, out)
	}
	for ask, outcome := range checkTrace(t, env) {
		if outcome != "host_closing" {
			t.Errorf("ask %s ended as %s", ask, outcome)
		}
	}
	checkNoKitsokiLeft(t, env)
	checkNothingLeft(t, env)
	if out, err := run(t, env, "demo", "--detach", "--cwd", "/nowhere/at/all"); err == nil || !strings.Contains(out, "does not exist") {
		t.Errorf("what is wrong is not said: %v\n%s", err, out)
	}
	if out, err := run(t, env, "sessions", "stop", id); err == nil || !strings.Contains(out, "runs now") {
		t.Errorf("a stopped one was stopped: %v\n%s", err, out)
	}
}

// In a shell, d at quitting leaves the terminal to the shell at once; what runs goes on, and outlives the shell too.
func TestDetachedFromAShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		needs.Missing(t, "bash is not on PATH")
	}
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	shell := openTerminal(t, env, bash, "--norc", "-i")
	shell.sends(program(t) + " demo --cwd " + t.TempDir() + " --scenario " + scenarioFile(t, scenarioHead+askSteps) + "\r")
	shell.sees("This is a demo")
	shell.sends("begin it")
	shell.sees("begin it")
	shell.sends("\r")
	shell.sees("waits")
	quiet()
	shell.sends("\x03")
	shell.sees("(d detaches)")
	shell.sends("d")
	shell.sees("goes on without a terminal")
	shell.sends("echo the shell is $((40+2))\r")
	shell.sees("the shell is 42")
	rows := workOf(t, env)
	if len(rows) != 2 || rows[0].Kind != control.RowQuestion {
		t.Fatalf("the ask is not there: %+v", rows)
	}
	if !eventually(func() bool { return slices.Contains(states(t, rows[0].PID), "S") }) {
		t.Errorf("the process is %v", states(t, rows[0].PID))
	}
	shell.sends("jobs\r")
	shell.sees("Running")
	shell.sends("exit\r")
	shell.waitExit()
	again := openTerminal(t, env, program(t), "attach", rows[0].SessionID)
	again.sees("waits")
	quiet()
	again.sends("2\r")
	again.sees("got two")
	again.sends("\x03")
	again.sees("again leaves")
	again.sends("\x03")
	if code := again.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	checkNobodyLeft(t, env)
	checkTrace(t, env)
	checkNothingLeft(t, env)
}

// states is what a process is doing, as one letter.
func states(t *testing.T, pid int) []string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	return strings.Fields(rest)[:1]
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
	if out, err := run(t, env, "inbox"); err != nil || !strings.Contains(out, rows[0].ID[:4]) || strings.Count(out, "\n") != 2 {
		t.Errorf("the inbox from the shell is %q, %v", out, err)
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

// The real agent waits for its answer while the terminal is lost, gets it from the next one, as the result of the call
// that asked, and goes on.
func TestClaudeOutlivesTheTerminal(t *testing.T) {
	t.Parallel()
	after := messagesapi.Step{When: messagesapi.HasToolResult(), Reply: messagesapi.Say("Then that.")}
	l := last(t, first(), after)
	l.askedWithDraft("half an answer")
	owner := l.Pane
	l.CloseSession()
	second := tmux.Start(t, 100, 30, l.env, program(t), "attach")
	second.WaitFor("half an answer")
	quiet()
	second.Keys("Enter")
	second.WaitFor("Enter accept")
	quiet()
	second.Keys("Enter")
	second.WaitFor("Then that.")
	leave(t, second)
	if code := owner.WaitExit(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	got := ""
	for _, r := range l.api.Requests() {
		for _, m := range r.Messages {
			for _, c := range m.Content {
				if c.Type == "tool_result" && c.ID == "toolu_db" && !c.IsError {
					got = c.Text
				}
			}
		}
	}
	if !strings.Contains(got, "half an answer") {
		t.Errorf("the call's result is %q", got)
	}
	checkNoKitsokiLeft(t, l.env)
	checkTrace(t, l.env)
	checkNothingLeft(t, l.env)
}

// So it is where everything is lines.
func TestLineModeOutlivesItsTerminal(t *testing.T) {
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	term := openTerminal(t, env, program(t), "demo", "--plain", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, scenarioHead+askSteps))
	term.sees("Type what the agent should do")
	term.sends("begin it\r")
	term.sees("answer with a row")
	signal(t, term.cmd.Process.Pid, unix.SIGHUP)
	var out string
	if !eventually(func() bool { out, _ = run(t, env, "sessions"); return strings.Contains(out, "detached, process") }) {
		t.Fatalf("it did not go on: %s", out)
	}
	rows := workOf(t, env)
	if len(rows) != 2 || rows[0].Kind != control.RowQuestion {
		t.Fatalf("the ask is not there: %+v", rows)
	}
	if out, err := run(t, env, "sessions", "stop", rows[0].SessionID); err != nil {
		t.Errorf("not stopped: %v\n%s", err, out)
	}
	term.waitExit()
	checkNobodyLeft(t, env)
	checkTrace(t, env)
	checkNothingLeft(t, env)
}
