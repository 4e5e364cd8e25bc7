package teatest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
)

// rival is an agent of a test that asks when it is told to, and can die while it waits.
type rival struct {
	t *testing.T
	asker
	cue, dead chan struct{}
	opened    chan host.OpenedAsk
	end       chan ended
	ask       host.OpenedAsk // once the test has waited for it
}

// ended is what the agent got.
type ended struct {
	answers map[string]any
	err     error
}

func newRival(t *testing.T, a asker) *rival {
	return &rival{t: t, asker: a, cue: make(chan struct{}), dead: make(chan struct{}), opened: make(chan host.OpenedAsk, 1), end: make(chan ended, 1)}
}

// rivalsIn is a turn whose agents are these.
func rivalsIn(rivals ...*rival) play {
	return func(ctx context.Context, _ func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say("I will look around first.")
		board, _ := host.OperatorPrompterFrom(ctx)
		done := make(chan struct{})
		for _, r := range rivals {
			go func() { defer func() { done <- struct{}{} }(); r.run(ctx, board) }()
		}
		for range rivals {
			<-done
		}
		return context.Cause(ctx)
	}
}

func (r *rival) run(ctx context.Context, board host.OperatorPrompter) {
	select {
	case <-r.cue:
	case <-ctx.Done():
		return
	}
	session := sessionID(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-r.dead:
			cancel(&host.Unanswered{Outcome: host.AskerGone, Reason: "the agent died"})
		case <-over:
		}
	}()
	answers, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{Asker: r.who, Opened: func(o host.OpenedAsk) { r.opened <- o }}), session, r.qs)
	close(over)
	<-watched
	cancel(nil)
	r.end <- ended{answers, err}
}

// asks lets the agent ask, and waits until its ask is open.
func (r *rival) asks() {
	r.t.Helper()
	close(r.cue)
	select {
	case r.ask = <-r.opened:
	case <-time.After(10 * time.Second):
		r.t.Fatalf("%s could not ask", r.who.Agent)
	}
}

// dies ends the agent while it waits.
func (r *rival) dies() { close(r.dead) }

// ending waits for what the agent got.
func (r *rival) ending() ended {
	r.t.Helper()
	select {
	case e := <-r.end:
		return e
	case <-time.After(20 * time.Second):
		r.t.Fatalf("%s never got an end of its ask", r.who.Agent)
		return ended{}
	}
}

// got waits for the answers, by question and exactly as the agent reads them.
func (r *rival) got(want ...any) {
	r.t.Helper()
	e := r.ending()
	if e.err != nil {
		r.t.Fatalf("%s got no answer: %v", r.who.Agent, e.err)
	}
	for i, w := range want {
		have, ok := e.answers[r.qs[i].Question]
		if w == nil && !ok {
			continue
		}
		if fmt.Sprintf("%#v", have) != fmt.Sprintf("%#v", w) {
			r.t.Errorf("%s got %#v for question %d, want %#v", r.who.Agent, have, i+1, w)
		}
	}
}

// sent is the settled answer to a question, by index, as the switchboard has it.
func (r *rival) sent(question int) host.Answer {
	r.t.Helper()
	as, ok := r.ask.Result()
	if !ok || question >= len(as) {
		r.t.Fatalf("%s has no answer", r.who.Agent)
	}
	return as[question]
}

// unanswered waits for an end that is no answer.
func (r *rival) unanswered(outcome host.Outcome) *host.Unanswered {
	r.t.Helper()
	e := r.ending()
	var u *host.Unanswered
	if !errors.As(e.err, &u) || u.Outcome != outcome || len(e.answers) > 0 {
		r.t.Fatalf("%s got %v and %v, want %s and nothing", r.who.Agent, e.answers, e.err, outcome)
	}
	return u
}

// ends waits for an end that is no answer, whatever its words.
func (r *rival) ends(outcome host.Outcome) { r.t.Helper(); _ = r.unanswered(outcome) }

// waits fails when the ask has an end.
func (r *rival) waits() {
	r.t.Helper()
	select {
	case e := <-r.end:
		r.t.Fatalf("%s got %v, %v", r.who.Agent, e.answers, e.err)
	default:
	}
}

