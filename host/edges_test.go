package host_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// The trace names the asker as the screen does: an agent chooses what its sub-agents are called.
func TestTraceHasTheAskerSafe(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	ctx := host.WithAskRequest(context.Background(), host.AskRequest{Asker: host.Asker{Agent: "a\x1b[2J", Path: []string{"p\u202e"}, Dir: "/d\n"}})
	got := d.ask(ctx, database)
	a := wait(t, asks)
	asked, _ := d.rec.Events()[0].(host.QuestionAsked)
	for _, who := range []host.Asker{a.Info().Asker, asked.Asker} {
		if texts := who.Agent + who.Path[0] + who.Dir; strings.ContainsAny(texts, "\x1b\u202e\n") {
			t.Errorf("the asker is %+v", who)
		}
	}
	_ = a.Decline(context.Background(), "", nil)
	wait(t, got)
}

// An explicit "none" and a question that nobody answered are two things in the trace.
func TestTraceTellsNoneFromNothing(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	other := checks
	other.Question = "Which others?"
	got := d.ask(context.Background(), checks, other)
	if err := wait(t, asks).Decline(context.Background(), "", []host.Answer{{None: true}, {}}); err != nil {
		t.Fatal(err)
	}
	wait(t, got)
	e, _ := d.rec.Events()[1].(host.QuestionUnanswered)
	if len(e.Partial) != 2 {
		t.Fatalf("the trace has %+v", e)
	}
	if one, two := e.Partial[0], e.Partial[1]; reflect.DeepEqual(one, two) {
		t.Errorf("an explicit none is traced as %+v, and so is no answer", one)
	}
}

// Surfaces may add rows of their own to what they show; it stays their own.
func TestSurfacesDoNotShareRows(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), checks) // three rows: a list that was grown to three has room for a fourth
	a := wait(t, asks)
	one, two := a.Info().Questions[0].Options, a.Info().Questions[0].Options
	one = append(one, host.OperatorOption{Label: "Other"})
	two = append(two, host.OperatorOption{Label: "Own answer"})
	if one[3].Label != "Other" || two[3].Label != "Own answer" {
		t.Errorf("one surface's row reads %q on the other", one[3].Label)
	}
	_ = a.Decline(context.Background(), "", nil)
	wait(t, got)
}

// hastyRecorder ends every ask while its opening is still being written.
type hastyRecorder struct {
	end   func()
	ended chan struct{}
	early bool
}

func (r *hastyRecorder) Record(_ context.Context, e host.Event) error {
	if _, opening := e.(host.QuestionAsked); !opening {
		close(r.ended)
		return nil
	}
	go r.end()
	select {
	case <-r.ended:
		r.early = true
	case <-time.After(50 * time.Millisecond): // long enough for an end that does not wait
	}
	return nil
}

// However early an ask is ended, its end is recorded after its opening, and no surface sees it any more.
func TestNoEndBeforeItsStart(t *testing.T) {
	rec := &hastyRecorder{ended: make(chan struct{})}
	board := host.NewSwitchboard(host.SwitchboardOptions{Recorder: rec})
	rec.end = func() { board.End(nil, host.Unanswered{Outcome: host.HostClosing}) }
	defer board.Declare(nil)()
	defer board.Attach("terminal", host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
		t.Error("the ask was shown after its end")
		return nil, nil
	}), nil)()
	answers, err := board.Ask(context.Background(), "s1", []host.OperatorQuestion{database})
	if outcomeOf(err) != host.HostClosing || rec.early {
		t.Errorf("got %v, %v; the end came first: %v", answers, err, rec.early)
	}
	closed(t, board)
}

// slowRecorder keeps the end of an ask back until it is told to go on.
type slowRecorder struct{ reached, goOn chan struct{} }

func (r slowRecorder) Record(_ context.Context, e host.Event) error {
	if e.Name() == "operator.question.answered" {
		close(r.reached)
		<-r.goOn
	}
	return nil
}

