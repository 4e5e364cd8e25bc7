package wall_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/gate/wall"
)

// What a wall does not hold, so that nobody believes it: each of these works behind one, and the page on the gate
// says so.
func TestWhatIsNotHeld(t *testing.T) {
	need(t, wall.Kernel)
	for name, sh := range map[string]string{
		"reading":                    "cat $HOME/.bashrc",
		"a lock on a file":           "flock -n file true",
		"what the agent is told":     "echo '{}' >> $TMPDIR/mine", // transcripts are such files
		"a pipe of the agent's":      "echo '{\"type\":\"result\"}' > /proc/$PPID/fd/1",
		"an end of the agent itself": "kill $PPID",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newField(t)
			o := f.behind(t, wall.Kernel, f.spec(), self(t), "agent", "sh", "-c", sh+" && touch $TMPDIR/happened")
			if o.run != nil || !exists("tmp/happened")(f) {
				t.Errorf("it is held now: %+v", o)
			}
		})
	}
}

// A socket has no name in /proc, so that an agent whose output goes to one cannot be spoken for.
func TestASocketOfTheAgentsIsNotAPipe(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	f := newField(t)
	w, err := wall.Prepare(f.spec(), wall.Kernel, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer func() { _ = ours.Close() }()
	path, args, files := w.Wrap([]string{self(t)}, self(t), []string{"agent", "sh", "-c", "exec >/dev/null; echo forged > /proc/$PPID/fd/1"})
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles, cmd.Stdout = f.repo, f.env, files, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	done := make(chan error, 1)
	go func() { done <- w.Run(t.Context()) }()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, theirs) {
		_ = f.Close()
	}
	_ = cmd.Wait()
	bounded(t, "the supervisor", func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	var buf [16]byte
	if n, _ := ours.Read(buf[:]); n != 0 || cmd.ProcessState.ExitCode() == 0 {
		t.Errorf("%q was written to the agent's output: %v", buf[:n], cmd.ProcessState)
	}
}
