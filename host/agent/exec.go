package agent

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// Execution is a command that the operator allowed, to be run on this side of an agent's wall.
type Execution struct {
	Command string // for bash, or sh where there is none
	Dir     string
	Stdout  io.Writer
	Stderr  io.Writer
}

// Exec runs a command as an agent is run: in a process group of its own, with an empty standard input, and with
// nothing left of it afterwards. Its environment is the one that agents inherit, without what a shell takes for orders.
// When ctx ends the command is stopped. The exit code of one that a signal ended is 128 and the signal, as in a shell.
func (d *Dispatcher) Exec(ctx context.Context, e Execution) (exit int, err error) {
	path, args, err := shell(e.Command)
	if err != nil {
		return 0, err
	}
	end, err := runProcess(ctx, process{
		path: path, args: args, dir: e.Dir, env: shellEnviron(d.Env), owner: newOwner(d.Runtime, d.Env), stdout: e.Stdout, stderr: e.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if status, ok := end.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return end.state.ExitCode(), nil
}

// shell finds the shell that a command was written for.
func shell(command string) (path string, args []string, err error) {
	if path, err = exec.LookPath("bash"); err == nil {
		return path, []string{"--noprofile", "--norc", "-c", command}, nil
	}
	if path, err = exec.LookPath("sh"); err == nil {
		return path, []string{"-c", command}, nil
	}
	return "", nil, fmt.Errorf("there is no shell on PATH: %w", err)
}

// shellEnviron is an environment without markers of an agent, and without what makes a shell run something else first.
// Git does not ask for passwords: nobody could answer.
func shellEnviron(inherited []string) []string {
	env := slices.DeleteFunc(slices.Clone(inherited), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return marker(name) || name == "BASH_ENV" || name == "ENV" || name == "SHELLOPTS" || name == "BASHOPTS" || strings.HasPrefix(name, "BASH_FUNC_")
	})
	return append(env, "GIT_TERMINAL_PROMPT=0")
}
