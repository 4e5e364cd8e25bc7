package teatest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/tmux"
)

// counting is a command that writes down each signal that it gets, and ends when it is told to.
const counting = `#!/bin/sh
for s in INT TERM HUP QUIT USR1; do trap "echo $s >>\"$NOTE\"" $s; done
echo ready >>"$NOTE"
while ! [ -e "$NOTE.end" ]; do sleep 0.05; done
exit 7
`

// wrappedScript is a running kitsoki wrap around a script.
type wrappedScript struct {
	*agentRun
	t    *testing.T
	note string
}

func wrapScript(t *testing.T, body string) *wrappedScript {
	t.Helper()
	w := &wrappedScript{t: t, note: filepath.Join(t.TempDir(), "note")}
	env := append(claudecli.Env(t, "http://127.0.0.1:9"), "NOTE="+w.note)
	w.agentRun = &agentRun{cmd: exec.CommandContext(t.Context(), program(t), "wrap", "--as", "claude", "--", script(t, "claude", body)), ended: make(chan struct{})}
	w.cmd.Env, w.cmd.Stdout, w.cmd.Stderr, w.cmd.WaitDelay = env, &w.stdout, &w.stderr, 5*time.Second
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = w.cmd.Wait(); close(w.ended) }() // how it ended is in its state
	t.Cleanup(func() { _ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) })
	w.noted("ready")
	return w
}

// noted waits until the script has written exactly these lines.
func (w *wrappedScript) noted(lines ...string) {
	w.t.Helper()
	want := strings.Join(lines, "\n") + "\n"
	got := ""
	if !eventually(func() bool { raw, _ := os.ReadFile(w.note); got = string(raw); return len(got) >= len(want) }) || got != want {
		w.t.Fatalf("the command noted %q, want %q", got, want)
	}
}

// end lets the script end.
func (w *wrappedScript) end() {
	w.t.Helper()
	if err := os.WriteFile(w.note+".end", nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// What goes in and comes out is the command's own, to the byte, and so is its exit code.
func TestWrapKeepsStreamsAndExitCode(t *testing.T) {
	t.Parallel()
	bytesOf := make([]byte, 0, 1<<16)
	for i := range 1 << 16 {
		bytesOf = append(bytesOf, byte(i*31>>3))
	}
	agent := script(t, "claude", `#!/bin/sh
printf '%s|' "$1" "$2" "$3"; cat; printf 'no\twords\r' >&2; exit 42`)
	cmd := exec.CommandContext(t.Context(), program(t), "wrap", "--", agent, "--verbose", "", "two words")
	cmd.Env, cmd.Stdin = claudecli.Env(t, "http://127.0.0.1:9"), bytes.NewReader(bytesOf)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 42 || !bytes.Equal(stdout.Bytes(), append([]byte("--verbose||two words|"), bytesOf...)) || stderr.String() != "no\twords\r" {
		t.Errorf("%v: %d bytes, %q", err, stdout.Len(), stderr.String())
	}
	checkNothingLeft(t, cmd.Env)
}

// A signal for kitsoki is one for the command; one for their whole group reaches it once.
func TestWrapPassesSignalsOn(t *testing.T) {
	t.Parallel()
	w := wrapScript(t, counting)
	lines := []string{"ready"}
	for _, s := range []struct {
		sig  syscall.Signal
		name string
	}{{syscall.SIGINT, "INT"}, {syscall.SIGTERM, "TERM"}, {syscall.SIGHUP, "HUP"}, {syscall.SIGUSR1, "USR1"}, {syscall.SIGINT, "INT"}} {
		for _, to := range []int{w.cmd.Process.Pid, -w.cmd.Process.Pid} {
			if err := syscall.Kill(to, s.sig); err != nil {
				t.Fatal(err)
			}
			lines = append(lines, s.name)
			w.noted(lines...)
		}
	}
	w.end()
	if code := w.wait(t); code != 7 {
		t.Errorf("it ended with %d: %s", code, w.stderr.String())
	}
	w.noted(lines...) // and none came twice
	checkNothingLeft(t, w.cmd.Env)
}

// It stops with the command, and the command goes on with it.
func TestWrapStopsAndGoesOn(t *testing.T) {
	t.Parallel()
	w := wrapScript(t, counting)
	child := childNamed(t, w.cmd.Process.Pid, "claude")
	states := func(want string) bool {
		return eventually(func() bool { return stateOf(w.cmd.Process.Pid)+stateOf(child) == want })
	}
	for range 2 {
		if err := syscall.Kill(w.cmd.Process.Pid, syscall.SIGTSTP); err != nil || !states("TT") {
			t.Fatalf("%v: they are %s and %s", err, stateOf(w.cmd.Process.Pid), stateOf(child))
		}
		if err := syscall.Kill(w.cmd.Process.Pid, syscall.SIGCONT); err != nil || !states("SS") {
			t.Fatalf("%v: they are %s and %s", err, stateOf(w.cmd.Process.Pid), stateOf(child))
		}
	}
	w.end()
	if code := w.wait(t); code != 7 {
		t.Errorf("it ended with %d", code)
	}
}

// A command that a signal ended looks so to whoever waits for it.
func TestWrapEndsByTheSameSignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		w := wrapScript(t, `#!/bin/sh
echo ready >>"$NOTE"; exec sleep 1000`)
		kill := w.cmd.Process.Pid
		if sig == syscall.SIGKILL {
			kill = childNamed(t, kill, "sleep")
		}
		if err := syscall.Kill(kill, sig); err != nil {
			t.Fatal(err)
		}
		w.wait(t)
		if status, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != sig {
			t.Errorf("%v: it ended with %v", sig, w.cmd.ProcessState)
		}
		checkNothingLeft(t, w.cmd.Env)
	}
}