// When End or Close returns, the ends of all its asks are in the trace, also of one that somebody else is just
// settling: what follows is that the trace is closed.
func TestEndingWaitsForTheTrace(t *testing.T) {
	for name, end := range map[string]func(*host.Switchboard) error{
		"End":   func(b *host.Switchboard) error { b.End(nil, host.Unanswered{Outcome: host.HostClosing}); return nil },
		"Close": func(b *host.Switchboard) error { closed(t, b); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			rec := slowRecorder{make(chan struct{}), make(chan struct{})}
			board := host.NewSwitchboard(host.SwitchboardOptions{Recorder: rec})
			defer board.Declare(nil)()
			opened, got, told, ended := make(chan host.OpenedAsk, 1), make(chan result, 1), make(chan error, 1), make(chan error, 1)
			ctx := host.WithAskRequest(context.Background(), host.AskRequest{Opened: func(a host.OpenedAsk) { opened <- a }})
			go func() {
				answers, err := board.Ask(ctx, "s1", []host.OperatorQuestion{database})
				got <- result{answers, err}
			}()
			a := wait(t, opened)
			go func() { told <- a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}) }()
			wait(t, rec.reached)
			go func() { ended <- end(board) }()
			select {
			case err := <-ended:
				t.Errorf("%s returned, and the answer was not in the trace yet", name)
				ended <- err
			case <-time.After(50 * time.Millisecond): // long enough to fail nearly always when it does not wait
			}
			close(rec.goOn)
			if err := errors.Join(wait(t, told), wait(t, ended), wait(t, got).err); err != nil {
				t.Error(err)
			}
		})
	}
}

// Closing is bounded by its context also where the trace hangs.
func TestCloseGivesUp(t *testing.T) {
	rec := slowRecorder{make(chan struct{}), make(chan struct{})}
	board := host.NewSwitchboard(host.SwitchboardOptions{Recorder: rec})
	defer board.Declare(nil)()
	opened, told, ended := make(chan host.OpenedAsk, 1), make(chan error, 1), make(chan error, 1)
	ctx := host.WithAskRequest(context.Background(), host.AskRequest{Opened: func(a host.OpenedAsk) { opened <- a }})
	got := make(chan error, 1)
	go func() {
		_, err := board.Ask(ctx, "s1", []host.OperatorQuestion{database})
		got <- err
	}()
	a := wait(t, opened)
	go func() { told <- a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}) }()
	wait(t, rec.reached)
	short, cancel := context.WithCancel(context.Background())
	cancel()
	go func() { ended <- board.Close(short) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("closed with %v", err)
		}
	case <-time.After(time.Second):
		t.Error("Close went on after its context had ended")
	}
	close(rec.goOn)
	if err := errors.Join(wait(t, told), wait(t, got)); err != nil {
		t.Error(err)
	}
	closed(t, board)
}

// Close waits for surfaces that are slow to let go, as long as it may.
func TestCloseWaitsForSurfaces(t *testing.T) {
	board := host.NewSwitchboard(host.SwitchboardOptions{})
	defer board.Declare(nil)()
	came, goOn, got, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
	board.Attach("slow", host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
		close(came)
		<-goOn
		return map[string]any{database.Question: "Postgres"}, nil
	}), nil)
	go func() {
		_, err := board.Ask(context.Background(), "s1", []host.OperatorQuestion{database})
		got <- err
	}()
	wait(t, came)
	short, cancel := context.WithCancel(context.Background())
	cancel()
	if err := board.Close(short); !errors.Is(err, context.Canceled) {
		t.Errorf("with no time to wait, closed with %v", err)
	}
	go func() { ended <- board.Close(context.Background()) }()
	select {
	case err := <-ended:
		t.Errorf("closed with %v while a surface was still at it", err)
		ended <- err
	case <-time.After(50 * time.Millisecond): // long enough to fail nearly always when it does not wait
	}
	close(goOn)
	if err := wait(t, ended); err != nil {
		t.Error(err)
	}
	if err := wait(t, got); outcomeOf(err) != host.HostClosing {
		t.Errorf("the asker got %v", err)
	}
}

