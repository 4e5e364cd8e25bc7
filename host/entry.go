package host

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/kitsoki/askbridge"
)

// Activity keeps the open asks of a session at least activeMargin away from their deadline, for up to
// activeFactor times the wait they were opened with.
const (
	activeMargin = 60 * time.Second
	activeFactor = 3
)

// ending is how an ask was settled, with the answers by index (of a decline: what had been answered).
type ending struct {
	Resolution
	answers []Answer
}

// entry is one open ask. Whoever swaps end from nil settles it; everything else follows from that.
type entry struct {
	board     *Switchboard
	id        string
	session   string
	req       AskRequest
	questions []OperatorQuestion // safe
	sent      []OperatorQuestion // as they came, and as their answers go home
	opened    time.Time
	shown     bool // guarded by board.mu: handed to the surfaces of that moment

	asked chan struct{} // closed when the opening is recorded: an end is never recorded before its start
	end   atomic.Pointer[ending]
	done  chan struct{} // closed after end is set and recorded

	mu       sync.Mutex // guards all below
	asker    Asker
	deadline time.Time
	stop     func() bool // the timer
	drafts   []Draft
	changed  chan struct{}
}

func newEntry(s *Switchboard, sessionID string, qs []OperatorQuestion, req AskRequest) *entry {
	now := s.opt.Clock.Now()
	req.Proposal = req.Proposal.safe()
	return &entry{
		board: s, id: req.ID, session: sessionID, req: req, questions: safeQuestions(qs), sent: qs, opened: now,
		asked: make(chan struct{}), done: make(chan struct{}),
		asker: safeAsker(req.Asker), deadline: now.Add(req.Wait),
		drafts: make([]Draft, len(qs)), changed: make(chan struct{}),
	}
}

// settle is the only way an ask ends. It reports whether this ending won.
func (e *entry) settle(end *ending) bool {
	if !e.end.CompareAndSwap(nil, end) {
		return false
	}
	e.finish(end)
	return true
}

// finish does what follows from the end that was swapped in: it stops the timer, records the end, and lets go of
// everybody who shows the ask or waits for it.
func (e *entry) finish(end *ending) {
	e.mu.Lock()
	if e.stop != nil {
		e.stop()
	}
	e.mu.Unlock()
	<-e.asked
	e.board.record(e.endEvent(end))
	e.board.forget(e, &end.Resolution)
	close(e.done)
}

func (e *entry) endEvent(end *ending) Event {
	took := e.board.opt.Clock.Now().Sub(e.opened).Milliseconds()
	if end.Outcome == Answered {
		return QuestionAnswered{
			QuestionID: e.id, SessionID: e.session, ToolUseID: e.req.ToolUseID, Surface: end.Surface,
			Answers: traceAnswers(e.questions, end.answers), DurationMS: took, Outcome: Answered,
		}
	}
	return QuestionUnanswered{
		QuestionID: e.id, SessionID: e.session, ToolUseID: e.req.ToolUseID, Surface: end.Surface,
		Partial: traceAnswers(e.questions, end.answers), DurationMS: took, Outcome: end.Outcome, Reason: end.Reason,
	}
}

// withdraw settles the ask without an answer, whatever it is told, and waits until its end is recorded, whoever
// brought it about.
func (e *entry) withdraw(u *Unanswered) {
	outcome := u.Outcome
	if outcome == Answered || outcome == "" {
		outcome = Cancelled
	}
	e.settle(&ending{Resolution: Resolution{Outcome: outcome, Reason: u.Reason}})
	<-e.done
}

// late is over for an answer of a surface; one that came after the deadline is noted.
func (e *entry) late(surface string) error {
	err := e.over()
	if errors.Is(err, ErrTooLate) {
		<-e.done // after the end that it came after
		e.board.record(QuestionTooLate{QuestionID: e.id, SessionID: e.session, Surface: surface})
	}
	return err
}

// over returns the resolution as an error once the ask is settled.
func (e *entry) over() error {
	if end := e.end.Load(); end != nil {
		return &end.Resolution
	}
	return nil
}