// Killed, it takes the command with it.
func TestWrapKilledEndsTheCommand(t *testing.T) {
	t.Parallel()
	w := wrapScript(t, counting)
	child := childNamed(t, w.cmd.Process.Pid, "claude")
	kill(t, w.cmd.Process.Pid)
	if !eventually(func() bool { return stateOf(child) == "" || stateOf(child) == "Z" }) {
		t.Errorf("the command lives on, as %s", stateOf(child))
	}
}

// The keys of a terminal reach the command once, and a shell's jobs work.
func TestWrapUnderAShell(t *testing.T) {
	t.Parallel()
	note := filepath.Join(t.TempDir(), "note")
	env := append(claudecli.Env(t, "http://127.0.0.1:9"), "NOTE="+note, "PS1=$ ")
	p := tmux.Start(t, 100, 30, env, "bash", "--norc", "-i")
	p.WaitFor("$")
	p.Type(fmt.Sprintf("%s wrap --as claude -- %s\n", program(t), script(t, "claude", counting)))
	w := &wrappedScript{t: t, note: note}
	w.noted("ready")
	p.Keys("C-c")
	w.noted("ready", "INT")
	p.Keys("C-z")
	p.WaitFor("Stopped")
	p.Type("fg\n")
	p.WaitFor("fg")
	p.Keys("C-c")
	w.noted("ready", "INT", "INT")
	w.end()
	p.WaitFor("^C$")
	p.Type("echo code $?\n")
	p.WaitFor("code 7")
	w.noted("ready", "INT", "INT")
}

// childNamed waits for a child of a process that is called so.
func childNamed(t *testing.T, pid int, name string) (child int) {
	t.Helper()
	if !eventually(func() bool {
		for _, c := range childrenOf(t, pid) {
			if strings.HasPrefix(processOf(c), name+" ") {
				child = c
			}
		}
		return child != 0
	}) {
		t.Fatalf("process %d has no child %s", pid, name)
	}
	return child
}

// stateOf is a process's state as the kernel names it; empty: there is none.
func stateOf(pid int) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(raw), ") ")
	return strings.TrimSpace(rest[:min(1, len(rest))])
}