// Answers go home by question text and label. Where these do not tell questions or rows apart, an ask that did
// not come over the wire is refused as well, instead of bringing one question's answer to the other.
func TestAmbiguousQuestionsAreRefused(t *testing.T) {
	twice := host.OperatorQuestion{Question: "Proceed?", Options: []host.OperatorOption{{Label: "Yes"}, {Label: "No"}}}
	for name, qs := range map[string][]host.OperatorQuestion{
		"two questions with one text": {twice, twice},
		"two rows with one label":     {{Question: "Which?", Options: []host.OperatorOption{{Label: "a"}, {Label: "a"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			defer d.board.Declare(nil)()
			asks, _ := d.surface("terminal")
			got := d.ask(context.Background(), qs...)
			select {
			case r := <-got:
				if r.err == nil || outcomeOf(r.err) != "" {
					t.Errorf("got %v, %v", r.answers, r.err)
				}
			case a := <-asks:
				as := make([]host.Answer, len(qs))
				for i := range as {
					as[i] = host.Answer{Text: string(rune('a' + i))}
				}
				_ = a.Answer(context.Background(), as)
				t.Errorf("was shown; the asker got %v for %+v", wait(t, got).answers, as)
			case <-time.After(patience):
				t.Error("neither shown nor refused")
			}
		})
	}
}

// Ending asks is not answering them, whatever the caller says.
func TestEndingIsNeverAnAnswer(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	for _, bad := range []host.Outcome{host.Answered, ""} {
		got := d.ask(context.Background(), database)
		wait(t, asks)
		d.board.End(nil, host.Unanswered{Outcome: bad})
		if r := wait(t, got); outcomeOf(r.err) != host.Cancelled {
			t.Errorf("ended as %q, the asker got %v, %v", bad, r.answers, r.err)
		}
	}
	for _, name := range d.rec.Names() {
		if name == "operator.question.answered" {
			t.Error("the trace has an answer")
		}
	}
}

// Activity keeps a whole minute, however often it comes.
func TestActivityKeepsAWholeMinute(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	got := d.ask(context.Background(), database)
	a := wait(t, asks)
	d.clock.Advance(4*time.Minute + 500*time.Millisecond)
	a.Touch()
	if left := a.Info().Deadline.Sub(d.clock.Now()); left < time.Minute {
		t.Errorf("%s left after activity", left)
	}
	_ = a.Decline(context.Background(), "", nil)
	wait(t, got)
}

// An ask that is shown can be answered by picking a row: an ask whose texts alone are over the limit of an answer
// is refused when it comes, because then the agent can shorten it and the operator cannot.
func TestAnAskThatIsShownCanBeAnswered(t *testing.T) {
	lim := askbridge.DefaultLimits()
	for name, c := range map[string]struct {
		questions int
		sign      string
	}{
		"as long as can be":              {lim.Questions, "?"},
		"four times as long when shown":  {4, "\u202e"},
		"hardly longer than it is shown": {4, "\x1b"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			defer d.board.Declare(nil)()
			asks, _ := d.surface("terminal")
			var qs []host.OperatorQuestion
			var as []host.Answer
			for i := range c.questions {
				text := string(rune('a'+i)) + strings.Repeat(c.sign, lim.Question/len(c.sign)-1)
				qs = append(qs, host.OperatorQuestion{Question: text, Options: []host.OperatorOption{{Label: "Yes"}}})
				as = append(as, host.Answer{Picked: []int{0}})
			}
			got := d.ask(context.Background(), qs...)
			select {
			case <-got:
			case a := <-asks:
				if err := a.Answer(context.Background(), as); err != nil {
					t.Errorf("picking the first row of each got: %v", err)
					_ = a.Decline(context.Background(), "", nil)
				}
				wait(t, got)
			case <-time.After(patience):
				t.Error("neither shown nor refused")
			}
		})
	}
}

// However much the operator typed before declining, the agent is told of the decline.
func TestBridgeLongDecline(t *testing.T) {
	long := strings.Repeat("words ", 200_000)
	for name, decline := range map[string]func(a host.Ask) error{
		"reason":  func(a host.Ask) error { return a.Decline(context.Background(), long, nil) },
		"partial": func(a host.Ask) error { return a.Decline(context.Background(), "later", []host.Answer{{Text: long}}) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t, host.BridgeOptions{})
			got := b.call(context.Background(), "q1", questions(nastyQuestion))
			a := wait(t, b.asks)
			if err := decline(a); err != nil {
				var fields *host.FieldErrors
				if !errors.As(err, &fields) {
					t.Error(err)
				}
				return // refused in the field, where it can be shortened
			}
			if f := wait(t, got); f.err != nil || f.Outcome != "declined" || len(f.Error) > host.MaxAnswerBytes+4096 {
				t.Errorf("the agent got %d bytes of error, outcome %q, %v", len(f.Error), f.Outcome, f.err)
			}
		})
	}
}