func (e *entry) answer(surface string, as []Answer) error {
	if err := e.late(surface); err != nil {
		return err
	}
	if e.req.Kind == KindProposal {
		if err := onlyRows(as); err != nil {
			return err
		}
	}
	if _, _, err := EncodeAnswers(e.sent, as); err != nil { // what is shown can be longer than what is sent
		return err
	}
	as = cloneAnswers(as)
	end := &ending{Resolution: Resolution{Outcome: Answered, Surface: surface}, answers: as}
	if allSkipped(as) {
		end.Outcome, end.Reason, end.answers = Declined, "every question was skipped", nil
	}
	if !e.settle(end) {
		return e.late(surface)
	}
	return nil
}

func (e *entry) decline(surface, reason string, partial []Answer) error {
	if err := e.late(surface); err != nil {
		return err
	}
	if len(reason) > MaxAnswerBytes {
		errs := &FieldErrors{}
		errs.add(-1, "the reason is %d bytes, %d can be sent; shorten it", len(reason), MaxAnswerBytes)
		return errs
	}
	end := &ending{Resolution: Resolution{Outcome: Declined, Surface: surface, Reason: reason}, answers: keepValid(e.questions, partial)}
	if !e.settle(end) {
		return e.late(surface)
	}
	return nil
}

// arm starts the timer of an ask that was just opened.
func (e *entry) arm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.armLocked()
}

func (e *entry) armLocked() {
	if e.stop != nil {
		e.stop()
	}
	if e.end.Load() != nil {
		return
	}
	e.stop = e.board.opt.Clock.AfterFunc(e.deadline.Sub(e.board.opt.Clock.Now()), e.expire)
}

// expire runs on the timer. A timer that was overtaken by a later deadline does nothing.
func (e *entry) expire() {
	end := &ending{Resolution: Resolution{Outcome: TimedOut, Reason: "no answer came in time"}}
	e.mu.Lock() // so that an extension is either before this or told that it is too late
	won := !e.board.opt.Clock.Now().Before(e.deadline) && e.end.CompareAndSwap(nil, end)
	e.mu.Unlock()
	if won {
		e.finish(end)
	}
}

func (e *entry) extend(d time.Duration) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.over(); err != nil {
		return err
	}
	e.deadline = e.deadline.Add(d)
	e.armLocked()
	e.changedLocked()
	return nil
}

// active moves the deadline away while the operator works in the session.
func (e *entry) active(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := now.Add(activeMargin)
	if limit := e.opened.Add(activeFactor * e.req.Wait); want.After(limit) {
		want = limit
	}
	if !want.After(e.deadline) || e.end.Load() != nil {
		return
	}
	e.deadline = want
	e.armLocked()
	e.changedLocked()
}

func (e *entry) changedLocked() {
	close(e.changed)
	e.changed = make(chan struct{})
}

func safeQuestions(qs []OperatorQuestion) []OperatorQuestion {
	out := make([]OperatorQuestion, len(qs))
	for i, q := range qs {
		out[i] = OperatorQuestion{
			Question: askbridge.SafeText(q.Question), Header: askbridge.Safe(q.Header), MultiSelect: q.MultiSelect,
		}
		for _, o := range q.Options {
			out[i].Options = append(out[i].Options, OperatorOption{
				Label: askbridge.Safe(o.Label), Description: askbridge.SafeText(o.Description), Preview: askbridge.SafeText(o.Preview),
			})
		}
	}
	for i := range out {
		out[i].Options = slices.Clip(out[i].Options) // what one surface appends stays its own
	}
	return slices.Clip(out)
}

func safeAsker(a Asker) Asker {
	out := Asker{Agent: askbridge.Safe(a.Agent), Dir: askbridge.Safe(a.Dir), Guest: a.Guest}
	for _, p := range a.Path {
		out.Path = append(out.Path, askbridge.Safe(p))
	}
	return out
}

func cloneAnswers(as []Answer) []Answer {
	out := make([]Answer, len(as))
	for i, a := range as {
		a.Picked = append([]int(nil), a.Picked...)
		out[i] = a
	}
	return out
}

// keepValid keeps of a partial answer what could have been sent.
func keepValid(qs []OperatorQuestion, as []Answer) []Answer {
	out := make([]Answer, len(qs))
	kept := false
	for i := range min(len(qs), len(as)) {
		errs := &FieldErrors{}
		if checkAnswer(errs, i, qs[i], as[i]); errs.orNil() == nil && !as[i].Skipped {
			out[i], kept = as[i], true
		}
	}
	if !kept {
		return nil
	}
	return cloneAnswers(out)
}

func allSkipped(as []Answer) bool {
	for _, a := range as {
		if !a.Skipped {
			return false
		}
	}
	return true
}
