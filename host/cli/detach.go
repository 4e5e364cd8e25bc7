package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui"
	screensignals "example.com/kitsoki/tui/signals"
)

// What becomes of the work when the terminal is lost.
const (
	hangupStay = "stay" // it goes on, and can be attached to
	hangupEnd  = "end"
)

// A process without a terminal ends by itself when nothing is left to do, and nobody came, for restAfter.
const (
	restAfter = 3 * time.Second
	lookEvery = 100 * time.Millisecond
)

// catch has the signals that would end the process kept, until release. A hangup by itself then ends nothing: whoever
// shows the terminal decides.
func catch() (signals <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	return c, func() { signal.Stop(c) }
}

// busy reports whether something is left to do: a turn that runs, an ask that is open, a terminal that is attached. open
// is whether there is a session at all.
func (p *process) busy() (busy, open bool) {
	busy = p.control.Attached() > 0
	for _, s := range p.manager.Sessions() {
		snap, err := s.Snapshot(context.Background())
		if err != nil || snap.State == session.Closing {
			continue
		}
		open = true
		busy = busy || snap.State == session.Working || snap.State == session.Asking
	}
	return busy, open
}

// linger keeps a process without a terminal going until it is told to end, by a signal or from another process, or has
// nothing left to do. The presence that was declared for it is its own until then. With wait it first waits until
// somebody has come. It returns the signal; nil: there was none.
func (p *process) linger(signals <-chan os.Signal, told tui.Signals, wait bool) os.Signal {
	p.detached.Store(true)
	defer p.tell(told)()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	rested := time.Now()
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGHUP { // which may come once more
				return sig
			}
		case <-p.stopping:
			return nil
		case <-tick.C:
			busy, open := p.busy()
			wait = wait && p.control.Attached() == 0
			switch {
			case !open:
				return nil
			case busy || wait:
				rested = time.Now()
			case time.Since(rested) >= restAfter:
				return nil
			}
		}
	}
}

// tell has the operator's program told of asks that stay open while no terminal is there to do so.
func (p *process) tell(s tui.Signals) (stop func()) {
	if !s.OnAsk {
		return func() {}
	}
	return p.manager.Board().Attach("notify.on_ask", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		after := time.NewTimer(s.After)
		defer after.Stop()
		select {
		case <-after.C:
			if a, ok := host.AskFrom(ctx); ok && p.control.Attached() == 0 {
				_ = s.Run(ctx, screensignals.NoticeOf(a.Info())) // there is no screen that it could be said on
			}
			<-ctx.Done()
		case <-ctx.Done():
		}
		return nil, context.Cause(ctx)
	}), nil)
}

// leaveTerminal lets go of the terminal: nothing is read from it or written to it any more, whoever tries. One that is
// not lost goes back to the shell.
func (p *process) leaveTerminal(w io.Writer, exit ending) error {
	if exit.Detached {
		for _, s := range p.manager.Sessions() {
			fmt.Fprintf(w, "session %s goes on without a terminal, process %d; kitsoki sessions attach %s\n", s.ID(), os.Getpid(), s.ID())
		}
		if sid, err := unix.Getsid(0); err == nil && sid == unix.Getpgrp() {
			fmt.Fprintln(w, "no shell waits in this terminal; it can be closed")
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	if exit.Detached {
		return toBackground()
	}
	return nil
}

// jobResumer is the hidden command that lets a stopped process go on.
const jobResumer = "resume-job"

// toBackground has the shell that waits for this process take the terminal back: it stops, as by Ctrl+Z, and another
// process lets it go on when the shell has the terminal. Where there is no such shell the kernel does not stop it.
func toBackground() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	helper := exec.Command(exe, jobResumer, strconv.Itoa(os.Getpid())) //nolint:gosec // this program
	helper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := helper.Start(); err != nil {
		return err
	}
	if err := unix.Kill(0, unix.SIGTSTP); err != nil {
		return err
	}
	return helper.Wait()
}

// Bounds of resumeJob.
const (
	stopWithin  = 2 * time.Second // for the process to be stopped, if it is at all
	shellWithin = 5 * time.Second // for the shell to take the terminal
)

// resumeJob waits until a process was stopped and its group has not got the terminal any more, and lets the group go on.
func resumeJob(pid int) error {
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return nil // it is over
		}
		f := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:])) // state, parent, group, session, terminal, its group
		if len(f) < 6 {
			return fmt.Errorf("process %d tells nothing", pid)
		}
		group, err := strconv.Atoi(f[2])
		stopped, took := f[0] == "T", time.Since(began)
		switch {
		case err != nil || group <= 1:
			return fmt.Errorf("process %d has the group %q", pid, f[2])
		case !stopped && took > stopWithin:
			return nil
		case stopped && (f[5] != f[2] || took > shellWithin):
			return unix.Kill(-group, unix.SIGCONT)
		}
	}
}

// newResumeJob is the helper of a process that leaves its terminal.
func newResumeJob() *cobra.Command {
	return &cobra.Command{
		Use: jobResumer, Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Lets a process that left its terminal go on; kitsoki starts it",
		RunE: func(_ *cobra.Command, args []string) error {
			pid, err := strconv.Atoi(args[0])
			if err != nil || pid <= 1 {
				return fmt.Errorf("%q is no process", args[0])
			}
			return resumeJob(pid)
		},
	}
}
