package host_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// asking is a call of the switchboard's Ask that was started and not looked at yet.
type asking struct {
	session   string
	questions []host.OperatorQuestion
	request   host.AskRequest
	opened    chan host.OpenedAsk
	result    chan result
	gone      context.CancelCauseFunc
}

// begin calls Ask in a goroutine of its own.
func (m *machine) begin(s asking) asking {
	s.opened, s.result = make(chan host.OpenedAsk, 1), make(chan result, 1)
	var ctx context.Context
	ctx, s.gone = context.WithCancelCause(context.Background())
	s.request.Opened = func(a host.OpenedAsk) { s.opened <- a }
	go func() {
		answers, err := m.board.Ask(host.WithAskRequest(ctx, s.request), s.session, s.questions)
		s.result <- result{answers, err}
	}()
	return s
}

func drawAsking(t *rapid.T) asking {
	m := rapid.IntRange(0, 1<<20).Draw(t, "tool use")
	return asking{
		session: rapid.SampledFrom([]string{"s1", "s2"}).Draw(t, "session"), questions: drawQuestions(t),
		request: host.AskRequest{
			ToolUseID: fmt.Sprintf("toolu_%d", m), Asker: host.Asker{Agent: rapid.SampledFrom(nastyTexts).Draw(t, "agent")},
			Wait:    rapid.SampledFrom([]time.Duration{0, 10 * time.Second, 90 * time.Second, 20 * time.Minute}).Draw(t, "wait"),
			Reopens: rapid.SampledFrom([]string{"", "earlier"}).Draw(t, "reopens"),
		},
	}
}

// Ask puts an ask, which is refused where the rules refuse it.
func (m *machine) Ask(t *rapid.T) {
	s := drawAsking(t)
	s.request.ID = rapid.SampledFrom([]string{"", "", "q1", "q2"}).Draw(t, "id")
	if rapid.IntRange(0, 15).Draw(t, "no questions") == 0 {
		s.questions = nil
	}
	refusals := m.refusals(s)
	s = m.begin(s)
	if len(refusals) == 0 {
		m.accepted(t, s)
		return
	}
	r := within(t, "the refusal", s.result)
	var u *host.Unanswered
	errors.As(r.err, &u)
	for _, refusal := range refusals {
		if errors.Is(r.err, refusal) || refusal == nil && r.err != nil {
			return
		}
		var wanted *host.Unanswered
		if errors.As(refusal, &wanted) && u != nil && u.Outcome == wanted.Outcome {
			return
		}
	}
	t.Fatalf("an ask with every reason of %v to be refused got %v, %v", refusals, r.answers, r.err)
}

// refusals are the reasons for which an ask must not be opened; nil stands for an error of any kind.
func (m *machine) refusals(s asking) (out []error) {
	open := m.open("")
	if m.closed {
		out = append(out, &host.Unanswered{Outcome: host.HostClosing})
	}
	if !m.present(s.session) {
		out = append(out, &host.Unanswered{Outcome: host.NoOperator})
	}
	if slices.ContainsFunc(open, func(a *modelAsk) bool { return a.id == s.request.ID }) {
		out = append(out, host.ErrDuplicateID)
	}
	if len(open) >= maxOpen {
		out = append(out, host.ErrTooManyAsks)
	}
	if len(s.questions) == 0 {
		out = append(out, nil)
	}
	return out
}

// accepted takes an ask into the model and sees it arrive on every surface of its session.
func (m *machine) accepted(t *rapid.T, s asking) {
	a := &testAsk{asking: within(t, "the opening of an ask", s.opened), gone: s.gone, result: s.result}
	wait := s.request.Wait
	if wait == 0 {
		wait = 5 * time.Minute
	}
	id := a.asking.Info().ID
	if s.request.ID != "" && id != s.request.ID || id == "" {
		t.Fatalf("asked as %q, opened as %q", s.request.ID, id)
	}
	a.modelAsk = &modelAsk{
		id: id, session: s.session, questions: s.questions, asker: s.request.Asker, toolUse: s.request.ToolUseID, reopens: s.request.Reopens,
		opened: m.now, deadline: m.now.Add(wait), wait: wait, drafts: make([]host.Draft, len(s.questions)),
	}
	for _, other := range m.asks {
		if other.id == id {
			a.nth++
		}
	}
	m.asks, m.model.asks = append(m.asks, a), append(m.model.asks, a.modelAsk)
	a.views = append(a.views, view{a.asking, ""})
	for _, p := range m.board.Pending(nil) {
		if p.Info().ID == id {
			a.views = append(a.views, view{p, ""})
		}
	}
	for _, st := range m.seats {
		if admits(st.session, a.session) {
			m.shown(t, st, []*testAsk{a})
		}
	}
	eventually(t, "a timer for the ask", func() bool { return m.clock.Timers() == len(m.open("")) })
}

