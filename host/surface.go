package host

import (
	"context"
	"errors"
)

// surface is one attached prompter.
type surface struct {
	name     string
	prompter OperatorPrompter
	filter   Filter
	gone     bool                               // guarded by Switchboard.mu
	calls    map[*entry]context.CancelCauseFunc // guarded by Switchboard.mu; the asks it is showing
}

// errDetached is the cause that a surface's context ends with when it was detached while its ask stays open.
var errDetached = errors.New("detached")

// ErrLost is the cause that the context of an ask of another process ends with when the connection to it was lost: the
// ask may be open still.
var ErrLost = errors.New("the connection to its kitsoki was lost")

// Attach shows every open ask, and every one that comes, to the prompter: its Ask is called in a goroutine of
// the switchboard, once an ask, with the handle in its context. detach takes it away again without touching the
// asks, and does not wait for it to return; what it returns afterwards is ignored.
//
// A prompter that works through the handle returns when its context ends. One that returns a map or an
// *Unanswered has answered with it; if that is unusable it is dropped while another surface remains, and
// cancels the ask when it was the last.
func (s *Switchboard) Attach(name string, p OperatorPrompter, f Filter) (detach func()) {
	sf := &surface{name: name, prompter: p, filter: f, calls: map[*entry]context.CancelCauseFunc{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.surfaces = append(s.surfaces, sf)
	for _, e := range s.order {
		if e.shown && e.end.Load() == nil {
			s.callLocked(sf, e)
		}
	}
	return func() { s.detach(sf) }
}

func (s *Switchboard) detach(sf *surface) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sf.gone = true
	for i, o := range s.surfaces {
		if o == sf {
			s.surfaces = append(s.surfaces[:i:i], s.surfaces[i+1:]...)
			break
		}
	}
	for _, cancel := range sf.calls {
		cancel(errDetached)
	}
}

// callLocked starts the call of one surface for one ask.
func (s *Switchboard) callLocked(sf *surface, e *entry) {
	if !sf.filter.admits(e.session) {
		return
	}
	ctx, cancel := context.WithCancelCause(WithAsk(context.Background(), &handle{entry: e, surface: sf.name}))
	sf.calls[e] = cancel
	s.calls.Go(func() {
		defer cancel(nil)
		answers, err := sf.prompter.Ask(ctx, e.session, e.questions)
		s.returned(sf, e, answers, err)
	})
}

// returned takes what a surface's Ask came back with.
func (s *Switchboard) returned(sf *surface, e *entry, answers map[string]any, err error) {
	s.mu.Lock()
	delete(sf.calls, e)
	ignored := sf.gone || e.end.Load() != nil
	s.mu.Unlock()
	if ignored {
		return
	}
	if err == nil {
		var as []Answer
		if as, err = ResolveAnswers(e.questions, answers); err == nil {
			err = e.answer(sf.name, as)
		}
	}
	var u *Unanswered
	if errors.As(err, &u) && u.Outcome == Declined {
		err = e.decline(sf.name, u.Reason, u.Partial)
	}
	var fields *FieldErrors
	switch {
	case err == nil, errors.Is(err, ErrResolved), errors.Is(err, ErrTooLate):
		return
	case errors.As(err, &fields):
		err = fields
	}
	if !s.othersShow(e) {
		e.settle(&ending{
			Resolution: Resolution{Outcome: Cancelled, Surface: sf.name, Reason: "the prompter gave no usable answer: " + err.Error()},
		})
	}
}

func (s *Switchboard) othersShow(e *entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sf := range s.surfaces {
		if _, ok := sf.calls[e]; ok {
			return true
		}
	}
	return false
}
