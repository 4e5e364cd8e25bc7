package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
)

// remoteAsk is an ask of another process, as surfaces of this one work on it.
type remoteAsk struct {
	c       *Client
	surface string
	cancel  context.CancelCauseFunc

	mu      sync.Mutex // guards all below
	q       Question
	changed chan struct{}
	touched time.Time
}

var _ host.Ask = (*remoteAsk)(nil)

func newRemoteAsk(c *Client, q Question, surface string, cancel context.CancelCauseFunc) *remoteAsk {
	return &remoteAsk{c: c, q: q, surface: surface, cancel: cancel, changed: make(chan struct{})}
}

func (a *remoteAsk) update(q Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.q = q
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *remoteAsk) end(why error) { a.cancel(why) }

func (a *remoteAsk) params() askParams {
	return askParams{Session: a.q.SessionID, Question: a.q.ID, Surface: a.surface}
}

// ErrNoReply means that the other process did not answer in time. Whether it did what it was told is not known.
var ErrNoReply = errors.New("that kitsoki does not reply; try again")

// call calls a method of the ask, within a bound: the other process may hang.
func (a *remoteAsk) call(ctx context.Context, method string, p askParams) error {
	ctx, cancel := context.WithTimeoutCause(ctx, replyWithin, ErrNoReply)
	defer cancel()
	return a.fields(a.c.call(ctx, method, p, nil))
}

// replyWithin bounds the wait for what another process does at once.
const replyWithin = 10 * time.Second

// Info implements host.Ask.
func (a *remoteAsk) Info() host.AskInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.q.info()
}

// Answer implements host.Ask.
func (a *remoteAsk) Answer(ctx context.Context, as []host.Answer) error {
	p := a.params()
	p.Picks = picks(as)
	if prop := a.Info().Proposal; prop != nil {
		p.Hash = prop.Hash // a surface has shown it whole
	}
	return a.call(ctx, methodAnswer, p)
}

// Decline implements host.Ask.
func (a *remoteAsk) Decline(ctx context.Context, reason string, partial []host.Answer) error {
	p := a.params()
	p.Reason, p.Partial = reason, picks(partial)
	return a.call(ctx, methodDecline, p)
}

// Extend implements host.Ask.
func (a *remoteAsk) Extend(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("an ask can be given more time, not %s", d)
	}
	p := a.params()
	p.Seconds = d.Seconds()
	return a.call(ctx, methodExtend, p)
}

// touchEvery is how often it is told that the operator works on an ask.
const touchEvery = 5 * time.Second

// Touch implements host.Ask.
func (a *remoteAsk) Touch() {
	a.mu.Lock()
	now := time.Now()
	late := now.Sub(a.touched) < touchEvery
	if !late {
		a.touched = now
	}
	a.mu.Unlock()
	if late {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_ = a.c.call(ctx, methodTouch, a.params(), nil) // an ask that has ended needs no touch
}

// Draft implements host.Ask.
func (a *remoteAsk) Draft(question int) host.Draft {
	a.mu.Lock()
	defer a.mu.Unlock()
	if question < 0 || question >= len(a.q.Drafts) {
		return host.Draft{}
	}
	d := a.q.Drafts[question]
	out := host.Draft{Answer: host.Answer(d.pick), Taken: d.Taken, Rev: d.Rev}
	out.Picked = slices.Clone(out.Picked)
	return out
}

// SetDraft implements host.Ask. What was set is there at once, also before the other end has told so.
func (a *remoteAsk) SetDraft(ctx context.Context, question int, d host.Draft) error {
	p := a.params()
	p.Index, p.Draft = question, &draft{pick: pick(d.Answer), Taken: d.Taken, Rev: d.Rev}
	if err := a.call(ctx, methodDraft, p); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if question < len(a.q.Drafts) && a.q.Drafts[question].Rev <= d.Rev {
		a.q.Drafts = slices.Clone(a.q.Drafts)
		a.q.Drafts[question] = draft{pick: pick(d.Answer), Taken: d.Taken, Rev: d.Rev + 1}
	}
	return nil
}

// Changed implements host.Ask.
func (a *remoteAsk) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// fields gives what is wrong with an answer back as it is at home: by question.
func (a *remoteAsk) fields(err error) error {
	var e *rpc.Error
	if !errors.As(err, &e) || e.Code != rpc.InvalidParams {
		return err
	}
	return &host.FieldErrors{Fields: []host.FieldError{{Question: -1, Problem: e.Message}}}
}