// shown sees a surface being called once for each of the asks, in whatever order.
func (m *machine) shown(t *rapid.T, s *seat, asks []*testAsk) {
	for range asks {
		v := within(t, s.name+" being shown an ask", s.came)
		at := slices.IndexFunc(asks, func(a *testAsk) bool { return a.id == v.ask.Info().ID && a.end == nil })
		if at < 0 {
			t.Fatalf("%s was shown %s", s.name, v.ask.Info().ID)
		}
		a := asks[at]
		if s.showing[a] != nil || v.session != a.session || !v.recorded || !reflect.DeepEqual(readBack(t, v.questions), a.questions) {
			t.Fatalf("%s was shown %s of %s (recorded: %v, before: %v) with %+v", s.name, a.id, v.session, v.recorded, s.showing[a] != nil, v.questions)
		}
		s.showing[a] = v
		a.views = append(a.views, view{v.ask, s.name})
		m.visits = append(m.visits, v)
	}
}

// needRoom skips where an ask of one of the sessions would be refused.
func (m *machine) needRoom(t *rapid.T) {
	if m.closed || !m.present("s1") || !m.present("s2") || len(m.open("")) >= maxOpen {
		t.Skip("an ask would be refused")
	}
}

// AskTwins puts two asks with one id at the same moment: one of them is opened.
func (m *machine) AskTwins(t *rapid.T) {
	m.needRoom(t)
	m.serial++
	one, two := drawAsking(t), drawAsking(t)
	one.request.ID = fmt.Sprintf("twin %d", m.serial)
	two.request.ID = one.request.ID
	one, two = m.begin(one), m.begin(two)
	first := within(t, "the first of two twins", either(one.opened, two.opened))
	won, lost := one, two
	if first.from == 1 {
		won, lost = two, one
	}
	won.opened <- first.value
	m.accepted(t, won)
	if r := within(t, "the second of two twins", lost.result); !errors.Is(r.err, host.ErrDuplicateID) {
		t.Fatalf("a twin got %v, %v", r.answers, r.err)
	}
}

type received[T any] struct {
	value T
	from  int
}

// either receives from whichever of two channels has something first.
func either[T any](zero, one <-chan T) <-chan received[T] {
	out := make(chan received[T], 1)
	go func() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case v := <-zero:
			out <- received[T]{v, 0}
		case v := <-one:
			out <- received[T]{v, 1}
		case <-timer.C:
		}
	}()
	return out
}

// AskWhileAttaching lets an ask and a surface arrive at the same moment: the surface is shown it, once.
func (m *machine) AskWhileAttaching(t *rapid.T) {
	if m.needRoom(t); len(m.seats) > 2 {
		t.Skip("there are three surfaces already")
	}
	s := m.begin(drawAsking(t))
	st := m.newSeat(s.session)
	m.accepted(t, s)
	m.seated(t, st)
}

