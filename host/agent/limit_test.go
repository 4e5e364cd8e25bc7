package agent

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/hosttest"
)

func TestTimeLimitStandsStillWhileAnAskIsOpen(t *testing.T) {
	clock, over := hosttest.NewClock(), &atomic.Int32{}
	l := newTimeLimit(clock, 10*time.Minute, func() { over.Add(1) })
	defer l.end()
	open, closed := make(chan struct{}), make(chan struct{})
	ask := l.around(host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
		open <- struct{}{}
		<-closed
		return nil, errors.New("nobody")
	}))
	ended := make(chan struct{})
	begin := func() {
		go func() { _, _ = ask.Ask(context.Background(), "s", nil); ended <- struct{}{} }()
		<-open
	}
	end := func() { closed <- struct{}{}; <-ended }

	clock.Advance(6 * time.Minute)
	begin()
	begin()
	clock.Advance(time.Hour)
	end() // of one of them; the other is still open
	clock.Advance(time.Hour)
	if over.Load() != 0 {
		t.Fatal("it ran while an ask was open")
	}
	end()
	clock.Advance(3 * time.Minute)
	begin()
	clock.Advance(time.Hour)
	end()
	if clock.Advance(59 * time.Second); over.Load() != 0 {
		t.Error("it was over before ten minutes")
	}
	if clock.Advance(time.Second); over.Load() != 1 {
		t.Error("it was not over after ten minutes")
	}
	if clock.Advance(time.Hour); over.Load() != 1 || clock.Timers() != 0 {
		t.Errorf("over %d times, %d timers left", over.Load(), clock.Timers())
	}
}

// overtaken is a clock whose timers come although they were stopped, as real ones can that are just being called.
type overtaken struct{ *hosttest.Clock }

func (o overtaken) AfterFunc(d time.Duration, f func()) func() bool {
	o.Clock.AfterFunc(d, f)
	return func() bool { return false }
}

func TestATimerThatAnAskHasOvertakenEndsNothing(t *testing.T) {
	clock, over := hosttest.NewClock(), false
	l := newTimeLimit(overtaken{clock}, time.Minute, func() { over = true })
	l.pause()
	if clock.Advance(time.Minute); over {
		t.Error("an open ask was no protection")
	}
	l.resume()
	l.end()
	if clock.Advance(time.Hour); over {
		t.Error("it was over after its end")
	}
}

func TestSpokenDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{30 * time.Minute: "30m", 2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 10 * time.Second: "10s", 0: "0s"} {
		if got := spoken(d); got != want {
			t.Errorf("%d is %q, want %q", d, got, want)
		}
	}
}

// The agent's time passes while it works, and not while it asks. The clock is moved by hand.
func TestAnAgentWhoseTimeIsUpIsStopped(t *testing.T) {
	s := newStage(t, `steps:
- ask: {id: q, questions: [{question: Which?, options: [{label: a}, {label: b}]}]}
- on: {call: q, answered: [{say: 'went on'}, {hang: {}}], error: [{say: 'nobody'}]}
`)
	clock := hosttest.NewClock()
	s.d.Clock = clock
	asked := make(chan host.Ask, 1)
	s.board.Attach("operator", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		a, _ := host.AskFrom(ctx)
		asked <- a
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}), nil)
	limited := make(chan struct{})
	go func() {
		defer close(limited)
		a := <-asked
		clock.Advance(time.Hour)
		if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{1}}}); err != nil {
			t.Error(err)
		}
	}()
	res, err := s.runs(Request{Verb: Task, Limit: 10 * time.Minute}, Observer{Event: func(e StreamEvent, _ []string) {
		if text, ok := e.(Text); ok && text.Text == "went on" {
			eventually(t, "the timer after the ask", func() bool { return clock.Timers() == 1 })
			clock.Advance(9 * time.Minute)
			clock.Advance(2 * time.Minute)
		}
	}})
	<-limited
	want := "the agent was stopped, because its 10m were up before it was done; continue it, or give it more time"
	if !errors.Is(err, ErrTime) || err.Error() != want || res.Conversation == "" {
		t.Errorf("got %+v, %v", res, err)
	}
}
