package host_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/hosttest"
)

// desk is a switchboard under test, with a surface that hands its asks out.
type desk struct {
	t     *testing.T
	board *host.Switchboard
	clock *hosttest.Clock
	rec   *hosttest.Recorder
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, clock: hosttest.NewClock(), rec: &hosttest.Recorder{}}
	d.board = host.NewSwitchboard(host.SwitchboardOptions{Clock: d.clock, Recorder: d.rec, Wait: 5 * time.Minute})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := d.board.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if n := d.clock.Timers(); n != 0 {
			t.Errorf("%d timers left", n)
		}
	})
	return d
}

// surface attaches a surface by name; the asks it is shown come out of the channel, with the context of each.
type shown struct {
	host.Ask
	ctx context.Context //nolint:containedctx // the very thing that is looked at
}

func (d *desk) surface(name string) (<-chan shown, func()) {
	ch := make(chan shown, 64)
	detach := d.board.Attach(name, host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		a, _ := host.AskFrom(ctx)
		ch <- shown{a, ctx}
		<-ctx.Done()
		return nil, ctx.Err()
	}), nil)
	return ch, detach
}

type result struct {
	answers map[string]any
	err     error
}

func (d *desk) ask(ctx context.Context, qs ...host.OperatorQuestion) <-chan result {
	ch := make(chan result, 1)
	go func() {
		answers, err := d.board.Ask(ctx, "s1", qs)
		ch <- result{answers, err}
	}()
	return ch
}

func wait[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came within 10 s")
		panic("unreachable")
	}
}

var database = host.OperatorQuestion{
	Question: "Which database?", Header: "DB",
	Options: []host.OperatorOption{{Label: "Postgres"}, {Label: "SQLite"}},
}

var checks = host.OperatorQuestion{
	Question: "Which checks?", MultiSelect: true,
	Options: []host.OperatorOption{{Label: "lint"}, {Label: "unit"}, {Label: "Health, longevity"}},
}

func outcomeOf(err error) host.Outcome {
	var u *host.Unanswered
	if errors.As(err, &u) {
		return u.Outcome
	}
	return ""
}

// O1 (claudecodeui#1249): the picked label arrives exactly as it was given.
func TestPickedLabelArrivesExactly(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	q := host.OperatorQuestion{Question: "Allow?", Options: []host.OperatorOption{{Label: "Yes"}, {Label: "Yes, always\u202e"}}}
	got := d.ask(context.Background(), q)
	a := wait(t, asks)
	if label := a.Info().Questions[0].Options[1].Label; label == q.Options[1].Label {
		t.Errorf("the surface was shown the raw label %q", label)
	}
	if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{1}}}); err != nil {
		t.Fatal(err)
	}
	r := wait(t, got)
	if want := map[string]any{"Allow?": "Yes, always\u202e"}; r.err != nil || !reflect.DeepEqual(r.answers, want) {
		t.Fatalf("got %v, %v; want %v", r.answers, r.err, want)
	}
}

// O2 (hermes-agent#92779): one pick of a multi-select is an array of one, commas and all.
func TestMultiSelectOfOneIsAnArray(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), checks)
	if err := wait(t, asks).Answer(context.Background(), []host.Answer{{Picked: []int{2}}}); err != nil {
		t.Fatal(err)
	}
	r := wait(t, got)
	if want := map[string]any{"Which checks?": []string{"Health, longevity"}}; !reflect.DeepEqual(r.answers, want) {
		t.Fatalf("got %v, %v", r.answers, r.err)
	}
}

func TestFirstAnswerWinsAndTheOthersAreTold(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	one, _ := d.surface("terminal")
	two, _ := d.surface("web")
	got := d.ask(context.Background(), database)
	a, b := wait(t, one), wait(t, two)
	if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Fatal(err)
	}
	err := b.Answer(context.Background(), []host.Answer{{Picked: []int{1}}})
	if !errors.Is(err, host.ErrResolved) {
		t.Errorf("the second answer got %v", err)
	}
	var r *host.Resolution
	if !errors.As(err, &r) || r.Surface != "terminal" {
		t.Errorf("the second answer was not told who won: %v", err)
	}
	<-b.ctx.Done()
	if cause := context.Cause(b.ctx); !errors.As(cause, &r) || r.Surface != "terminal" || r.Outcome != host.Answered {
		t.Errorf("the other surface was let go with %v", cause)
	}
	if res := wait(t, got); res.answers["Which database?"] != "Postgres" {
		t.Errorf("the asker got %v, %v", res.answers, res.err)
	}
}

