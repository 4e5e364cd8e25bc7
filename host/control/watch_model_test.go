package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// seen is what one watch was told of one ask.
type seen struct {
	ask   host.Ask
	shown int
	ended int
	how   *host.Resolution
}

// watcherModel is a watch with what it was told, and what it has to be told.
type watcherModel struct {
	watch *Watch
	err   error
	ready chan struct{} // closed when it is there

	mu   sync.Mutex // guards seen
	seen map[string]*seen

	before map[string]bool // ids that had ended before it was asked for
	must   map[string]bool // ids that it has to be told of
	behind bool            // it was made to miss something
}

func (w *watcherModel) show(ctx context.Context, a host.Ask, q Question) {
	w.mu.Lock()
	s := w.seen[q.ID]
	if s == nil {
		s = &seen{}
		w.seen[q.ID] = s
	}
	s.ask, s.shown = a, s.shown+1
	w.mu.Unlock()
	<-ctx.Done()
	var end *host.Resolution
	errors.As(context.Cause(ctx), &end)
	w.mu.Lock()
	defer w.mu.Unlock()
	if end != nil { // else it was let go of
		s.ended, s.how = s.ended+1, end
	}
}

// watchMachine opens, settles and drafts asks while watches come, go and fall behind.
type watchMachine struct {
	r        *rig
	clients  []*Client
	last     *int // the id that was given last, in all runs
	open     map[string]<-chan error
	drafts   map[string]int // how often each was drafted
	ends     map[string]host.Outcome
	watchers []*watcherModel
}

func (m *watchMachine) Open(t *rapid.T) {
	if len(m.open) > 20 {
		t.Skip("enough are open")
	}
	*m.last++
	id := fmt.Sprintf("m%d", *m.last)
	m.open[id] = m.r.ask(context.Background(), id, time.Hour, database)
	for _, w := range m.watchers {
		select {
		case <-w.ready:
			w.must[id] = true
		default: // it comes just now
		}
	}
}

func (m *watchMachine) pick(t *rapid.T) string {
	if len(m.open) == 0 {
		t.Skip("none is open")
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m.open))).Draw(t, "id")
}

func (m *watchMachine) Settle(t *rapid.T) {
	id := m.pick(t)
	a, ok := m.r.manager.Board().Find(id, "model")
	if !ok {
		t.Fatalf("%s is not open", id)
	}
	var err error
	switch how := rapid.SampledFrom([]host.Outcome{host.Answered, host.Declined, host.HostClosing}).Draw(t, "how"); how {
	case host.Answered:
		err, m.ends[id] = a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}), how
	case host.Declined:
		err, m.ends[id] = a.Decline(context.Background(), "no", nil), how
	default: // all of them
		m.r.manager.Board().End(nil, host.Unanswered{Outcome: how})
		for other := range m.open {
			m.ends[other] = how
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for other := range m.open {
		if _, ended := m.ends[other]; ended {
			if err := <-m.open[other]; (err == nil) != (m.ends[other] == host.Answered) {
				t.Fatalf("%s ended as %s, and who asked got %v", other, m.ends[other], err)
			}
			delete(m.open, other)
		}
	}
}

func (m *watchMachine) Draft(t *rapid.T) {
	id := m.pick(t)
	a, _ := m.r.manager.Board().Find(id, "model")
	m.drafts[id]++
	if err := a.SetDraft(context.Background(), 0, host.Draft{Answer: host.Answer{Text: fmt.Sprint(m.drafts[id])}, Rev: m.drafts[id] - 1}); err != nil {
		t.Fatal(err)
	}
}

// Subscribe starts a watch, and does not wait until it is there.
func (m *watchMachine) Subscribe(t *rapid.T) {
	if len(m.watchers) > 6 {
		t.Skip("enough watch")
	}
	w := &watcherModel{ready: make(chan struct{}), seen: map[string]*seen{}, before: map[string]bool{}, must: map[string]bool{}}
	for id := range m.ends {
		w.before[id] = true
	}
	m.watchers = append(m.watchers, w)
	c := m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")]
	start := make(chan struct{})
	go func() {
		close(start)
		w.watch, w.err = c.Watch(context.Background(), "", "model", w.show)
		close(w.ready)
	}()
	<-start
}

