package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
)

// envReady names the descriptor on which a process that was started in the background says that it is up. It is for
// that process alone and is not passed on.
const envReady = "KITSOKI_DETACHED_READY"

// ready is what it says: which session it has, or why there is none.
type ready struct {
	ID    string `json:"id,omitempty"`
	PID   int    `json:"pid,omitempty"`
	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"`
}

// addDetach lets a command run in the background.
func addDetach(cmd *cobra.Command, f *runFlags) {
	cmd.Use += " [--detach [PROMPT]]"
	cmd.Flags().BoolVar(&f.detach, "detach", false, "start in the background, without a terminal, and say how to attach one")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !f.detach {
			return fmt.Errorf("%s takes a prompt with --detach only; without, type it in the terminal", cmd.CommandPath())
		}
		return cobra.MaximumNArgs(1)(cmd, args)
	}
}

func (f *runFlags) runOrDetach(cmd *cobra.Command, args []string) error {
	switch prompt := strings.Join(args, " "); {
	case !f.detach:
		return f.run(cmd)
	case os.Getenv(envReady) != "":
		return f.background(cmd)
	default:
		return f.detached(cmd, prompt)
	}
}

// detached starts this program once more, in a session of its own and without the terminal, and waits until it is up.
func (f *runFlags) detached(cmd *cobra.Command, prompt string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return lacking("this program does not know where it is: %w", err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		return lacking("no pipe: %w", err)
	}
	defer func() { _ = in.Close() }()
	argv := strings.Fields(cmd.CommandPath())[1:]
	cmd.Flags().Visit(func(flag *pflag.Flag) { argv = append(argv, "--"+flag.Name+"="+flag.Value.String()) })
	child := exec.Command(exe, argv...)     //nolint:gosec // this program with the flags that it was called with
	child.Stdin = strings.NewReader(prompt) // words are not for the list of processes
	child.Env = append(os.Environ(), envReady+"=3")
	child.ExtraFiles = []*os.File{out}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := errors.Join(child.Start(), out.Close()); err != nil {
		return lacking("it could not be started: %w", err)
	}
	line, err := bufio.NewReader(in).ReadBytes('\n')
	var r ready
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		return &exitError{code: exitFailed, err: errors.Join(errors.New("the background process ended before it was up"), child.Wait())}
	case r.Error != "":
		_ = child.Wait() // it said why
		return &exitError{code: r.Code, err: errors.New(r.Error)}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "session %s runs in the background, process %d\n  kitsoki sessions attach %s   puts a terminal onto it\n  kitsoki sessions stop %s     ends it\n", r.ID, r.PID, r.ID, r.ID)
	return errors.Join(err, child.Process.Release())
}

// background is the process that has no terminal.
func (f *runFlags) background(cmd *cobra.Command) error {
	fd, err := strconv.Atoi(os.Getenv(envReady))
	if err != nil || fd < 3 {
		return fmt.Errorf("%s is set by kitsoki itself; unset it", envReady)
	}
	unix.CloseOnExec(fd)
	if err := os.Unsetenv(envReady); err != nil {
		return err
	}
	up := os.NewFile(uintptr(fd), "ready")
	say := func(r ready) error {
		return errors.Join(json.NewEncoder(up).Encode(r), up.Close())
	}
	signals, release := catch()
	defer release()
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	p, s, err := f.begin(cmd, string(prompt))
	if err != nil {
		code := exitUsage
		var ee *exitError
		if errors.As(err, &ee) {
			code = ee.code
		}
		return errors.Join(err, say(ready{Error: err.Error(), Code: code}))
	}
	if err := say(ready{ID: s.ID(), PID: os.Getpid()}); err != nil { // whoever started it is gone
		return errors.Join(err, f.finish(cmd, p, ending{}, nil, host.HostClosing))
	}
	sig := p.linger(signals, f.screen.Signals, len(prompt) == 0)
	cmd.SetOut(io.Discard)
	end := ending{}
	end.Signal = sig
	return f.finish(cmd, p, end, nil, host.HostClosing)
}

// begin puts a process together whose presence is its own, and starts its first turn.
func (f *runFlags) begin(cmd *cobra.Command, prompt string) (*process, *session.Session, error) {
	if err := f.check(cmd); err != nil {
		return nil, nil, err
	}
	p, err := f.start(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	p.detached.Store(true)
	s, err := f.open(cmd, p.manager)
	if err == nil {
		p.manager.Board().Declare(nil)
		s.Present()
		if strings.TrimSpace(prompt) != "" {
			err = s.StartTurn(context.Background(), prompt)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, p.close(cmd.Context(), host.HostClosing))
	}
	return p, s, nil
}