// The exactly-once rule under load: of many answers on two surfaces one settles, and that one is what arrives.
func TestRacingAnswersSettleOnce(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	for range 200 {
		got := d.ask(context.Background(), database)
		a := wait(t, asks)
		var mu sync.Mutex
		var won []int
		var racers sync.WaitGroup
		for i := range 4 {
			racers.Go(func() {
				if a.Answer(context.Background(), []host.Answer{{Picked: []int{i % 2}}}) == nil {
					mu.Lock()
					won = append(won, i%2)
					mu.Unlock()
				}
			})
		}
		racers.Go(func() { d.clock.Advance(10 * time.Minute) })
		racers.Wait()
		r := wait(t, got)
		switch {
		case len(won) > 1:
			t.Fatalf("%d answers were told that they settled it", len(won))
		case len(won) == 1 && r.answers["Which database?"] != database.Options[won[0]].Label:
			t.Fatalf("row %d won, %v arrived (%v)", won[0], r.answers, r.err)
		case len(won) == 0 && outcomeOf(r.err) != host.TimedOut:
			t.Fatalf("nobody won and the asker got %v, %v", r.answers, r.err)
		}
	}
	ends := map[string]int{}
	for _, n := range d.rec.Names() {
		ends[n]++
	}
	if ends["operator.question.asked"] != 200 || ends["operator.question.answered"]+ends["operator.question.unanswered"] != 200 {
		t.Errorf("the trace has %v", ends)
	}
}

func TestNoPresenceRefusesAtOnce(t *testing.T) {
	d := newDesk(t)
	asks, _ := d.surface("terminal")
	r := wait(t, d.ask(context.Background(), database))
	if outcomeOf(r.err) != host.NoOperator {
		t.Fatalf("got %v, %v", r.answers, r.err)
	}
	if len(asks) != 0 || len(d.rec.Names()) != 0 {
		t.Error("the refused ask was shown or recorded")
	}
}

// When the last presence goes, the ask stays for whoever attaches until its deadline.
func TestDetachedAskCanBeAnsweredElsewhere(t *testing.T) {
	d := newDesk(t)
	release := d.board.Declare(nil)
	asks, detach := d.surface("terminal")
	got := d.ask(context.Background(), database)
	a := wait(t, asks)
	if err := a.SetDraft(context.Background(), 0, host.Draft{Answer: host.Answer{Text: "my"}}); err != nil {
		t.Fatal(err)
	}
	detach()
	release()
	<-a.ctx.Done()
	later, _ := d.surface("other terminal")
	b := wait(t, later)
	if b.Draft(0).Text != "my" {
		t.Errorf("the draft was lost: %+v", b.Draft(0))
	}
	if err := b.Answer(context.Background(), []host.Answer{{Picked: []int{1}}}); err != nil {
		t.Fatal(err)
	}
	if r := wait(t, got); r.answers["Which database?"] != "SQLite" {
		t.Errorf("got %v, %v", r.answers, r.err)
	}
}

func TestDeadlineEndsTheAskAndLateAnswersAreTold(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database)
	a := wait(t, asks)
	d.clock.Advance(5*time.Minute - time.Second)
	select {
	case r := <-got:
		t.Fatalf("ended a second early: %v", r)
	default:
	}
	d.clock.Advance(time.Second)
	if r := wait(t, got); outcomeOf(r.err) != host.TimedOut {
		t.Fatalf("got %v, %v", r.answers, r.err)
	}
	if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); !errors.Is(err, host.ErrTooLate) {
		t.Errorf("a late answer got %v", err)
	}
	if names := d.rec.Names(); names[len(names)-1] != "operator.question.too_late" {
		t.Errorf("T4: the late answer is not in the trace: %v", names)
	}
}

