package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// DefaultWait is how long an ask waits for its answer when nobody says otherwise.
const DefaultWait = 5 * time.Minute

// DefaultMaxOpen bounds the open asks of one process.
const DefaultMaxOpen = 256

// Filter selects sessions. nil selects all of them.
type Filter func(sessionID string) bool

// OnlySession selects one session.
func OnlySession(id string) Filter { return func(s string) bool { return s == id } }

func (f Filter) admits(sessionID string) bool { return f == nil || f(sessionID) }

// SwitchboardOptions are the dependencies and limits of a Switchboard; the zero value works.
type SwitchboardOptions struct {
	Recorder Recorder      // trace events go here; nil: nowhere
	Clock    Clock         // nil: the machine's
	Wait     time.Duration // of asks that bring none; 0: DefaultWait
	MaxOpen  int           // open asks; 0: DefaultMaxOpen

	// Opened is called with each ask, before any surface sees it and before its end is recorded, whatever ends it; nil:
	// nobody. It must not block, nor call Find.
	Opened func(Ask)

	// Trouble is told of events that could not be recorded; nil: nobody. It must not block.
	Trouble func(error)
}

// Switchboard connects asks to whichever surfaces are attached. It is itself an OperatorPrompter, one a process.
//
// It owns the set of open asks with their ids, timers and drafts; the first answer that is accepted settles an
// ask, and every other attempt is told so. All methods are safe for concurrent use.
type Switchboard struct {
	opt SwitchboardOptions

	mu        sync.Mutex // guards all below; never held while a surface or the recorder is called
	open      map[string]*entry
	order     []*entry // the open asks, oldest first
	surfaces  []*surface
	presences map[*presence]struct{}
	closed    bool
	calls     sync.WaitGroup // the goroutines that run surfaces
}

type presence struct{ filter Filter }

// NewSwitchboard makes a switchboard. Close it to end its goroutines.
func NewSwitchboard(opt SwitchboardOptions) *Switchboard {
	if opt.Recorder == nil {
		opt.Recorder = NoRecorder{}
	}
	if opt.Clock == nil {
		opt.Clock = SystemClock{}
	}
	if opt.Wait <= 0 {
		opt.Wait = DefaultWait
	}
	if opt.MaxOpen <= 0 {
		opt.MaxOpen = DefaultMaxOpen
	}
	if opt.Opened == nil {
		opt.Opened = func(Ask) {}
	}
	if opt.Trouble == nil {
		opt.Trouble = func(error) {}
	}
	return &Switchboard{opt: opt, open: map[string]*entry{}, presences: map[*presence]struct{}{}}
}

// Declare says that an operator can be reached for the sessions of the filter, until release is called. Asks
// that are open when the last presence goes stay open until their deadline, for whoever attaches next.
func (s *Switchboard) Declare(f Filter) (release func()) {
	p := &presence{filter: f}
	s.mu.Lock()
	s.presences[p] = struct{}{}
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		delete(s.presences, p)
		s.mu.Unlock()
	}
}

// Present reports whether an operator can be reached for the session.
func (s *Switchboard) Present(sessionID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.presentLocked(sessionID)
}

func (s *Switchboard) presentLocked(sessionID string) bool {
	for p := range s.presences {
		if p.filter.admits(sessionID) {
			return true
		}
	}
	return false
}

// Ask opens an ask, shows it on every attached surface, and waits until it is settled. When ctx ends first the
// ask is withdrawn, with the outcome that the context's cause says (an *Unanswered), else as cancelled. Without
// presence, over the limits or after Close it is refused at once.
func (s *Switchboard) Ask(ctx context.Context, sessionID string, qs []OperatorQuestion) (map[string]any, error) {
	e, err := s.openAsk(ctx, sessionID, qs)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		e.withdraw(withdrawal(ctx))
		<-e.done // closed by whoever settled it; the winner never waits for us
	}
	if end := e.end.Load(); end.Outcome != Answered {
		return nil, &Unanswered{Outcome: end.Outcome, Reason: end.Reason, Partial: end.answers}
	}
	answers, _, err := EncodeAnswers(qs, e.end.Load().answers)
	return answers, err
}

// Pending returns the open asks of the sessions of the filter, oldest first.
func (s *Switchboard) Pending(f Filter) []Ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Ask
	for _, e := range s.order {
		if f.admits(e.session) {
			out = append(out, &handle{entry: e})
		}
	}
	return out
}

// Find returns the open ask with this id as a surface of that name works on it; false when there is none.
func (s *Switchboard) Find(id, surface string) (Ask, bool) {
	s.mu.Lock()
	e := s.open[id]
	s.mu.Unlock()
	if e == nil {
		return nil, false
	}
	<-e.asked // who watches is told a moment before, and may be quicker
	return &handle{entry: e, surface: surface}, true
}

// End settles every open ask of the sessions of the filter without an answer.
func (s *Switchboard) End(f Filter, why Unanswered) {
	s.mu.Lock()
	var open []*entry
	for _, e := range s.order {
		if f.admits(e.session) {
			open = append(open, e)
		}
	}
	s.mu.Unlock()
	for _, e := range open {
		e.withdraw(&why)
	}
}

