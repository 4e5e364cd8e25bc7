package teatest

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/teatest/claudecli"
)

// A terminal that takes nothing any more, as one whose connection hangs, keeps the program from drawing and from
// nothing else: told to end, it does, with its agent and its open ask.
func TestTerminalThatHangs(t *testing.T) {
	env := claudecli.Env(t, "http://127.0.0.1:9")
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ptm.Close() }()
	full, err := unix.Open(pts.Name(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(full) }()
	cmd := exec.Command(program(t), "demo", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, scenarioHead+askSteps))
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, pts, pts, pts
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(pty.Setsize(ptm, &pty.Winsize{Rows: 24, Cols: 80}), cmd.Start(), pts.Close()); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { defer close(exited); _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill(); <-exited }()    // an error means that it has ended
	if _, err := ptm.Read(make([]byte, 512)); err != nil { // it draws
		t.Fatal(err)
	}
	send := func(keys string) {
		if _, err := ptm.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	send("go")
	quiet()
	send("\r")
	member(t, env, "mcp-operator-ask")
	// From here on the terminal is full, whatever the program has drawn.
	if !eventually(func() bool { _, err := unix.Write(full, make([]byte, 4096)); return errors.Is(err, unix.EAGAIN) }) {
		t.Fatal("the terminal takes everything")
	}
	quiet()
	began := time.Now()
	signal(t, cmd.Process.Pid, unix.SIGTERM)
	select {
	case <-exited:
		if took := time.Since(began); took > limitOfEnd {
			t.Errorf("it took %s", took)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it still runs")
	}
	checkNobodyLeft(t, env)
	checkNothingLeft(t, env)
	checkTrace(t, env)
}
