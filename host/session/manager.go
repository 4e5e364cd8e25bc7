package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/gate"
	"example.com/kitsoki/host/trace"
)

// Runner dispatches an agent; *agent.Dispatcher is one.
type Runner interface {
	Run(ctx context.Context, cmd agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error)
}

// ManagerOptions are what all sessions of a process share.
type ManagerOptions struct {
	Runner Runner
	State  string        // the directory that sessions get theirs in
	Wait   time.Duration // how long an ask waits; 0: host.DefaultWait
	Clock  host.Clock    // nil: the machine's
	Log    *slog.Logger  // a second sink of every event; nil: none

	Agent  func(name string) (agent.Command, error) // finds the agents of new sessions; nil: Open opens none
	Agents []string                                 // the names that Agent knows

	// Watch is told of asks as they open and end; nil: nobody is.
	Watch AskWatcher

	// Gate is what the gates of sessions share; each fills in what is its own. Without Exec there is no gate, and the
	// access ask is refused.
	Gate gate.Options

	Environ []string   // whose secrets are kept out of traces, transcripts and the log; nil: this process's
	Text    trace.Text // what becomes of texts there; empty: trace.TextFull
}

// AskWatcher watches the asks of all sessions without being a surface of theirs. Its methods must not block.
type AskWatcher interface {
	// Opened is called before any surface sees the ask.
	Opened(a host.Ask)
	// Ended is called when it is settled.
	Ended(id string, end host.Resolution)
}

// Manager owns the sessions of a process and the switchboard that their asks go through.
type Manager struct {
	opt   ManagerOptions
	trace trace.Options
	board *host.Switchboard

	mu       sync.Mutex
	sessions map[string]*Session // guarded by mu

	guests guests
}

// NewManager makes a manager. Close it to end what it started.
func NewManager(opt ManagerOptions) *Manager {
	if opt.Clock == nil {
		opt.Clock = host.SystemClock{}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Environ == nil {
		opt.Environ = os.Environ()
	}
	m := &Manager{
		opt: opt, sessions: map[string]*Session{},
		trace: trace.Options{Now: opt.Clock.Now, Redact: trace.NewRedactor(opt.Environ), Text: opt.Text},
	}
	m.board = host.NewSwitchboard(host.SwitchboardOptions{
		Recorder: m, Clock: opt.Clock, Wait: opt.Wait, Opened: m.watch,
	})
	return m
}

// Options say what a new session is.
type Options struct {
	Title   string // empty: the name of the directory
	Command agent.Command
	Model   string
	Dir     string // absolute
	Access  agent.Access
}

// New opens a session with a trace and a transcript of its own. Where they cannot be written the session says
// so, and works all the same.
func (m *Manager) New(opt Options) (*Session, error) {
	return m.add(m.newID(), opt), nil
}

func (m *Manager) newID() string {
	return m.opt.Clock.Now().UTC().Format("20060102-150405-") + host.NewID()[:6]
}

// add makes a session and opens its trace.
func (m *Manager) add(id string, opt Options) *Session {
	s := newSession(m, id, opt, filepath.Join(m.opt.State, id))
	s.title, s.named = m.titleFor(opt.Title, opt.Dir, s), opt.Title != ""
	m.mu.Lock()
	m.sessions[id] = s
	m.mu.Unlock()
	s.record(trace.SessionOpened{SessionID: id, Agent: opt.Command.Name, Dir: opt.Dir, Access: string(opt.Access)})
	return s
}

// Sessions are the sessions that were opened, in that order; those that were closed too.
func (m *Manager) Sessions() []*Session {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.SortedFunc(maps.Values(m.sessions), func(a, b *Session) int { return strings.Compare(a.id, b.id) })
}

// Board is the switchboard that the asks of all sessions go through.
func (m *Manager) Board() *host.Switchboard { return m.board }

// Session finds a session that is not closed.
func (m *Manager) Session(id string) (*Session, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	return s, s != nil && !s.isClosing()
}

// watch keeps what the operator makes of an ask.
func (m *Manager) watch(a host.Ask) {
	m.mu.Lock()
	s := m.sessions[a.Info().SessionID]
	m.mu.Unlock()
	if s != nil {
		s.watch(a)
	}
	if m.opt.Watch != nil {
		m.opt.Watch.Opened(a)
	}
}

// Record puts an event into the trace of its session, and shows it to who watches the session. It makes the
// manager the recorder of its switchboard.
func (m *Manager) Record(ctx context.Context, e host.Event) error {
	m.mu.Lock()
	s := m.sessions[e.Session()]
	m.mu.Unlock()
	if s == nil {
		return fmt.Errorf("event %s: there is no session %q", e.Name(), e.Session())
	}
	if m.opt.Watch != nil {
		switch ev := e.(type) {
		case host.QuestionAnswered:
			m.opt.Watch.Ended(ev.QuestionID, host.Resolution{Outcome: ev.Outcome, Surface: ev.Surface})
		case host.QuestionUnanswered:
			m.opt.Watch.Ended(ev.QuestionID, host.Resolution{Outcome: ev.Outcome, Surface: ev.Surface, Reason: ev.Reason})
		}
	}
	s.observe(e)
	if e.Name() == (host.QuestionAnswered{}).Name() && m.trace.Text == trace.TextHash {
		s.saveDesk() // no other file will have the words
	}
	return s.keep(ctx, e)
}

// Close closes all sessions and the switchboard, and waits until ctx ends at the longest.
func (m *Manager) Close(ctx context.Context, why host.Outcome) error {
	var errs []error
	m.endGuests()
	for _, s := range m.Sessions() {
		errs = append(errs, s.Close(ctx, why))
	}
	return errors.Join(append(errs, m.board.Close(ctx))...)
}
