package host_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/hosttest"
)

// maxOpen is the limit of open asks in these tests, low enough to be met.
const maxOpen = 5

// machine drives a switchboard and the model of it side by side. Its exported methods are the actions; they are
// in machine_actions_test.go, machine_ends_test.go and machine_race_test.go.
type machine struct {
	model
	clock    *hosttest.Clock
	trace    *ledger
	board    *host.Switchboard
	troubles chan error
	asks     []*testAsk // all of them, in the order of model.asks
	seats    []*seat    // the attached ones
	visits   []*visit   // all there ever were
	releases map[int]func()
	serial   int // for names and ids
	unseen   int // asks that were over before any surface could see them
}

// testAsk is one ask as the test holds it.
type testAsk struct {
	*modelAsk
	asking host.OpenedAsk
	gone   context.CancelCauseFunc
	result <-chan result
	views  []view // every handle that was given out for it
	nth    int    // how many asks before it had the same id
}

// view is a handle, and the surface it speaks for.
type view struct {
	host.Ask
	surface string
}

// seat is one attached surface. It does whatever the test says, by handle or by returning.
type seat struct {
	name, session string
	came          chan *visit
	detach        func()
	showing       map[*testAsk]*visit
}

// visit is one call of a surface for one ask.
type visit struct {
	ask       host.Ask
	done      <-chan struct{} // of its context
	cause     func() error
	questions []host.OperatorQuestion
	session   string
	recorded  bool // whether the trace had the ask when the surface was shown it
	reply     chan result
}

func newMachine(refuse error) *machine {
	m := &machine{
		model: model{presence: map[int]string{}}, clock: hosttest.NewClock(), trace: newLedger(),
		troubles: make(chan error, 1<<12), releases: map[int]func(){},
	}
	m.now, m.trace.refuse = m.clock.Now(), refuse
	m.board = host.NewSwitchboard(host.SwitchboardOptions{
		Clock: m.clock, Recorder: m.trace, MaxOpen: maxOpen, Trouble: func(err error) { m.troubles <- err },
	})
	return m
}

// Any interleaving of everything that can happen to asks leaves the switchboard where the model is; whether the
// trace can be written makes no difference to that.
func TestSwitchboardIsTheModel(t *testing.T) {
	for name, refuse := range map[string]error{"trace kept": nil, "trace cannot be written": errDiskFull} {
		t.Run(name, func(t *testing.T) {
			ends := map[host.Outcome]int{}
			rapid.Check(t, func(t *rapid.T) {
				m := newMachine(refuse)
				defer m.abandon()
				m.declare("")
				m.seated(t, m.newSeat(""))
				actions := rapid.StateMachineActions(m)
				actions["Ask once more"], actions["Touch once more"] = m.Ask, m.Touch // as likely as two others
				t.Repeat(actions)
				m.finish(t)
				for _, a := range m.asks {
					ends[a.end.outcome]++
				}
			})
			for _, o := range []host.Outcome{host.Answered, host.Declined, host.Cancelled, host.TimedOut, host.NoOperator, host.AskerGone, host.HostClosing} {
				if ends[o] == 0 && !t.Failed() {
					t.Errorf("no ask ended as %s, the actions cover too little: %v", o, ends)
				}
			}
		})
	}
}

// abandon lets every goroutine go, whatever state a failure left behind.
func (m *machine) abandon() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = m.board.Close(ctx) // finish has looked at its error where there was no failure before
}

// finish closes the switchboard, with an ask arriving at the same moment, and looks for what is left.
func (m *machine) finish(t *rapid.T) {
	m.declare("")
	racing := make(chan result, 1)
	go func() {
		answers, err := m.board.Ask(host.WithAskRequest(context.Background(), host.AskRequest{ID: "racing"}), "s1", []host.OperatorQuestion{database})
		racing <- result{answers, err}
	}()
	closed(t, m.board)
	m.closed = true
	for _, a := range m.asks {
		if a.end == nil {
			m.ended(t, a, &modelEnd{outcome: host.HostClosing, at: m.now})
		}
	}
	var u *host.Unanswered
	r := within(t, "the ask that raced Close", racing)
	if full := errors.Is(r.err, host.ErrTooManyAsks); !full && (!errors.As(r.err, &u) || u.Outcome != host.HostClosing) {
		t.Errorf("an ask that arrived while closing got %v, %v", r.answers, r.err)
	}
	closed(t, m.board)
	for _, v := range m.visits {
		within(t, "the end of a surface's context", v.done)
	}
	if n := m.clock.Timers(); n != 0 || len(m.board.Pending(nil)) != 0 {
		t.Errorf("left: %d timers, %d asks", n, len(m.board.Pending(nil)))
	}
	if opened, ended, problems := m.trace.sums(); opened != ended || len(problems) > 0 {
		t.Errorf("the trace has %d asks and %d ends; %v", opened, ended, problems)
	}
	if m.trace.refuse != nil && len(m.troubles) != m.trace.events() {
		t.Errorf("%d events could not be recorded, %d troubles were told", m.trace.events(), len(m.troubles))
	}
}

