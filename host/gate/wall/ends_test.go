package wall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/gate/wall"
)

// start starts a command behind a wall of the kernel, without supervising it.
func (g ground) start(t *testing.T, spec wall.Spec, out io.Writer, argv ...string) (*wall.Wall, *exec.Cmd) {
	t.Helper()
	need(t, wall.Kernel)
	w, err := wall.Prepare(spec, wall.Kernel, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	path, args, files := w.Wrap([]string{self(t)}, argv[0], argv[1:])
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = g.repo, g.env, files, 5*time.Second
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		_ = f.Close()
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return w, cmd
}

// bounded fails when something takes longer than any machine needs for it.
func bounded(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s does not end", what)
	}
}

func TestWithoutASupervisorTheAgentIsNotStarted(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	var out strings.Builder
	w, cmd := g.start(t, g.spec(), &out, "sh", "-c", "echo started > $TMPDIR/started")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	bounded(t, "the launcher", func() { _ = cmd.Wait() })
	if _, err := os.Stat(g.tmp + "/started"); err == nil || cmd.ProcessState.ExitCode() != 3 || !strings.Contains(out.String(), "the agent was not started") {
		t.Errorf("%v: %s", cmd.ProcessState, out.String())
	}
}

// What a part that fails means is that nothing is started, and that both sides hear why.
func TestAPartThatFailsStartsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level wall.Level
		spoil func(g ground)
		argv  []string
		want  string
	}{
		"what may be written is gone": {wall.Kernel, func(g ground) { _ = os.RemoveAll(g.tmp) }, []string{"true"}, "no such file"},
		"there is no such program":    {wall.Kernel, nil, []string{"no-such-program"}, "not found"},
		"no namespace of its own":     {wall.Namespace, nil, []string{"true"}, "namespace of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			need(t, c.level)
			g := newGround(t)
			w, err := wall.Prepare(g.spec(), c.level, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			if c.spoil != nil {
				c.spoil(g)
			}
			path, args, files := w.Wrap([]string{self(t)}, c.argv[0], c.argv[1:])
			cmd := exec.Command(path, args...)
			cmd.Dir, cmd.Env, cmd.ExtraFiles = g.repo, g.env, files
			supervised := make(chan error, 1)
			go func() { supervised <- w.Run(t.Context()) }()
			out, err := combined(cmd, files)
			if err == nil || !strings.Contains(out, c.want) || !strings.Contains(out, "not started") {
				t.Errorf("%v: %s", err, out)
			}
			if err := <-supervised; err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the host heard %v", err)
			}
		})
	}
}

func TestAWallWithinAWallIsRefused(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	g := newGround(t)
	o := g.behind(t, wall.Kernel, g.spec(), self(t), "inner")
	if o.code == 0 || !strings.Contains(o.out, "behind another wall") {
		t.Errorf("%+v", o)
	}
}

// inner builds a wall from behind one.
func inner() error {
	w, err := wall.Prepare(wall.Spec{Writable: []string{os.Getenv("TMPDIR")}}, wall.Kernel, nil)
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	path, err := os.Executable()
	if err != nil {
		return err
	}
	wrapped, args, files := w.Wrap([]string{path}, "true", nil)
	cmd := exec.Command(wrapped, args...)
	cmd.ExtraFiles = files
	cmd.Env = os.Environ()
	done := make(chan error, 1)
	go func() { done <- w.Run(context.Background()) }()
	out, err := combined(cmd, files)
	return errors.Join(err, <-done, errors.New(out))
}

// The process that was started is the agent, with the same id, and with nothing open but the standard files.
func TestTheAgentIsTheProcessThatWasStarted(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	var out strings.Builder
	w, cmd := g.start(t, g.spec(), &out, "sh", "-c", "echo $$; i=0; while [ $i -lt 300 ]; do [ -e /proc/self/fd/$i ] && printf '%s ' $i; i=$((i+1)); done")
	bounded(t, "the wall", func() {
		if err := w.Run(t.Context()); err != nil {
			t.Error(err)
		}
	})
	_ = cmd.Wait()
	if want := fmt.Sprintf("%d\n0 1 2 ", cmd.Process.Pid); out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// When the host's thread that started it dies the agent dies, though another of its threads became the agent.
func TestTheAgentEndsWithItsHost(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	g := newGround(t)
	host := exec.Command(self(t), "host", g.tmp)
	host.Env = g.env
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 16)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(agent) }()
	_ = host.Process.Kill()
	_ = host.Wait()
	fds := []unix.PollFd{{Fd: int32(agent), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 20_000); n != 1 {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("the agent lives on (%v)", err)
	}
}