// atSizes runs a test at the two sizes of the sketches.
func atSizes(t *testing.T, test func(t *testing.T, w, h int)) {
	for _, size := range [][2]int{{80, 24}, {40, 12}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) { test(t, size[0], size[1]) })
	}
}

// asked opens a screen on which one agent has asked, past the guard.
func asked(t *testing.T, w, h int, qs ...host.OperatorQuestion) (*screen, *rival) {
	t.Helper()
	s, rs := askedBy(t, w, h, asker{who: builder, qs: qs})
	return s, rs[0]
}

// askedBy opens a screen on which agents have asked, one after the other; the first has the screen, past the guard.
func askedBy(t *testing.T, w, h int, askers ...asker) (*screen, []*rival) {
	t.Helper()
	s, rs := cast(t, w, h, askers...)
	s.prompt()
	for i, r := range rs {
		r.asks()
		s.seeOpen(i + 1)
	}
	s.rest()
	return s, rs
}

// cast opens a screen with agents that have not asked yet. The prompt is not sent.
func cast(t *testing.T, w, h int, askers ...asker) (*screen, []*rival) {
	t.Helper()
	var rs []*rival
	for _, a := range askers {
		rs = append(rs, newRival(t, a))
	}
	return open(t, w, h, rivalsIn(rs...)), rs
}

// seeOpen waits until the screen counts n open asks, wherever the keyboard is.
func (s *screen) seeOpen(n int) {
	s.t.Helper()
	says := regexp.MustCompile(fmt.Sprintf(`(?m)(^ ask \d+ of %d · |^ \d+/%d |\b%d wait · |^ inbox: %d open)`, n, n, n, n))
	s.until(fmt.Sprintf("counts %d asks", n), func(view string) bool {
		return says.MatchString(view) || n == 1 && strings.Contains(view, "^O opens it")
	})
}

// paste sends a text as the terminal's bracketed paste does.
func (s *screen) paste(text string) {
	s.t.Helper()
	s.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true})
	s.settle()
}

// resize gives the terminal another size. The guard that a resize arms is waited out.
func (s *screen) resize(w, h int) {
	s.t.Helper()
	s.tm.Send(tea.WindowSizeMsg{Width: w, Height: h})
	s.settle()
	s.rest()
}

// apart presses keys with a rest before each, as somebody does who looks first.
func (s *screen) apart(names ...string) {
	s.t.Helper()
	for _, n := range names {
		s.rest()
		s.press(n)
	}
}

// entered presses Enter until it is taken: the program may hear of the last answer's end only now, and drops an Enter
// that follows closely on that.
func (s *screen) entered() {
	s.t.Helper()
	s.apart("Enter")
	for tries := 0; strings.Contains(s.view(), "too quick"); tries++ {
		if tries == 5 {
			s.t.Fatalf("no Enter is taken:\n%s", s.view())
		}
		s.apart("Enter")
	}
}

// never fails when the screen shows the text now.
func (s *screen) never(text string) {
	s.t.Helper()
	if view := s.view(); strings.Contains(view, text) {
		s.t.Fatalf("the screen shows %q:\n%s", text, view)
	}
}

// litRow is the number of the option that a key would act on, as the screen marks it.
func (s *screen) litRow() string {
	s.t.Helper()
	m := regexp.MustCompile(`(?m)^ > +(\d+) [(\[]`).FindStringSubmatch(s.view())
	if m == nil {
		s.t.Fatalf("no row is lit:\n%s", s.view())
	}
	return m[1]
}

// labels makes options of labels alone.
func labels(texts ...string) []host.OperatorOption {
	out := make([]host.OperatorOption, len(texts))
	for i, l := range texts {
		out[i].Label = l
	}
	return out
}

var (
	when   = host.OperatorQuestion{Question: "When should it run?", Header: "When", Options: labels("at noon", "at night")}
	goals  = host.OperatorQuestion{Question: "Which goals?", Header: "Goals", MultiSelect: true, Options: labels("Health, longevity", "Wealth, and ease", "none, really")}
	freely = host.OperatorQuestion{Question: "What should it be called?", Header: "Name"}
)

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func containsWord(text, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(text)
}

// containsAfter reports whether a text comes after the first place of another.
func containsAfter(text, first, then string) bool {
	_, rest, found := strings.Cut(text, first)
	return found && strings.Contains(rest, then)
}