// AskTooLate puts an ask whose caller is gone already.
func (m *machine) AskTooLate(t *rapid.T) {
	if m.needRoom(t); len(m.seats) > 0 {
		t.Skip("a surface would see it come and go")
	}
	s := drawAsking(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := make(chan result, 1)
	go func() {
		answers, err := m.board.Ask(ctx, s.session, s.questions)
		r <- result{answers, err}
	}()
	if r := within(t, "the end of an ask that nobody waits for", r); outcomeOf(r.err) != host.Cancelled {
		t.Fatalf("got %v, %v", r.answers, r.err)
	}
	m.unseen++
}

func (m *machine) newSeat(session string) *seat {
	m.serial++
	s := &seat{name: fmt.Sprintf("surface %d", m.serial), session: session, came: make(chan *visit, 64), showing: map[*testAsk]*visit{}}
	s.detach = m.board.Attach(s.name, host.PrompterFunc(func(ctx context.Context, session string, qs []host.OperatorQuestion) (map[string]any, error) {
		v := &visit{done: ctx.Done(), cause: func() error { return context.Cause(ctx) }, questions: qs, session: session, reply: make(chan result, 1)}
		v.ask, _ = host.AskFrom(ctx)
		of, ok := m.trace.last(v.ask.Info().ID)
		v.recorded = ok && len(of.ends) == 0
		s.came <- v
		select {
		case r := <-v.reply:
			return r.answers, r.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}), filterOf(session))
	return s
}

// seated takes a surface as attached and sees it being shown what is open.
func (m *machine) seated(t *rapid.T, s *seat) {
	m.seats = append(m.seats, s)
	var asks []*testAsk
	for _, a := range m.openAsks() {
		if admits(s.session, a.session) {
			asks = append(asks, a)
		}
	}
	m.shown(t, s, asks)
}

func (m *machine) openAsks() (out []*testAsk) {
	for _, a := range m.asks {
		if a.end == nil {
			out = append(out, a)
		}
	}
	return out
}

func (m *machine) Attach(t *rapid.T) {
	if len(m.seats) > 2 {
		t.Skip("there are three surfaces already")
	}
	m.seated(t, m.newSeat(rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "sessions")))
}

// Detach takes a surface away: it is let go of everything, and nothing else changes.
func (m *machine) Detach(t *rapid.T) {
	if len(m.seats) == 0 {
		t.Skip("no surface is attached")
	}
	i := rapid.IntRange(0, len(m.seats)-1).Draw(t, "surface")
	s := m.seats[i]
	m.seats = slices.Delete(m.seats, i, i+1)
	s.detach()
	s.detach()
	for a, v := range s.showing {
		within(t, s.name+" being let go of "+a.id, v.done)
		var r *host.Resolution
		if errors.As(v.cause(), &r) {
			t.Fatalf("%s was detached and told that %s is settled: %v", s.name, a.id, r)
		}
	}
}

func (m *machine) Declare(t *rapid.T) {
	if len(m.presence) > 2 {
		t.Skip("three are present already")
	}
	m.declare(rapid.SampledFrom([]string{"", "s1", "s2"}).Draw(t, "sessions"))
}

func (m *machine) declare(session string) {
	m.serial++
	m.presence[m.serial] = session
	m.releases[m.serial] = m.board.Declare(filterOf(session))
}

// Release takes a presence away, which touches no ask.
func (m *machine) Release(t *rapid.T) {
	if len(m.presence) == 0 {
		t.Skip("nobody is present")
	}
	var keys []int
	for key := range m.presence {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	key := rapid.SampledFrom(keys).Draw(t, "presence")
	m.releases[key]()
	m.releases[key]()
	delete(m.presence, key)
}

// pick draws an open ask and one of the handles on it.
func (m *machine) pick(t *rapid.T) (*testAsk, view) {
	open := m.openAsks()
	if len(open) == 0 {
		t.Skip("no ask is open")
	}
	a := rapid.SampledFrom(open).Draw(t, "ask")
	return a, rapid.SampledFrom(a.views).Draw(t, "handle")
}

// Draft changes a draft, which is refused when it was made from an old one.
func (m *machine) Draft(t *rapid.T) {
	a, v := m.pick(t)
	at := rapid.IntRange(-1, len(a.questions)).Draw(t, "question")
	d := host.Draft{Answer: host.Answer{Text: rapid.SampledFrom(nastyTexts).Draw(t, "text"), Picked: []int{rapid.IntRange(0, 9).Draw(t, "row")}}, Taken: rapid.Bool().Draw(t, "taken")}
	changed := v.Changed()
	if at < 0 || at >= len(a.questions) {
		if err := v.SetDraft(context.Background(), at, d); err == nil || v.Draft(at).Rev != 0 {
			t.Fatalf("a draft of question %d of %d was kept", at, len(a.questions))
		}
		return
	}
	d.Rev = a.drafts[at].Rev + rapid.SampledFrom([]int{0, 0, 0, -1, 1}).Draw(t, "staleness")
	fresh := d.Rev == a.drafts[at].Rev
	err := v.SetDraft(context.Background(), at, d)
	if fresh != (err == nil) || !fresh && !errors.Is(err, host.ErrStaleDraft) {
		t.Fatalf("a draft from revision %d on %d got %v", d.Rev, a.drafts[at].Rev, err)
	}
	if fresh {
		a.drafts[at] = host.Draft{Answer: d.Answer, Taken: d.Taken, Rev: d.Rev + 1}
		a.drafts[at].Picked = slices.Clone(d.Picked)
		d.Picked[0] = 99 // what callers do with their own slice afterwards is no change of the draft
		within(t, "word of the change", changed)
	}
}

func (m *machine) Extend(t *rapid.T) {
	a, v := m.pick(t)
	d := time.Duration(rapid.IntRange(-1, 7200).Draw(t, "seconds")) * time.Second
	changed := v.Changed()
	err := v.Extend(context.Background(), d)
	if (err == nil) != (d > 0) {
		t.Fatalf("extending by %s got %v", d, err)
	}
	if err == nil {
		a.deadline = a.deadline.Add(d)
		within(t, "word of the change", changed)
	}
}

// Touch is activity on one ask, which counts for every ask of its session and for no other.
func (m *machine) Touch(t *rapid.T) {
	a, v := m.pick(t)
	v.Touch()
	for _, other := range m.openAsks() {
		if other.session != a.session {
			continue
		}
		if problem := other.active(m.now, other.asking.Info().Deadline); problem != "" {
			t.Fatalf("%s after activity: %s", other.id, problem)
		}
	}
}

func (m *machine) Identify(t *rapid.T) {
	a, _ := m.pick(t)
	a.asker = host.Asker{Agent: rapid.SampledFrom(nastyTexts).Draw(t, "agent")}
	a.asking.Identify(a.asker)
}