// hosting starts an agent behind a wall that says its id and sleeps, and stays.
func hosting(tmp string) error {
	w, err := wall.Prepare(wall.Spec{Writable: []string{tmp}}, wall.Kernel, nil)
	if err != nil {
		return err
	}
	path, err := os.Executable()
	if err != nil {
		return err
	}
	wrapped, args, files := w.Wrap([]string{path}, "sh", []string{"-c", "echo $$; exec sleep 60"})
	cmd := exec.Command(wrapped, args...)
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = files, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	return w.Run(context.Background())
}

// Nobody answers any more: what a supervisor decides does not exist then.
func TestWithoutItsSupervisorNothingIsAllowed(t *testing.T) {
	t.Parallel()
	f := newField(t)
	var out strings.Builder
	w, cmd := f.start(t, f.spec(), &out, "sh", "-c", `echo up > $TMPDIR/up; while [ ! -e $TMPDIR/on ]; do sleep 0.02; done; `+self(t)+` attack tcp; chmod 777 $TMPDIR/mine`)
	ctx, stop := context.WithCancelCause(t.Context())
	over := errors.New("the host closes")
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	bounded(t, "the start", func() {
		for _, err := os.Stat(f.tmp + "/up"); err != nil; _, err = os.Stat(f.tmp + "/up") {
			pause()
		}
	})
	stop(over)
	bounded(t, "the supervisor", func() {
		if err := <-done; !errors.Is(err, over) {
			t.Errorf("ended with %v", err)
		}
	})
	if err := os.WriteFile(f.tmp+"/on", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bounded(t, "the agent", func() { _ = cmd.Wait() })
	if reached(f.tcp) || !strings.Contains(out.String(), "not implemented") || mode("tmp/mine", 0o600)(f) {
		t.Errorf("without a supervisor: %s", out.String())
	}
}

// What leaves the agent stays behind its wall, and the supervisor with it.
func TestTheWallOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	g := newGround(t)
	var out strings.Builder
	w, cmd := g.start(t, g.spec(), &out, "sh", "-c", "setsid sh -c 'while [ ! -e $TMPDIR/on ]; do sleep 0.02; done; chmod 711 $TMPDIR/mine; chmod 777 file; echo x > new; touch $TMPDIR/over' >/dev/null 2>&1 &")
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context()) }()
	bounded(t, "the agent", func() { _ = cmd.Wait() })
	select {
	case err := <-done:
		t.Fatalf("the supervisor left with the agent: %v", err)
	default:
	}
	if err := os.WriteFile(g.tmp+"/on", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bounded(t, "the supervisor", func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	f := &field{ground: g}
	if !exists("tmp/over")(f) || exists("repo/new")(f) || mode("repo/file", 0o600)(f) || mode("tmp/mine", 0o711)(f) {
		t.Errorf("after the agent: %s", out.String())
	}
}

// Once the agent is gone nobody is the agent, whatever number it had.
func TestNobodyInheritsTheAgentsConnections(t *testing.T) {
	t.Parallel()
	f := newField(t)
	var out strings.Builder
	w, cmd := f.start(t, f.spec(), &out, "sh", "-c", "setsid sh -c 'sleep 0.2; "+self(t)+" attack tcp' >/dev/null 2>&1 &")
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context()) }()
	_ = cmd.Wait()
	bounded(t, "the supervisor", func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if reached(f.tcp) {
		t.Error("a child of the agent connected")
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	g := newGround(t)
	o := g.behind(t, wall.Kernel, g.spec(), "sh", "-c", "for i in 1 2 3; do chmod 777 file; done; i=0; while [ $i -lt 300 ]; do chmod 777 file$i; i=$((i+1)); done 2>/dev/null")
	if len(o.refused) != 1 {
		t.Errorf("%d refusals of one thing: %+v", len(o.refused), o)
	}
}