// Close settles every open ask as host_closing, refuses later ones, and waits for the surfaces to return. It
// gives up waiting when ctx ends.
func (s *Switchboard) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		s.End(nil, Unanswered{Outcome: HostClosing, Reason: "kitsoki is closing"})
		s.calls.Wait()
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("an ask did not end in time, or a surface did not let go of it: %w", context.Cause(ctx))
	}
}

func (s *Switchboard) openAsk(ctx context.Context, sessionID string, qs []OperatorQuestion) (*entry, error) {
	if err := askable(qs); err != nil {
		return nil, err
	}
	req := AskRequestFrom(ctx)
	if req.ID == "" {
		req.ID = NewID()
	}
	if req.Kind == "" {
		req.Kind = KindQuestion
	}
	if req.Wait <= 0 {
		req.Wait = s.opt.Wait
	}
	e := newEntry(s, sessionID, qs, req)
	asked := QuestionAsked{ // once admitted, the session's other asks can move its deadline
		QuestionID: e.id, SessionID: sessionID, ToolUseID: req.ToolUseID, Kind: req.Kind, Asker: e.asker,
		Questions: traceQuestions(e.questions), Deadline: e.deadline, Reopens: req.Reopens,
	}
	if err := s.admit(e); err != nil {
		return nil, err
	}
	s.record(asked)
	s.opt.Opened(&handle{entry: e})
	close(e.asked)
	if req.Opened != nil {
		req.Opened(&handle{entry: e})
	}
	s.show(e)
	return e, nil
}

// askable reports whether an answer to the questions could go home: by the text of its question and the label of
// its row, within what can be sent.
func askable(qs []OperatorQuestion) error {
	if len(qs) == 0 {
		return fmt.Errorf("%w: it has no question", ErrUnaskable)
	}
	texts, longest := map[string]bool{}, make([]Answer, len(qs))
	for i, q := range qs {
		if texts[q.Question] {
			return fmt.Errorf("%w: two questions read %q", ErrUnaskable, q.Question)
		}
		texts[q.Question] = true
		labels, row := map[string]bool{}, 0
		for n, o := range q.Options {
			if labels[o.Label] {
				return fmt.Errorf("%w: two options of %q read %q", ErrUnaskable, q.Question, o.Label)
			}
			labels[o.Label] = true
			if len(o.Label) > len(q.Options[row].Label) {
				row = n
			}
		}
		if longest[i] = (Answer{Picked: []int{row}}); len(q.Options) == 0 {
			longest[i] = Answer{Text: "x"}
		}
	}
	if _, _, err := EncodeAnswers(qs, longest); err != nil {
		return fmt.Errorf("%w: questions and labels alone are longer than an answer can be; shorten them", ErrUnaskable)
	}
	return nil
}

// admit reserves the ask's place, so that limits and ids hold whatever arrives at once; it is not shown yet.
func (s *Switchboard) admit(e *entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return &Unanswered{Outcome: HostClosing, Reason: "kitsoki is closing"}
	case !s.presentLocked(e.session):
		return &Unanswered{Outcome: NoOperator, Reason: "nobody is at the terminal"}
	case s.open[e.id] != nil:
		return fmt.Errorf("%w: %s", ErrDuplicateID, e.id)
	case len(s.open) >= s.opt.MaxOpen:
		return fmt.Errorf("%w: %d are waiting; wait for their answers first", ErrTooManyAsks, s.opt.MaxOpen)
	}
	s.open[e.id] = e
	s.order = append(s.order, e)
	return nil
}

// show hands a recorded ask to the surfaces that are attached, unless it was settled in the meantime.
func (s *Switchboard) show(e *entry) {
	e.arm()
	s.mu.Lock()
	defer s.mu.Unlock()
	e.shown = true
	if e.end.Load() != nil {
		return
	}
	for _, sf := range s.surfaces {
		s.callLocked(sf, e)
	}
}

// forget takes a settled ask out of the open set and lets go of the surfaces that show it.
func (s *Switchboard) forget(e *entry, why *Resolution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, e.id)
	for i, o := range s.order {
		if o == e {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			break
		}
	}
	for _, sf := range s.surfaces {
		if cancel, ok := sf.calls[e]; ok {
			cancel(why)
		}
	}
}

// siblings returns the open asks of a session.
func (s *Switchboard) siblings(sessionID string) []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*entry
	for _, e := range s.order {
		if e.session == sessionID {
			out = append(out, e)
		}
	}
	return out
}

func (s *Switchboard) record(e Event) {
	// A withdrawn call must not keep its own end out of the trace, hence no context of an asker.
	if err := s.opt.Recorder.Record(context.Background(), e); err != nil {
		s.opt.Trouble(fmt.Errorf("could not record %s: %w", e.Name(), err))
	}
}

// NewID makes an id for an ask: 128 random bits in hexadecimal.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return hex.EncodeToString(b[:])
}