func TestActivityKeepsTheDeadlineAwayUpToThreeWaits(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database)
	a := wait(t, asks)
	opened := a.Info().Opened
	changed := a.Changed()
	d.clock.Advance(4*time.Minute + 30*time.Second)
	a.Touch()
	wait(t, changed)
	if left := a.Info().Deadline.Sub(d.clock.Now()); left != time.Minute {
		t.Errorf("%s left after activity, want 1m", left)
	}
	for range 40 {
		d.clock.Advance(30 * time.Second)
		a.Touch()
	}
	if r := wait(t, got); outcomeOf(r.err) != host.TimedOut {
		t.Errorf("got %v", r.err)
	}
	if last := a.Info().Deadline; last.Sub(opened) != 15*time.Minute {
		t.Errorf("activity moved the deadline to %s after opening", last.Sub(opened))
	}
}

func TestExtensionIsNotCapped(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database)
	a := wait(t, asks)
	if err := a.Extend(context.Background(), 30*time.Minute); err != nil {
		t.Fatal(err)
	}
	d.clock.Advance(34 * time.Minute)
	a.Touch()
	if left := a.Info().Deadline.Sub(d.clock.Now()); left != time.Minute {
		t.Errorf("%s left", left)
	}
	if err := a.Decline(context.Background(), "later", nil); err != nil {
		t.Fatal(err)
	}
	if r := wait(t, got); outcomeOf(r.err) != host.Declined {
		t.Errorf("got %v", r.err)
	}
}

// T2 (claude-code#29904): an empty map is no answer; another surface keeps the ask open.
func TestEmptyMapOfThePrompter(t *testing.T) {
	empty := host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
		return map[string]any{}, nil
	})
	t.Run("the only one", func(t *testing.T) {
		d := newDesk(t)
		defer d.board.Declare(nil)()
		d.board.Attach("script", empty, nil)
		r := wait(t, d.ask(context.Background(), database))
		if outcomeOf(r.err) != host.Cancelled || r.answers != nil {
			t.Fatalf("got %v, %v", r.answers, r.err)
		}
	})
	t.Run("beside another", func(t *testing.T) {
		d := newDesk(t)
		defer d.board.Declare(nil)()
		asks, _ := d.surface("terminal")
		d.board.Attach("script", empty, nil)
		got := d.ask(context.Background(), database)
		if err := wait(t, asks).Answer(context.Background(), []host.Answer{{Text: "none"}}); err != nil {
			t.Fatal(err)
		}
		if r := wait(t, got); r.answers["Which database?"] != "none" {
			t.Fatalf("got %v, %v", r.answers, r.err)
		}
	})
	for name, bad := range map[string]map[string]any{
		"null": nil, "unknown key": {"nope": "Postgres"}, "null value": {"Which database?": nil},
		"number": {"Which database?": 1}, "two texts": {"Which database?": []any{"a", "b"}}, "blank": {"Which database?": " "},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			defer d.board.Declare(nil)()
			d.board.Attach("script", host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
				return bad, nil
			}), nil)
			if r := wait(t, d.ask(context.Background(), database)); outcomeOf(r.err) != host.Cancelled {
				t.Fatalf("got %v, %v", r.answers, r.err)
			}
		})
	}
}

func TestPlainPrompterAnswersAndDeclines(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	answer := func(answers map[string]any, err error) func() {
		return d.board.Attach("script", host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
			return answers, err
		}), nil)
	}
	detach := answer(map[string]any{"Which database?": "SQLite"}, nil)
	if r := wait(t, d.ask(context.Background(), database)); r.answers["Which database?"] != "SQLite" {
		t.Errorf("got %v, %v", r.answers, r.err)
	}
	detach()
	answer(nil, &host.Unanswered{Outcome: host.Declined, Reason: "not now"})
	r := wait(t, d.ask(context.Background(), database))
	var u *host.Unanswered
	if !errors.As(r.err, &u) || u.Outcome != host.Declined || u.Reason != "not now" {
		t.Errorf("got %v", r.err)
	}
}

