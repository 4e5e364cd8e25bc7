package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/linemode"
)

// wrapAsks serves the asks of a wrapped command: each goes to the kitsoki that is open, and else to this terminal. It
// implements askbridge.Handler.
type wrapAsks struct {
	agent, dir string
	terminal   bool // there is one that can be asked on

	mu      sync.Mutex // guards all below
	parent  string     // the command's process
	manager *session.Manager
	seat    *seat // nil: no ask is open on the terminal
	sitting int   // how many are
}

func newWrapAsks(agent string) *wrapAsks {
	w := &wrapAsks{agent: agent}
	w.dir, _ = os.Getwd() // a directory that is gone has no name
	return w
}

// started is told the command's process id.
func (w *wrapAsks) started(pid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parent = fmt.Sprintf("%s (%d)", w.agent, pid)
}

// reachable reports whether there is anybody to ask. A command with a screen of its own leaves no room for lines.
func (w *wrapAsks) reachable(ctx context.Context, headless bool) bool {
	if headless {
		tty, err := openTerminal()
		w.terminal = err == nil && tty.Close() == nil
	}
	here, err := operators(ctx)
	for _, c := range here {
		_ = c.Close() // it was only to be seen
	}
	return w.terminal || err == nil && len(here) > 0
}

// openTerminal opens the terminal that controls this process, if it is in the foreground there: others are stopped when
// they read from it.
func openTerminal() (*os.File, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err == nil && group != unix.Getpgrp() {
		err = errors.New("the command is in the background of its terminal")
	}
	if err != nil {
		return nil, errors.Join(err, tty.Close())
	}
	return tty, nil
}

// ToolsListed implements askbridge.Handler.
func (w *wrapAsks) ToolsListed(context.Context, askbridge.ToolsListed) error { return nil }

// Refused implements askbridge.Handler. The command's output is its own; nothing is said in it.
func (w *wrapAsks) Refused(context.Context, askbridge.Refusal) {}

// Ask implements askbridge.Handler.
func (w *wrapAsks) Ask(ctx context.Context, call *askbridge.Call) askbridge.Final {
	arguments, err := json.Marshal(map[string]any{"questions": call.Questions}) // texts come out as they came
	if err != nil {
		return askbridge.Final{Outcome: string(host.Cancelled), Error: unasked(host.Cancelled, err)}
	}
	got, err := askOperator(ctx, control.GuestParams{
		Agent: w.agent, Dir: w.dir, Parent: w.process(), ToolUseID: call.ToolUseID, Arguments: arguments,
		Deadline: func(t time.Time) { _ = call.Deadline(t) }, // a connection that is gone ends the ask by itself
	})
	if errors.Is(err, errNobody) && w.terminal {
		if s, err := w.sit(); err == nil {
			defer w.rise()
			return w.askHere(ctx, s, call)
		}
	}
	var refused *control.GuestRefused
	switch {
	case errors.As(err, &refused):
		return askbridge.Final{Outcome: refused.Outcome, Error: refused.Words}
	case err != nil:
		return askbridge.Final{Outcome: string(host.NoOperator), Error: unasked(host.NoOperator, err)}
	}
	return askbridge.Final{Outcome: string(host.Answered), Answers: got.Answers, Notes: got.Notes, Done: got.done}
}

// unasked are the words for an agent whose question did not come to anybody.
func unasked(o host.Outcome, why error) string {
	return fmt.Sprintf("operator did not answer; proceed without this input (outcome: %s; reason: %v)", o, why)
}

// process is the command's, for who is asked.
func (w *wrapAsks) process() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.parent
}

// seat is an operator at this terminal, while asks are open on it.
type seat struct {
	session *session.Session
	done    []func()      // what ends with it, the last first
	left    chan struct{} // closed when line mode has ended, with what becomes of the asks in why
	why     error
}

// sit opens line mode on the terminal, for the first of several asks at once.
func (w *wrapAsks) sit() (*seat, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seat == nil {
		tty, err := openTerminal()
		if err != nil {
			return nil, err
		}
		if w.manager == nil {
			w.manager = session.NewManager(session.ManagerOptions{State: sessionsDir()})
		}
		s, done, err := w.manager.Guests()
		if err != nil {
			return nil, errors.Join(err, tty.Close())
		}
		w.seat = w.open(s, tty, done)
	}
	w.sitting++
	return w.seat, nil
}

// open starts line mode on a terminal. done is the last that ends with it.
func (w *wrapAsks) open(s *session.Session, tty *os.File, done func()) *seat {
	ctx, leave := context.WithCancel(context.Background())
	absent := w.manager.Board().Declare(func(id string) bool { return id == s.ID() }) // before line mode is there
	one := &seat{session: s, left: make(chan struct{})}
	go func() {
		defer close(one.left)
		_, err := linemode.Run(ctx, linemode.Options{Client: s, In: tty, Out: tty, Hello: w.agent + " asks."})
		gone := &host.Unanswered{Outcome: host.NoOperator, Reason: "the operator has left the terminal"}
		if one.why = gone; err != nil {
			gone.Reason = err.Error()
		}
	}()
	one.done = []func(){done, func() { _ = tty.Close() }, func() { leave(); <-one.left }, absent}
	return one
}

// rise closes line mode with the last ask.
func (w *wrapAsks) rise() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sitting--; w.sitting > 0 {
		return
	}
	for _, end := range slices.Backward(w.seat.done) {
		end()
	}
	w.seat = nil
}

// askHere asks on the terminal.
func (w *wrapAsks) askHere(ctx context.Context, s *seat, call *askbridge.Call) askbridge.Final {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-s.left:
			cancel(s.why)
		case <-ctx.Done():
		}
	}()
	return host.NewBridge(host.BridgeOptions{
		Prompter: w.manager.Board(), SessionID: s.session.ID(), Normalised: s.session.Normalised,
		Asker: func(string) host.Asker {
			return host.Asker{Agent: w.agent, Dir: w.dir, Path: []string{w.process()}, Guest: true}
		},
	}).Ask(ctx, call)
}

// close ends what was opened, once no ask is open.
func (w *wrapAsks) close() {
	if w.manager == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = w.manager.Close(ctx, host.HostClosing) // the command has ended; what could not be written was said
}
