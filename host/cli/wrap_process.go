package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passThrough runs a command in this process's place: in its group, with its streams, and with whatever signals come.
// started is called with the command's process id. It returns when the command has ended.
func passThrough(cmd *exec.Cmd, started func(pid int)) (syscall.WaitStatus, error) {
	runtime.LockOSThread() // the signal at a parent's death follows the thread that started the child
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGUSR2} {
		if !signal.Ignored(s) { // as under nohup, where it is to stay so for both
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	started(cmd.Process.Pid)
	f := &forwarder{pid: cmd.Process.Pid, job: controlled(), stopped: make(chan struct{}, 1)}
	f.sentry.post()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); f.forward(signals, quit) }()
	f.watch()
	err := cmd.Wait()
	close(quit)
	<-done
	f.sentry.leave()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return status, nil
}

// controlled reports whether there is a terminal that controls this process, and with it a shell that waits for it.
func controlled() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	return tty.Close() == nil
}

// forwarder passes signals on to a command.
type forwarder struct {
	pid     int
	job     bool          // of a shell, or told to stop: it is to be seen that it stops
	stopped chan struct{} // the command was
	sentry  sentry
}

// forward passes on what was meant for this process alone. What went to the whole group the command has got already, and
// a second interrupt would mean something else to it.
func (f *forwarder) forward(signals <-chan os.Signal, quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		case s := <-signals:
			sig, ok := s.(syscall.Signal)
			if !ok || f.sentry.hit() {
				continue
			}
			f.job = f.job || sig == syscall.SIGTSTP
			_ = syscall.Kill(f.pid, sig) // one that has ended needs none
		case <-f.stopped:
			if f.job {
				f.stop()
			}
		}
	}
}

// watch returns when the command has ended, and tells when it was stopped: then this process stops too, as its shell
// waits for.
func (f *forwarder) watch() {
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_PID, f.pid, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || info.Code != cldStopped:
			return
		}
		_ = unix.Waitid(unix.P_PID, f.pid, &info, unix.WSTOPPED|unix.WNOHANG, nil) // or it would be told again
		select {
		case f.stopped <- struct{}{}:
		default: // it is known
		}
	}
}

// cldStopped is the code of a child that was stopped (waitid(2)).
const cldStopped = 5

// stop stops this process until somebody continues it, and then the command. The signal goes to this thread: one to the
// process can stop another one first, and the command would be continued before all have stopped.
func (f *forwarder) stop() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), syscall.SIGSTOP) // a thread can always signal itself
	_ = syscall.Kill(f.pid, syscall.SIGCONT)
	f.sentry.resume()
}

// sentry is a process that does nothing, in the same group as the command. A signal that reaches it was sent to the
// group, by a terminal or by a shell; Go does not tell where a signal came from. Where none can be started every signal
// counts as ours alone.
type sentry struct {
	cmd *exec.Cmd
	in  io.Closer // it ends with it, so it does not outlive this process
}

// noticed bounds how long a signal takes from one process of a group to the next.
const noticed = 200 * time.Millisecond

func (s *sentry) post() {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil && cmd.Start() == nil {
		s.cmd, s.in = cmd, in
	}
}

// hit reports whether the sentry has got a signal too, and posts another where that ended it.
func (s *sentry) hit() bool {
	if s.cmd == nil {
		return false
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(noticed); ; <-tick.C {
		switch state(s.cmd.Process.Pid) {
		case 'T':
			return true
		case 'Z', 'X', 0:
			s.leave()
			s.post()
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func (s *sentry) resume() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGCONT)
	}
}

// leave ends it.
func (s *sentry) leave() {
	if s.cmd == nil {
		return
	}
	_ = s.in.Close()
	_ = s.cmd.Process.Kill() // it may be stopped
	_ = s.cmd.Wait()
	s.cmd = nil
}

// state is a process's state as the kernel names it; 0: there is none.
func state(pid int) byte {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	at := bytes.LastIndex(stat, []byte(") ")) // the name before it can have anything in it
	if at < 0 || at+2 >= len(stat) {
		return 0
	}
	return stat[at+2]
}

// raise ends this process by the signal that ended the command, as far as Go lets it: whoever waits for it sees the same.
func raise(sig syscall.Signal) {
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGKILL:
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), sig)
		time.Sleep(noticed) //nolint:forbidigo // the signal is on its way to this process
	}
}
