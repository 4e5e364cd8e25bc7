package askbridge

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"example.com/kitsoki/askbridge/frame"
)

// Outcomes of calls that never became an ask, or that the host left without an end.
const (
	outcomeInvalid   = "invalid"
	outcomeLimit     = "limit"
	outcomeCancelled = "cancelled" // the host came back with nothing usable
)

// serve serves one connection, which is one exchange.
func (l *Listener) serve(ctx context.Context, cancel context.CancelCauseFunc, conn net.Conn) {
	pid, uid, err := frame.Peer(conn)
	refuse := func(format string, args ...any) {
		l.handler.Refused(ctx, Refusal{Reason: fmt.Sprintf(format, args...), PID: pid, UID: uid})
	}
	switch {
	case errors.Is(err, net.ErrClosed):
		return // the listener was closed before anybody was looked at
	case err != nil:
		refuse("a process connected that the system does not name: %v", err)
		return
	case !frame.Ours(uid):
		refuse("a process of user %d connected", uid)
		return
	}
	w := newWire(conn, l.limits.Frame+frameMargin, l.bounds)
	_ = conn.SetReadDeadline(time.Now().Add(l.bounds.first)) // fails on closed connections only, as the read will
	var first request
	switch err := w.read(&first); {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return
	case err != nil:
		refuse("what process %d sent was not understood: %v", pid, err)
		return
	case first.V != wireVersion:
		refuse("process %d speaks version %d of the protocol, this is %d", pid, first.V, wireVersion)
		return
	case subtle.ConstantTimeCompare([]byte(first.Token), []byte(l.dir.token)) != 1:
		refuse("process %d does not know the token", pid)
		return
	}
	_ = conn.SetReadDeadline(time.Time{}) // likewise
	switch first.Type {
	case typeToolsListed:
		if l.handler.ToolsListed(ctx, ToolsListed{Client: first.Client, Tools: first.Tools}) == nil {
			_ = w.write(reply{OK: true}) // a peer that is gone needs none
		}
	case typeAsk:
		l.ask(ctx, cancel, w, first)
	case typePermission:
		l.permission(ctx, cancel, w, first)
	case typeRun:
		l.run(ctx, cancel, w, first)
	default:
		refuse("process %d sent a message of the unknown type %q", pid, Safe(first.Type))
	}
}

// frameMargin is what a message is longer than the arguments in it.
const frameMargin = 4 << 10

// ask serves one call of the tool.
func (l *Listener) ask(ctx context.Context, cancel context.CancelCauseFunc, w *wire, r request) {
	release, refused := l.admit(r.ID)
	if refused != nil {
		_ = w.write(refused) // a peer that is gone needs none
		return
	}
	defer release()
	questions, notes, err := Decode(r.Arguments, l.limits)
	if err != nil {
		_ = w.write(l.invalid(err)) // likewise
		return
	}
	call := &Call{ID: r.ID, ToolUseID: r.ToolUseID, Questions: questions, Notes: notes, deadlines: tellOn(w)}
	got := &receipt{delivered: make(chan struct{})}
	l.work.Go(func() { watch(w, cancel, got) })
	final := l.handler.Ask(ctx, call)
	l.finish(ctx, w, final, got)
}

// receipt is the word that an answer was passed on, which counts only once there is one.
type receipt struct {
	sent      atomic.Bool // set before the final line is written
	delivered chan struct{}
}

// watch reads while the ask is open: the end of the connection withdraws it, and so does a cancel. A cancel that
// crossed the answer means nothing.
func watch(w *wire, cancel context.CancelCauseFunc, got *receipt) {
	for {
		var r request
		if err := w.read(&r); err != nil {
			cancel(ErrAskerGone)
			return
		}
		sent := got.sent.Load()
		switch {
		case r.Delivered && sent:
			close(got.delivered)
			return
		case r.Type == typeCancel && !sent:
			cancel(ErrCancelled)
		}
	}
}

// finish sends the end of a call and, after an answer, waits for the word that it was passed on.
func (l *Listener) finish(ctx context.Context, w *wire, f Final, got *receipt) {
	out := reply{Answers: f.Answers, Notes: f.Notes}
	switch {
	case f.Error != "":
		out = reply{Error: f.Error, Outcome: f.Outcome}
	case !answered(f.Answers): // whatever happened, never an empty answer
		out = reply{Error: "operator did not answer; proceed without this input (outcome: cancelled)", Outcome: outcomeCancelled}
	}
	got.sent.Store(true)
	err := w.write(out)
	ok := false
	if err == nil && out.Error == "" {
		timer := time.NewTimer(l.bounds.deliver)
		defer timer.Stop()
		select {
		case <-got.delivered:
			ok = true
		case <-ctx.Done():
			select { // both at once: the word came just before the end
			case <-got.delivered:
				ok = true
			default:
			}
		case <-timer.C:
		}
	}
	if f.Done != nil {
		f.Done(ok)
	}
}

// admit reserves a place for an ask, or says why there is none.
func (l *Listener) admit(id string) (release func(), refused *reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case id == "" || len(id) > 128:
		return nil, &reply{Outcome: outcomeInvalid, Error: "the ask has no usable id"}
	case l.live[id]:
		return nil, &reply{Outcome: outcomeInvalid, Error: "an open ask has this id already"}
	case len(l.live) >= l.limits.OpenAsks:
		return nil, &reply{Outcome: outcomeLimit, Error: fmt.Sprintf(
			"%d asks of this run are waiting for the operator already; wait for their answers before asking more", len(l.live))}
	case !l.rate.Allow():
		return nil, &reply{Outcome: outcomeLimit, Error: fmt.Sprintf(
			"this run asks more than %d times a minute; put questions that belong together into one call, and wait a minute", l.limits.PerMinute)}
	}
	l.live[id] = true
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.live, id)
	}, nil
}

// invalid words a fault. An agent that sends the same again and again is told to stop.
func (l *Listener) invalid(err error) *reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := err.Error()
	if len(l.failures) < 1024 {
		l.failures[text]++
	}
	if n := l.failures[text]; n >= 3 {
		text = fmt.Sprintf("do not retry: this is time %d with the same fault. %s", n, text)
	}
	return &reply{Outcome: outcomeInvalid, Error: text}
}
