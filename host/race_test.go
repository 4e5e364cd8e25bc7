package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/hosttest"
)

// duel lets one ask after the other be fought over by its deadline and somebody on a surface.
type duel struct {
	*hosttest.Clock
	board  *host.Switchboard
	opened host.OpenedAsk     // of the present round; handed over by the channels below
	time   chan time.Duration // by how much the clock is to move
	person chan host.OpenedAsk
	told   chan error // what the person was told
	passed chan struct{}
	head   int // how long the clock is held back; what makes the two meet

	mu     sync.Mutex // guards all below
	events []host.Event
}

// newDuel starts the two sides; act is what the person does in each round.
func newDuel(t *testing.T, act func(a host.OpenedAsk) error) *duel {
	d := &duel{
		Clock: hosttest.NewClock(), time: make(chan time.Duration, 1), person: make(chan host.OpenedAsk, 1),
		told: make(chan error, 1), passed: make(chan struct{}, 1),
	}
	d.board = host.NewSwitchboard(host.SwitchboardOptions{Clock: d, Recorder: d, Wait: time.Second})
	release := d.board.Declare(nil)
	var sides sync.WaitGroup
	sides.Go(func() {
		for by := range d.time {
			for range d.head {
				d.Now()
			}
			d.Advance(by)
			d.passed <- struct{}{}
		}
	})
	sides.Go(func() {
		for a := range d.person {
			d.told <- act(a)
		}
	})
	t.Cleanup(func() {
		close(d.time)
		close(d.person)
		sides.Wait()
		release()
		closed(t, d.board)
		if n := d.Timers(); n != 0 {
			t.Errorf("%d timers left", n)
		}
	})
	return d
}

// AfterFunc implements host.Clock. The timer of the ask being set is the signal for both sides.
func (d *duel) AfterFunc(after time.Duration, f func()) func() bool {
	stop := d.Clock.AfterFunc(after, f)
	if a := d.opened; a != nil {
		d.opened = nil
		d.person <- a
		d.time <- after
	}
	return stop
}

// Record implements host.Recorder.
func (d *duel) Record(_ context.Context, e host.Event) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, late := e.(host.QuestionTooLate); !late {
		d.events = append(d.events, e)
	}
	return nil
}

// bout is one ask that was fought over: what its asker got, what the person was told, and what the trace has.
type bout struct {
	result
	told   error
	events []host.Event
}

