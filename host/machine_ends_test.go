package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// Answer settles an ask through one of its handles; an answer that skips everything declines.
func (m *machine) Answer(t *rapid.T) {
	a, v := m.pick(t)
	as := drawAnswers(t, a.questions)
	given := make([]host.Answer, len(as))
	for i, x := range as {
		given[i] = x
		given[i].Picked = slices.Clone(x.Picked)
	}
	if err := v.Answer(context.Background(), given); err != nil {
		t.Fatalf("%+v got %v", as, err)
	}
	for i := range given {
		for n := range given[i].Picked {
			given[i].Picked[n] = 99 // what callers do with their own slice afterwards is no change of the answer
		}
	}
	m.ended(t, a, answered(as, v.surface, m.now))
}

func answered(as []host.Answer, surface string, at time.Time) *modelEnd {
	if allSkipped(as) {
		return &modelEnd{outcome: host.Declined, surface: surface, at: at}
	}
	return &modelEnd{outcome: host.Answered, surface: surface, answers: as, at: at}
}

// BadAnswer is refused with the question that is to blame, and the ask stays as it is.
func (m *machine) BadAnswer(t *rapid.T) {
	a, v := m.pick(t)
	as, at := drawBadAnswers(t, a.questions)
	err := v.Answer(context.Background(), as)
	var fields *host.FieldErrors
	if !errors.As(err, &fields) {
		t.Fatalf("%+v got %v", as, err)
	}
	for _, f := range fields.Fields {
		if f.Question != at || f.Problem == "" {
			t.Fatalf("%+v is wrong at %d and got %+v", as, at, fields.Fields)
		}
	}
}

func (m *machine) Decline(t *rapid.T) {
	a, v := m.pick(t)
	partial, reason := drawPartial(t, a.questions)
	if err := v.Decline(context.Background(), reason, partial); err != nil {
		t.Fatal(err)
	}
	m.ended(t, a, &modelEnd{outcome: host.Declined, surface: v.surface, reason: reason, answers: keptPartial(a.questions, partial), at: m.now})
}

func drawPartial(t *rapid.T, qs []host.OperatorQuestion) (as []host.Answer, reason string) {
	reason = rapid.SampledFrom([]string{"", "not now", "‹ESC›\x1b"}).Draw(t, "reason")
	switch rapid.IntRange(0, 3).Draw(t, "partial") {
	case 0:
		return nil, reason
	case 1:
		as, _ = drawBadAnswers(t, qs)
		return as, reason
	}
	return drawAnswers(t, qs), reason
}

// Return lets a surface come back with something, as a plain prompter does.
func (m *machine) Return(t *rapid.T) {
	a, s, v := m.pickVisit(t)
	qs, at := v.questions, m.now
	switch rapid.SampledFrom([]string{"map", "map", "map", "bad map", "bad map", "error", "declined"}).Draw(t, "returns") {
	case "map":
		as := drawAnswers(t, qs)
		for i := range as {
			if as[i].Note = ""; !qs[i].MultiSelect && len(as[i].Picked) > 0 {
				as[i].Text = "" // a map has no place for either
			}
		}
		answers := wire(qs, as)
		if rapid.Bool().Draw(t, "as JSON has it") {
			answers = loosen(answers)
		}
		m.returns(t, a, s, result{answers: answers})
		if len(answers) == 0 {
			m.unusable(t, a, s)
			return
		}
		m.ended(t, a, answered(as, s.name, at))
	case "bad map":
		m.returns(t, a, s, result{answers: drawBadMap(t, qs)})
		m.unusable(t, a, s)
	case "error":
		m.returns(t, a, s, result{err: rapid.SampledFrom([]error{
			errDiskFull, context.Canceled, &host.Unanswered{Outcome: host.TimedOut}, &host.Unanswered{Outcome: host.Answered},
			&host.Unanswered{}, host.ErrStaleDraft,
		}).Draw(t, "error")})
		m.unusable(t, a, s)
	case "declined":
		partial, reason := drawPartial(t, qs)
		var err error = &host.Unanswered{Outcome: host.Declined, Reason: reason, Partial: partial}
		if rapid.Bool().Draw(t, "wrapped") {
			err = fmt.Errorf("the script: %w", err)
		}
		m.returns(t, a, s, result{err: err})
		m.ended(t, a, &modelEnd{outcome: host.Declined, surface: s.name, reason: reason, answers: keptPartial(a.questions, partial), at: at})
	}
}

func (m *machine) pickVisit(t *rapid.T) (*testAsk, *seat, *visit) {
	type showing struct {
		a *testAsk
		s *seat
	}
	var all []showing
	for _, a := range m.openAsks() {
		for _, s := range m.seats {
			if s.showing[a] != nil {
				all = append(all, showing{a, s})
			}
		}
	}
	if len(all) == 0 {
		t.Skip("no surface shows anything")
	}
	at := all[rapid.IntRange(0, len(all)-1).Draw(t, "surface and ask")]
	return at.a, at.s, at.s.showing[at.a]
}

// returns lets a surface come back, and waits until the switchboard has taken that in.
func (m *machine) returns(t *rapid.T, a *testAsk, s *seat, r result) {
	v := s.showing[a]
	delete(s.showing, a)
	v.reply <- r
	within(t, "the end of the call that returned", v.done)
}

// unusable is what a useless result does: nothing while another surface shows the ask, and the end of it else.
func (m *machine) unusable(t *rapid.T, a *testAsk, s *seat) {
	for _, other := range m.seats {
		if other.showing[a] != nil {
			return
		}
	}
	m.ended(t, a, &modelEnd{outcome: host.Cancelled, surface: s.name, at: m.now})
}

