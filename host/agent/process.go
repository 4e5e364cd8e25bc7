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

// A stopped dispatch is over graceStop + sweepFor after its context ended at the latest. Each step ends as soon as
// there is nothing left for it, so that a few milliseconds are usual.
const (
	graceStop = 2 * time.Second // from SIGTERM to SIGKILL; also for a prompt that a leaver keeps from ending
	sweepFor  = 2 * time.Second // to end what left the agent's process group
)

// process is one run of a program: started, fed, stopped and awaited by runProcess alone.
type process struct {
	path   string
	args   []string
	dir    string
	env    []string
	files  []*os.File // inherited from descriptor 3 on, and closed after the start
	attr   func(*syscall.SysProcAttr)
	stdin  string
	owner  *owner
	stdout io.Writer
	stderr io.Writer

	// sockets makes standard output and error sockets. What a process starts can open its pipes by /proc and write its
	// words; sockets it cannot (measured).
	sockets bool
}

// ending is how a process ended. Left are the processes of its dispatch that could not be ended, by their ids.
type ending struct {
	state *os.ProcessState
	left  []int
}

// runProcess runs the program in a process group of its own until it ends, and then ends all that it started.
// When ctx ends the group is sent SIGTERM, and SIGKILL after a grace. An error means that there was no process.
func runProcess(ctx context.Context, p process) (ending, error) {
	// The parent-death signal follows the thread that started the child, not the process, so the thread is
	// held until the child has ended.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	own := p.owner
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Dir, cmd.Env = p.dir, own.environ(p.env)
	cmd.Stdin = strings.NewReader(p.stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if p.attr != nil {
		p.attr(cmd.SysProcAttr)
	}
	cmd.WaitDelay = graceStop // then the agent is killed
	cmd.Cancel = func() error {
		own.below(os.Getpid(), processes()) // while it can be seen who is whose
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		// A process that was stopped gets its SIGTERM only when it goes on.
		return errors.Join(err, syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT))
	}
	cmd.ExtraFiles = p.files
	defer closeAll(p.files) // where they were not
	out, err := newPipes(p.stdout, p.stderr, p.sockets)
	if err != nil {
		return ending{}, err
	}
	cmd.Stdout, cmd.Stderr = out[0].in, out[1].in
	if err := cmd.Start(); err != nil {
		out.close()
		return ending{}, err
	}
	out.started()
	closeAll(p.files)
	_ = cmd.Wait()                                      // the state says what it would
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the agent is gone; what is left of its group is nobody's
	own.group = cmd.Process.Pid
	left := own.sweep(sweepFor)
	out.close()
	return ending{state: cmd.ProcessState, left: left}, nil
}

// closeAll closes files that a child has, or that nobody needs; it may be called again.
func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