func (d *duel) round(ctx context.Context) (b bout) {
	ctx = host.WithAskRequest(ctx, host.AskRequest{ID: "duel", Opened: func(a host.OpenedAsk) { d.opened = a }})
	b.answers, b.err = d.board.Ask(ctx, "s1", []host.OperatorQuestion{database})
	b.told = <-d.told
	<-d.passed
	if b.told == nil {
		d.head = max(0, d.head-1)
	} else if d.head < 50 {
		d.head++
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b.events, d.events = d.events, nil
	return b
}

// An answer and the deadline, a hundred thousand times at the same moment: one of them wins each time, and the
// person, the agent and the trace have the same one.
func TestAnswerAgainstDeadline(t *testing.T) {
	const rounds = 100_000
	row := 0
	d := newDuel(t, func(a host.OpenedAsk) error {
		return a.Answer(context.Background(), []host.Answer{{Picked: []int{row}}})
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // of all rounds
	defer cancel()
	var answers, timeouts int
	for i := range rounds {
		row = i % 2
		b := d.round(ctx)
		events := b.events
		if len(events) != 2 || events[0].Name() != "operator.question.asked" {
			t.Fatalf("round %d: the trace has %+v", i, events)
		}
		answered, isAnswered := events[1].(host.QuestionAnswered)
		unanswered, _ := events[1].(host.QuestionUnanswered)
		label := database.Options[row].Label
		switch {
		case b.told == nil && b.err == nil && b.answers[database.Question] == label && isAnswered && answered.Answers[0].Labels[0] == label:
			answers++
		case errors.Is(b.told, host.ErrTooLate) && outcomeOf(b.err) == host.TimedOut && b.answers == nil && unanswered.Outcome == host.TimedOut:
			timeouts++
		default:
			t.Fatalf("round %d: the person was told %v, the agent got %v, %v, the trace has %+v", i, b.told, b.answers, b.err, events[1])
		}
	}
	t.Logf("%d answers and %d deadlines won", answers, timeouts)
	if min(answers, timeouts) == 0 {
		t.Errorf("%d answers and %d deadlines won; this was no race", answers, timeouts)
	}
}

// More time is given or it is not: who was told that it was has it.
func TestExtensionAgainstDeadline(t *testing.T) {
	var extended error
	d := newDuel(t, func(a host.OpenedAsk) error {
		if extended = a.Extend(context.Background(), time.Hour); extended != nil {
			return extended
		}
		return a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}})
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // of all rounds
	defer cancel()
	for i := range 5_000 {
		b := d.round(ctx)
		if extended == nil && b.told != nil {
			t.Fatalf("round %d: an hour was given, and the answer right after it got %q; the agent got %v", i, b.told, b.err)
		}
		if extended != nil && !errors.Is(extended, host.ErrTooLate) {
			t.Fatalf("round %d: the extension got %v", i, extended)
		}
	}
}

// Everything at once, on two sessions: each ask still ends once, with what its winner gave, and nothing is left.
func TestStorm(t *testing.T) {
	clock, trace := hosttest.NewClock(), newLedger()
	board := host.NewSwitchboard(host.SwitchboardOptions{Clock: clock, Recorder: trace, MaxOpen: 16, Wait: time.Minute})
	defer board.Declare(nil)()
	var mu sync.Mutex
	won := map[string]string{} // ask to the words that settled it
	claim := func(a host.Ask, words string) {
		if a.Answer(context.Background(), []host.Answer{{Text: words}}) == nil {
			mu.Lock()
			defer mu.Unlock()
			if id := a.Info().ID; won[id] != "" {
				t.Errorf("%s was settled by %q and by %q", id, won[id], words)
			} else {
				won[id] = words
			}
		}
	}
	over := make(chan struct{})
	var askers, others sync.WaitGroup
	others.Go(func() { // surfaces come and go
		for n := 0; ; n++ {
			detach := board.Attach("passing", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
				a, _ := host.AskFrom(ctx)
				claim(a, fmt.Sprintf("passing %d", n))
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}), filterOf([]string{"", "s1", "s2"}[n%3]))
			clock.Advance(10 * time.Second)
			detach()
			select {
			case <-over:
				return
			default:
			}
		}
	})
	others.Go(func() { // somebody works through what is pending
		for n := 0; ; n++ {
			for _, a := range board.Pending(nil) {
				a.Touch()
				_ = a.SetDraft(context.Background(), 0, host.Draft{Answer: host.Answer{Text: "draft"}, Rev: a.Draft(0).Rev})
				if n%3 == 0 {
					claim(a, fmt.Sprintf("pending %d", n))
				}
			}
			select {
			case <-over:
				return
			default:
			}
		}
	})
	for n := range 4 {
		session := fmt.Sprintf("s%d", 1+n%2)
		askers.Go(func() {
			for i := range 300 {
				ctx, cancel := context.WithCancelCause(context.Background())
				id := fmt.Sprintf("%d.%d", n, i)
				ctx = host.WithAskRequest(ctx, host.AskRequest{ID: id, Opened: func(host.OpenedAsk) {
					switch rand.IntN(8) {
					case 0:
						cancel(&host.Unanswered{Outcome: host.AskerGone})
					case 1:
						board.End(host.OnlySession(session), host.Unanswered{Outcome: host.HostClosing})
					}
				}})
				answers, err := board.Ask(ctx, session, []host.OperatorQuestion{database})
				cancel(nil)
				mu.Lock()
				words, claimed := won[id]
				mu.Unlock()
				// The winner may be told a moment after the asker was; without an answer there is none.
				if err != nil && (claimed || answers != nil || outcomeOf(err) == "") || err == nil && claimed && answers[database.Question] != words {
					t.Errorf("%s: %q won, the asker got %v, %v", id, words, answers, err)
				}
			}
		})
	}
	askers.Wait()
	close(over)
	others.Wait()
	closed(t, board)
	opened, ended, problems := trace.sums()
	if opened != 1200 || ended != opened || len(problems) > 0 || len(board.Pending(nil)) > 0 || clock.Timers() > 0 {
		t.Errorf("%d asks, %d ends, %d pending, %d timers; %v", opened, ended, len(board.Pending(nil)), clock.Timers(), problems)
	}
}