// Check is what holds after every action.
func (m *machine) Check(t *rapid.T) {
	for _, session := range []string{"", "s1", "s2"} {
		var got, want []string
		for _, a := range m.board.Pending(filterOf(session)) {
			got = append(got, a.Info().ID)
		}
		for _, a := range m.open(session) {
			want = append(want, a.id)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("pending of %q: %v, want %v", session, got, want)
		}
	}
	for _, session := range []string{"s1", "s2"} {
		if m.board.Present(session) != m.present(session) {
			t.Fatalf("present(%s) is %v", session, m.board.Present(session))
		}
	}
	if n := len(m.open("")); m.clock.Timers() != n {
		t.Fatalf("%d timers for %d open asks", m.clock.Timers(), n)
	}
	opened, ended, problems := m.trace.sums()
	if all := len(m.asks) + m.unseen; opened != all || ended != all-len(m.open("")) || len(problems) > 0 {
		t.Fatalf("the trace has %d asks and %d ends, want %d and %d; %v", opened, ended, all, all-len(m.open("")), problems)
	}
	for _, a := range m.asks {
		if a.end == nil {
			m.checkOpen(t, a)
		}
	}
	for _, s := range m.seats {
		if len(s.came) > 0 {
			t.Fatalf("%s was shown an ask once too often", s.name)
		}
	}
}

func (m *machine) checkOpen(t *rapid.T, a *testAsk) {
	info := a.asking.Info()
	if !info.Deadline.Equal(a.deadline) || !info.Opened.Equal(a.opened) || info.Wait != a.wait {
		t.Fatalf("%s: deadline %s, opened %s, wait %s; want %s, %s, %s", a.id, info.Deadline, info.Opened, info.Wait, a.deadline, a.opened, a.wait)
	}
	if info.ID != a.id || info.SessionID != a.session || info.Kind != host.KindQuestion || info.ToolUseID != a.toolUse || info.Reopens != a.reopens {
		t.Fatalf("%s: info %+v", a.id, info)
	}
	if back := readBack(t, info.Questions); !reflect.DeepEqual(back, a.questions) {
		t.Fatalf("%s: shown %+v, which reads %+v; asked were %+v", a.id, info.Questions, back, a.questions)
	}
	if agent := unsafe(t, info.Asker.Agent); agent != a.asker.Agent {
		t.Fatalf("%s: the asker is %q, want %q", a.id, agent, a.asker.Agent)
	}
	for i := range a.drafts {
		for _, v := range a.views {
			if got := v.Draft(i); got.Taken != a.drafts[i].Taken || got.Rev != a.drafts[i].Rev || !same([]host.Answer{got.Answer}, []host.Answer{a.drafts[i].Answer}) {
				t.Fatalf("%s: draft %d on %q is %+v, want %+v", a.id, i, v.surface, got, a.drafts[i])
			}
		}
	}
	if len(a.result) > 0 {
		t.Fatalf("%s is open and its asker got %+v", a.id, <-a.result)
	}
	if as, ok := a.asking.Result(); ok {
		t.Fatalf("%s is open and has the result %+v", a.id, as)
	}
	for _, s := range m.seats {
		if v := s.showing[a]; v != nil && v.cause() != nil {
			t.Fatalf("%s is open and %s was let go: %v", a.id, s.name, v.cause())
		}
	}
}

// ended takes an ask as settled: the asker, the trace, the surfaces and later answers all have to agree.
func (m *machine) ended(t *rapid.T, a *testAsk, end *modelEnd) {
	a.end = end
	r := within(t, "the result of "+a.id, a.result)
	if end.outcome == host.Answered {
		if want := wire(a.questions, end.answers); r.err != nil || !reflect.DeepEqual(r.answers, want) {
			t.Fatalf("%s: the asker got %q, %v; want %q", a.id, r.answers, r.err, want)
		}
	} else {
		var u *host.Unanswered
		if r.answers != nil || !errors.As(r.err, &u) || u.Outcome != end.outcome || !same(u.Partial, end.answers) {
			t.Fatalf("%s: the asker got %q, %#v; want %s with %+v", a.id, r.answers, r.err, end.outcome, end.answers)
		}
		if end.reason != "" && u.Reason != end.reason {
			t.Fatalf("%s: the reason is %q, want %q", a.id, u.Reason, end.reason)
		}
	}
	as, ok := a.asking.Result()
	if ok != (end.outcome == host.Answered) || ok && !same(as, end.answers) {
		t.Fatalf("%s: the result is %+v, %v", a.id, as, ok)
	}
	for _, s := range m.seats {
		if v := s.showing[a]; v != nil {
			within(t, s.name+" being let go of "+a.id, v.done)
			m.checkResolution(t, a, v.cause())
			delete(s.showing, a)
		}
	}
	m.checkTrace(t, a)
	m.checkLate(t, a)
}

