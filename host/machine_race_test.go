package host_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// contender is one of several that try to end an ask at the same moment.
type contender struct {
	end   *modelEnd // how the ask ends if this one wins
	run   func() error
	quiet bool // it is not told whether it won
}

// Race lets several ends happen to one ask at once. One of them wins, everybody is told the same one, and the
// switchboard is where it would be if that one had come first.
func (m *machine) Race(t *rapid.T) {
	a, _ := m.pick(t)
	kinds := []string{"answer", "answer", "decline", "gone", "deadline"}
	if len(m.open(a.session)) == 1 {
		kinds = append(kinds, "end")
	}
	left := a.deadline.Sub(m.now)
	var expires bool
	var field []contender
	for _, kind := range rapid.SliceOfN(rapid.SampledFrom(kinds), 2, 5).Draw(t, "contenders") {
		v := rapid.SampledFrom(a.views).Draw(t, "handle")
		switch kind {
		case "answer":
			as := drawAnswers(t, a.questions)
			field = append(field, contender{answered(as, v.surface, time.Time{}), func() error { return v.Answer(context.Background(), as) }, false})
		case "decline":
			reason := fmt.Sprintf("declined by %d", len(field))
			field = append(field, contender{&modelEnd{outcome: host.Declined, surface: v.surface, reason: reason}, func() error { return v.Decline(context.Background(), reason, nil) }, false})
		case "gone":
			field = append(field, contender{&modelEnd{outcome: host.AskerGone}, func() error {
				a.gone(&host.Unanswered{Outcome: host.AskerGone})
				return nil
			}, true})
		case "end":
			field = append(field, contender{&modelEnd{outcome: host.HostClosing}, func() error {
				m.board.End(filterOf(a.session), host.Unanswered{Outcome: host.HostClosing})
				return nil
			}, true})
		case "deadline":
			if !expires {
				field = append(field, contender{&modelEnd{outcome: host.TimedOut}, func() error { m.clock.Advance(left); return nil }, true})
			}
			expires = true
		}
	}
	for _, s := range m.seats { // a surface that returns at that moment
		if v := s.showing[a]; v != nil && rapid.Bool().Draw(t, s.name+" returns") {
			answers := map[string]any{v.questions[0].Question: "returned by " + s.name}
			if v.questions[0].MultiSelect {
				answers[v.questions[0].Question] = []string{"returned by " + s.name}
			}
			as := make([]host.Answer, len(a.questions))
			for i := range as {
				as[i].Skipped = i > 0
			}
			as[0].Text = "returned by " + s.name
			field = append(field, contender{answered(as, s.name, time.Time{}), func() error { v.reply <- result{answers: answers}; return nil }, true})
			delete(s.showing, a) // its context may end either way
		}
	}
	errs := m.runAll(t, field)
	m.raced(t, a, field, errs)
	if expires {
		m.passed(t, left)
	}
}

// runAll lets all run at once, and returns what each was told.
func (m *machine) runAll(t *rapid.T, field []contender) []error {
	errs, start := make([]error, len(field)), make(chan struct{})
	var racers sync.WaitGroup
	for i, c := range field {
		racers.Go(func() {
			<-start
			errs[i] = c.run()
		})
	}
	close(start)
	over := make(chan struct{})
	go func() { racers.Wait(); close(over) }()
	within(t, "the end of a race", over)
	return errs
}

// raced finds out who won, and holds the ask against that.
func (m *machine) raced(t *rapid.T, a *testAsk, field []contender, errs []error) {
	var claims, candidates []*modelEnd
	r := within(t, "the result of a race", a.result)
	for i, c := range field {
		switch {
		case c.quiet && c.matches(a, r):
			candidates = append(candidates, c.end)
		case !c.quiet && errs[i] == nil:
			claims = append(claims, c.end)
		}
	}
	if len(claims) > 1 || len(claims)+len(candidates) == 0 {
		t.Fatalf("%s: %d were told that they settled it, %d others could have; the asker got %v, %v", a.id, len(claims), len(candidates), r.answers, r.err)
	}
	again := make(chan result, 1)
	again <- r
	a.result = again
	m.ended(t, a, append(claims, candidates...)[0])
	for i, c := range field {
		if !c.quiet && errs[i] != nil {
			m.checkResolution(t, a, errs[i])
		}
	}
}

// matches is whether a result is what this contender would have brought about.
func (c contender) matches(a *testAsk, r result) bool {
	if c.end.outcome == host.Answered {
		return r.err == nil && reflect.DeepEqual(r.answers, wire(a.questions, c.end.answers))
	}
	var u *host.Unanswered
	return errors.As(r.err, &u) && u.Outcome == c.end.outcome
}