// Behind makes those that are there miss what comes, until they have subscribed anew.
func (m *watchMachine) Behind(*rapid.T) {
	for _, w := range m.watchers {
		w.behind = true
	}
	f := m.r.server.opt.Feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if w.behind.CompareAndSwap(false, true) {
			_ = w.send(questionEvent{Subscription: w.id, What: resync}, true)
		}
	}
}

func (m *watchMachine) Unsubscribe(t *rapid.T) {
	if len(m.watchers) == 0 {
		t.Skip("nobody watches")
	}
	i := rapid.IntRange(0, len(m.watchers)-1).Draw(t, "watch")
	w := m.watchers[i]
	m.watchers = slices.Delete(m.watchers, i, i+1)
	<-w.ready
	w.watch.Close()
	m.check(t, w, true)
}

// Check implements rapid.StateMachine. What is awaited is checked at the end.
func (m *watchMachine) Check(*rapid.T) {}

// check holds a watch to what it must not have been told; and, unless it is gone, to what it must have.
func (m *watchMachine) check(t *rapid.T, w *watcherModel, gone bool) {
	deadline := time.Now().Add(20 * time.Second)
	for {
		problem := m.problem(w, gone)
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(problem)
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // what is awaited is on its way
	}
}

func (m *watchMachine) problem(w *watcherModel, gone bool) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, s := range w.seen {
		end, over := m.ends[id]
		switch {
		case s.shown > 1:
			return fmt.Sprintf("%s was shown %d times", id, s.shown)
		case w.before[id]:
			return id + " was shown, and had ended before"
		case s.ended > 0 && !over:
			return id + " is open and was said to have ended"
		case s.ended > 1 || (s.ended > 0 && s.how.Outcome != end):
			return fmt.Sprintf("%s ended %d times as %v, and did as %s", id, s.ended, s.how, end)
		case gone:
		case over && s.ended == 0:
			return id + " has ended, and that was not told"
		case !over && s.ask.Draft(0).Rev != m.drafts[id]:
			return fmt.Sprintf("the draft of %s is %d, not %d", id, s.ask.Draft(0).Rev, m.drafts[id])
		}
	}
	if gone {
		return ""
	}
	for id := range m.open {
		if w.seen[id] == nil {
			return id + " is open, and was not shown"
		}
	}
	for id := range w.must {
		if w.seen[id] == nil && !w.behind { // one that came and went while it was behind
			return id + " was opened, and was not shown"
		}
	}
	return ""
}

// Whoever subscribes, whenever, is told of each ask once, of each end once and how it was, and of the newest draft.
func TestWatchesMissAndDoubleNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	clients := []*Client{r.client, r.dial()}
	last := 0
	rapid.Check(t, func(t *rapid.T) {
		m := &watchMachine{r: r, clients: clients, last: &last, open: map[string]<-chan error{}, drafts: map[string]int{}, ends: map[string]host.Outcome{}}
		defer func() { // also of a run that failed
			for _, w := range m.watchers {
				<-w.ready
				if w.watch != nil {
					w.watch.Close()
				}
			}
			r.manager.Board().End(nil, host.Unanswered{Outcome: host.Cancelled})
			for _, end := range m.open {
				if err := <-end; err == nil {
					t.Error("an ask that nobody answered was answered")
				}
			}
		}()
		t.Repeat(rapid.StateMachineActions(m))
		for _, w := range m.watchers {
			<-w.ready
			if w.err != nil {
				t.Fatal(w.err)
			}
			m.check(t, w, false)
		}
	})
	for _, c := range clients {
		c.mu.Lock()
		if len(c.subs)+len(c.early)+len(c.past) > 0 {
			t.Errorf("a client keeps %d subscriptions, events of %d and %d old ones", len(c.subs), len(c.early), len(c.past))
		}
		c.mu.Unlock()
	}
}