func (m *machine) checkTrace(t *rapid.T, a *testAsk) {
	of := m.trace.nth(a.id, a.nth)
	var got struct {
		answers          []host.TracedAnswer
		surface, toolUse string
		took             int64
		outcome          host.Outcome
	}
	switch e := of.ends[0].(type) {
	case host.QuestionAnswered:
		got.answers, got.surface, got.toolUse, got.took, got.outcome = e.Answers, e.Surface, e.ToolUseID, e.DurationMS, e.Outcome
	case host.QuestionUnanswered:
		got.answers, got.surface, got.toolUse, got.took, got.outcome = e.Partial, e.Surface, e.ToolUseID, e.DurationMS, e.Outcome
	}
	if got.outcome != a.end.outcome || got.surface != a.end.surface || got.toolUse != a.toolUse || of.asked.SessionID != a.session || of.asked.Reopens != a.reopens {
		t.Fatalf("%s: the trace has %+v of %+v, want %+v", a.id, got, of.asked, a.end)
	}
	if took := a.end.at.Sub(a.opened).Milliseconds(); !a.end.at.IsZero() && got.took != took {
		t.Fatalf("%s: took %d ms, want %d", a.id, got.took, took)
	}
	if len(got.answers) != len(a.end.answers) {
		t.Fatalf("%s: the trace has %d answers, want %d", a.id, len(got.answers), len(a.end.answers))
	}
	for i, x := range a.end.answers {
		var labels []string
		for _, row := range x.Picked {
			labels = append(labels, a.questions[i].Options[row].Label)
		}
		var traced []string
		for _, l := range got.answers[i].Labels {
			traced = append(traced, unsafe(t, l))
		}
		if y := got.answers[i]; !slices.Equal(y.Indexes, x.Picked) || !slices.Equal(traced, labels) || y.Text != x.Text || y.Note != x.Note || y.Skipped != x.Skipped {
			t.Fatalf("%s: the trace has %+v for %+v", a.id, y, x)
		}
	}
}

// checkLate tries everything on an ask that is over: nothing of it may succeed, and each is told how it ended.
func (m *machine) checkLate(t *rapid.T, a *testAsk) {
	ctx, enough := context.Background(), make([]host.Answer, len(a.questions))
	for i := range enough {
		enough[i] = host.Answer{Text: "late"}
	}
	before := m.trace.nth(a.id, a.nth).late
	for _, v := range a.views {
		for what, err := range map[string]error{
			"answer": v.Answer(ctx, enough), "bad answer": v.Answer(ctx, nil), "decline": v.Decline(ctx, "late", enough),
			"extension": v.Extend(ctx, time.Hour), "draft": v.SetDraft(ctx, 0, host.Draft{Answer: host.Answer{Text: "late"}, Rev: v.Draft(0).Rev}),
		} {
			if err == nil {
				t.Fatalf("%s: a late %s on %q was accepted", a.id, what, v.surface)
			}
			m.checkResolution(t, a, fmt.Errorf("late %s: %w", what, err))
		}
	}
	noted := m.trace.nth(a.id, a.nth).late - before
	if tooLate := a.end.outcome == host.TimedOut; noted != 3*len(a.views) && tooLate || noted != 0 && !tooLate {
		t.Fatalf("%s ended %s: %d answers and declines are in the trace as too late", a.id, a.end.outcome, noted)
	}
}

// checkResolution is whether an error says how the ask ended and who ended it.
func (m *machine) checkResolution(t *rapid.T, a *testAsk, err error) {
	var r *host.Resolution
	if !errors.As(err, &r) || r.Outcome != a.end.outcome || r.Surface != a.end.surface {
		t.Fatalf("%s ended %s on %q and was told %q", a.id, a.end.outcome, a.end.surface, err)
	}
	late := a.end.outcome == host.TimedOut
	if errors.Is(err, host.ErrTooLate) != late || errors.Is(err, host.ErrResolved) == late {
		t.Fatalf("%s ended %s: %q is no such error", a.id, a.end.outcome, err)
	}
}

func readBack(t failer, qs []host.OperatorQuestion) []host.OperatorQuestion {
	var out []host.OperatorQuestion
	for _, q := range qs {
		q.Question, q.Header = unsafe(t, q.Question), unsafe(t, q.Header)
		options := q.Options
		q.Options = nil
		for _, o := range options {
			q.Options = append(q.Options, host.OperatorOption{Label: unsafe(t, o.Label), Description: unsafe(t, o.Description), Preview: unsafe(t, o.Preview)})
		}
		out = append(out, q)
	}
	return out
}

func unsafe(t failer, s string) string {
	raw, err := askbridge.Unsafe(s)
	if err != nil {
		t.Fatalf("%q cannot be read back: %v", s, err)
	}
	return raw
}
