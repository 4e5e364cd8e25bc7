package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// graceStop is how long a stopped agent has to end by itself; graceOutput how long its pipes may stay open after
// it ended, because a grandchild can hold them.
const (
	graceStop   = 2 * time.Second
	graceOutput = 2 * time.Second
)

// process is one run of a program: started, fed, stopped and awaited by runProcess alone.
type process struct {
	path   string
	args   []string
	dir    string
	env    []string
	stdin  string
	stdout io.Writer
	stderr io.Writer
}

// runProcess runs the program in a process group of its own until it ends. When ctx ends the group is sent
// SIGTERM, and SIGKILL after a grace; what is left of the group afterwards is killed in any case. The state is
// nil when the program could not be started.
func runProcess(ctx context.Context, p process) (*os.ProcessState, error) {
	// The parent-death signal follows the thread that started the child, not the process, so the thread is
	// held until the child has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(p.stdin), p.stdout, p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = graceStop + graceOutput
	kill := time.AfterFunc(time.Hour, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	kill.Stop()
	defer kill.Stop()
	cmd.Cancel = func() error {
		kill.Reset(graceStop)
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	err := cmd.Wait()
	kill.Stop()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil {
		err = nil // the state says it
	}
	return cmd.ProcessState, err
}