// loosen gives a map the types that it has after a way through JSON.
func loosen(answers map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range answers {
		if list, ok := value.([]string); ok {
			loose := []any{}
			for _, s := range list {
				loose = append(loose, s)
			}
			value = loose
		}
		out[key] = value
	}
	return out
}

// drawBadMap makes a map that answers nothing that was asked, or not in a way that can be understood.
func drawBadMap(t *rapid.T, qs []host.OperatorQuestion) map[string]any {
	whole := []map[string]any{nil, {}, {"nope": "x"}}
	if rapid.IntRange(0, 3).Draw(t, "whole") == 0 {
		return rapid.SampledFrom(whole).Draw(t, "bad map")
	}
	answers := map[string]any{}
	for i, q := range qs {
		answers[q.Question] = []string{fmt.Sprintf("own %d", i)}
	}
	q := rapid.SampledFrom(qs).Draw(t, "bad question")
	bad := []any{nil, 1, true, map[string]any{}, []any{"x", 1}, []any{nil}, []string{"x", "y"}, " ", []string{"\t"}, []string{"x", ""}}
	if !q.MultiSelect {
		bad = append(bad, []string{}, []any{})
	}
	if n := len(q.Options); n > 0 {
		bad = append(bad, []string{q.Options[0].Label, q.Options[0].Label})
		if n > 1 && !q.MultiSelect {
			bad = append(bad, []string{q.Options[0].Label, q.Options[1].Label})
		}
	}
	answers[q.Question] = rapid.SampledFrom(bad).Draw(t, "bad value")
	return answers
}

// Gone lets the asker go away, for one of its reasons.
func (m *machine) Gone(t *rapid.T) {
	a, _ := m.pick(t)
	c := rapid.SampledFrom(goneCauses).Draw(t, "cause")
	a.gone(c.cause)
	m.ended(t, a, &modelEnd{outcome: c.outcome, reason: c.reason, at: m.now})
}

var goneCauses = []struct {
	cause   error
	outcome host.Outcome
	reason  string
}{
	{nil, host.Cancelled, ""},
	{errDiskFull, host.Cancelled, ""},
	{&host.Unanswered{Outcome: host.AskerGone, Reason: "its process ended"}, host.AskerGone, "its process ended"},
	{fmt.Errorf("bridge: %w", &host.Unanswered{Outcome: host.AskerGone}), host.AskerGone, ""},
	{&host.Unanswered{Outcome: host.Cancelled, Reason: "turn stopped"}, host.Cancelled, "turn stopped"},
	{&host.Unanswered{Outcome: host.Answered}, host.Cancelled, ""},
	{context.DeadlineExceeded, host.TimedOut, ""},
}

// End settles what is open in some sessions.
func (m *machine) End(t *rapid.T) {
	if len(m.openAsks()) == 0 {
		t.Skip("no ask is open")
	}
	session := rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "sessions")
	why := host.Unanswered{
		Outcome: rapid.SampledFrom([]host.Outcome{host.HostClosing, host.NoOperator, host.Cancelled}).Draw(t, "outcome"),
		Reason:  "the session was closed", Partial: []host.Answer{{Text: "nobody's"}},
	}
	m.board.End(filterOf(session), why)
	for _, a := range m.openAsks() {
		if admits(session, a.session) {
			m.ended(t, a, &modelEnd{outcome: why.Outcome, reason: why.Reason, at: m.now})
		}
	}
}

// Advance lets time pass: exactly the asks whose deadline has come are over, at their deadline.
func (m *machine) Advance(t *rapid.T) {
	steps := []time.Duration{time.Millisecond, 999 * time.Millisecond, time.Second, 9 * time.Second, 61 * time.Second, 5 * time.Minute}
	for _, a := range m.openAsks() {
		left := a.deadline.Sub(m.now)
		steps = append(steps, left-1, left, left-30*time.Second)
	}
	d := max(0, rapid.SampledFrom(steps).Draw(t, "by"))
	m.clock.Advance(d)
	m.passed(t, d)
}

// passed tells the model that time went by, and sees the asks that this ended.
func (m *machine) passed(t *rapid.T, d time.Duration) {
	for _, expired := range m.advance(d) {
		i := slices.IndexFunc(m.asks, func(a *testAsk) bool { return a.modelAsk == expired })
		m.ended(t, m.asks[i], expired.end)
	}
}

// Deliver records what became of an answer.
func (m *machine) Deliver(t *rapid.T) {
	if len(m.asks) == 0 {
		t.Skip("nothing was asked")
	}
	a := m.asks[len(m.asks)-1]
	if a.end == nil || a.end.outcome != host.Answered {
		t.Skip("the last ask was not answered")
	}
	before := len(m.trace.nth(a.id, a.nth).delivered)
	ok := rapid.Bool().Draw(t, "delivered")
	a.asking.Delivered(ok)
	if got := m.trace.nth(a.id, a.nth).delivered; len(got) != before+1 || got[before] != ok {
		t.Fatalf("%s: delivered %v, the trace has %v", a.id, ok, got)
	}
}

// Close ends everything, now and then.
func (m *machine) Close(t *rapid.T) {
	if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
		return
	}
	closed(t, m.board)
	m.closed = true
	for _, a := range m.openAsks() {
		m.ended(t, a, &modelEnd{outcome: host.HostClosing, at: m.now})
	}
}