// O13 (claude-code#87179): an interrupted ask brings no label, recommended or not.
func TestWithdrawnAskIsCancelled(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	for cause, want := range map[error]host.Outcome{
		context.Canceled: host.Cancelled,
		&host.Unanswered{Outcome: host.AskerGone}:   host.AskerGone,
		&host.Unanswered{Outcome: host.HostClosing}: host.HostClosing,
		&host.Unanswered{Outcome: host.Answered}:    host.Cancelled,
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		got := d.ask(ctx, host.OperatorQuestion{Question: "Drop it?", Options: []host.OperatorOption{{Label: "Yes (Recommended)"}, {Label: "No"}}})
		a := wait(t, asks)
		cancel(cause)
		if r := wait(t, got); outcomeOf(r.err) != want || r.answers != nil {
			t.Errorf("cause %v: got %v, %v", cause, r.answers, r.err)
		}
		if len(d.board.Pending(nil)) != 0 {
			t.Error("still pending")
		}
		<-a.ctx.Done()
		if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); !errors.Is(err, host.ErrResolved) {
			t.Errorf("an answer to a withdrawn ask got %v", err)
		}
	}
}

func TestBadAnswersKeepTheAskOpen(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database, checks)
	a := wait(t, asks)
	var fields *host.FieldErrors
	for _, bad := range [][]host.Answer{
		nil, {{Picked: []int{0}}}, {{Picked: []int{0, 1}}, {None: true}}, {{Picked: []int{7}}, {None: true}},
		{{}, {None: true}}, {{Text: " \n"}, {None: true}}, {{None: true}, {None: true}}, {{Picked: []int{0}}, {Picked: []int{1, 0}}},
	} {
		if err := a.Answer(context.Background(), bad); !errors.As(err, &fields) {
			t.Errorf("%+v got %v", bad, err)
		}
	}
	if err := a.Answer(context.Background(), []host.Answer{{Skipped: true}, {None: true}}); err != nil {
		t.Fatal(err)
	}
	if r := wait(t, got); !reflect.DeepEqual(r.answers, map[string]any{"Which checks?": []string{}}) {
		t.Errorf("got %v, %v", r.answers, r.err)
	}
}

func TestSkippingEverythingDeclines(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database)
	if err := wait(t, asks).Answer(context.Background(), []host.Answer{{Skipped: true}}); err != nil {
		t.Fatal(err)
	}
	if r := wait(t, got); outcomeOf(r.err) != host.Declined {
		t.Errorf("got %v, %v", r.answers, r.err)
	}
}

func TestStaleDraftIsRefused(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database)
	a := wait(t, asks)
	ctx := context.Background()
	if err := a.SetDraft(ctx, 0, host.Draft{Answer: host.Answer{Text: "one"}}); err != nil {
		t.Fatal(err)
	}
	if err := a.SetDraft(ctx, 0, host.Draft{Answer: host.Answer{Text: "two"}}); !errors.Is(err, host.ErrStaleDraft) {
		t.Errorf("an old revision got %v", err)
	}
	if got := a.Draft(0); got.Text != "one" || got.Rev != 1 {
		t.Errorf("the draft is %+v", got)
	}
	if err := a.Decline(ctx, "", nil); err != nil {
		t.Fatal(err)
	}
	wait(t, got)
}

func TestDuplicateIDIsRefusedAndTheFirstWorks(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	ctx := host.WithAskRequest(context.Background(), host.AskRequest{ID: "q1"})
	got := d.ask(ctx, database)
	a := wait(t, asks)
	if r := wait(t, d.ask(ctx, checks)); !errors.Is(r.err, host.ErrDuplicateID) {
		t.Errorf("the second got %v, %v", r.answers, r.err)
	}
	if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Fatal(err)
	}
	if r := wait(t, got); r.answers["Which database?"] != "Postgres" {
		t.Errorf("got %v, %v", r.answers, r.err)
	}
}

func TestCloseSettlesAndRefuses(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database)
	wait(t, asks)
	if err := d.board.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r := wait(t, got); outcomeOf(r.err) != host.HostClosing {
		t.Errorf("got %v, %v", r.answers, r.err)
	}
	if r := wait(t, d.ask(context.Background(), database)); outcomeOf(r.err) != host.HostClosing {
		t.Errorf("a later ask got %v, %v", r.answers, r.err)
	}
}
