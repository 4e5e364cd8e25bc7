package control

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// Feed hears of the asks of a process and passes them on to who subscribed. It is given to session.ManagerOptions as
// Watch before there is a manager, and to [Serve] with it.
type Feed struct {
	title func(sessionID string) string
	pid   int

	mu       sync.Mutex // guards all below; what it calls does not block
	open     map[string]*openAsk
	watchers map[*watcher]struct{}
	closed   bool
	past     []Ended        // the newest at the end
	asks     sync.WaitGroup // the goroutines of open asks
}

var _ session.AskWatcher = (*Feed)(nil)

type openAsk struct {
	ask  host.Ask
	over chan struct{}
}

// watcher is one subscription. What cannot be sent marks it as behind, until it subscribes anew.
type watcher struct {
	id     int64
	conn   *rpc.Conn     // nil in tests
	gone   chan struct{} // closed when it is taken away
	send   func(e questionEvent, must bool) error
	filter func(sessionID string) bool
	behind atomic.Bool
}

// NewFeed makes a feed of a process that nothing was asked in yet.
func NewFeed(pid int) *Feed {
	return &Feed{pid: pid, open: map[string]*openAsk{}, watchers: map[*watcher]struct{}{}, title: func(string) string { return "" }}
}

// Opened implements session.AskWatcher.
func (f *Feed) Opened(a host.Ask) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	o := &openAsk{ask: a, over: make(chan struct{})}
	f.open[a.Info().ID] = o
	changed := a.Changed() // before it is looked at: what changes then is told
	f.tellLocked(a.Info().SessionID, questionEvent{What: opened, Question: f.question(a)})
	f.asks.Go(func() { f.follow(o, changed) })
}

// follow tells of the changes of an ask until it is over.
func (f *Feed) follow(o *openAsk, changed <-chan struct{}) {
	for {
		select {
		case <-changed:
			changed = o.ask.Changed()
			f.mu.Lock()
			select {
			case <-o.over: // its end was told
			default:
				f.tellLocked(o.ask.Info().SessionID, questionEvent{What: updated, Question: f.question(o.ask)})
			}
			f.mu.Unlock()
		case <-o.over:
			return
		}
	}
}

// Ended implements session.AskWatcher.
func (f *Feed) Ended(id string, end host.Resolution) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.open[id]
	if o == nil {
		return
	}
	delete(f.open, id)
	close(o.over)
	f.keepLocked(id, o.ask.Info().SessionID, end)
	f.tellLocked(o.ask.Info().SessionID, questionEvent{What: resolved, ID: id, Outcome: end.Outcome, Surface: surface(end.Surface), Reason: end.Reason})
}

// tellLocked sends to every subscription that the session is for. One that does not read is told, once it does, that it
// missed something.
func (f *Feed) tellLocked(sessionID string, e questionEvent) {
	for w := range f.watchers {
		if w.filter != nil && !w.filter(sessionID) {
			continue
		}
		e.Subscription = w.id
		if w.behind.Load() {
			continue
		}
		if w.send(e, false) != nil && w.behind.CompareAndSwap(false, true) {
			_ = w.send(questionEvent{Subscription: w.id, What: resync}, true) // a connection that is gone needs none
		}
	}
}

// maxSubscriptions is how many a connection can have.
const maxSubscriptions = 64

// subscribe adds a watcher in place of one of the same connection, if there is that, and returns what is open: nothing is
// missed between the two. With ended it says too what has ended lately.
func (f *Feed) subscribe(w *watcher, replaces int64) (open []*Question, ended []Ended, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for old := range f.watchers {
		switch {
		case old.conn != w.conn:
		case old.id == replaces:
			f.dropLocked(old)
		default:
			n++
		}
	}
	if n >= maxSubscriptions {
		return nil, nil, rpc.Errorf(codeLimit, "this connection has %d subscriptions, which is as many as there can be", n)
	}
	f.watchers[w] = struct{}{}
	if replaces != 0 {
		ended = slices.Clone(f.past)
	}
	return f.questionsLocked(w.filter), ended, nil
}

// unsubscribe takes the watcher with this id away, if it is one of the connection.
func (f *Feed) unsubscribe(conn *rpc.Conn, id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if w.conn == conn && w.id == id {
			f.dropLocked(w)
		}
	}
}

func (f *Feed) dropLocked(w *watcher) {
	delete(f.watchers, w)
	close(w.gone)
}

// questions are the open asks, oldest first.
func (f *Feed) questions(filter func(string) bool) []*Question {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.questionsLocked(filter)
}

func (f *Feed) questionsLocked(filter func(string) bool) []*Question {
	out := []*Question{}
	for _, o := range f.open {
		if filter == nil || filter(o.ask.Info().SessionID) {
			out = append(out, f.question(o.ask))
		}
	}
	sortByAge(out)
	return out
}

// question is an ask as it is now, with its drafts.
func (f *Feed) question(a host.Ask) *Question {
	info := a.Info()
	q := &Question{
		ID: info.ID, SessionID: info.SessionID, Title: f.title(info.SessionID), Kind: info.Kind, Proposal: info.Proposal, Asker: info.Asker,
		ToolUseID: info.ToolUseID, Questions: wireQuestions(info.Questions), Opened: info.Opened, Deadline: info.Deadline,
		WaitMS: info.Wait.Milliseconds(), Reopens: info.Reopens, Guest: info.Asker.Guest, PID: f.pid,
	}
	for i := range info.Questions {
		d := a.Draft(i)
		q.Drafts = append(q.Drafts, draft{pick: pick(d.Answer), Taken: d.Taken, Rev: d.Rev})
	}
	return q
}

// close ends what follows asks; they have ended, or are left to others.
func (f *Feed) close() {
	f.mu.Lock()
	f.closed = true
	for id, o := range f.open {
		delete(f.open, id)
		close(o.over)
	}
	f.mu.Unlock()
	f.asks.Wait()
}

// titles makes a title of each session's id.
func titles(m *session.Manager) func(string) string {
	return func(id string) string {
		s, ok := m.Session(id)
		if !ok {
			return ""
		}
		snap, err := s.Snapshot(context.Background())
		if err != nil {
			return ""
		}
		return snap.Title
	}
}
