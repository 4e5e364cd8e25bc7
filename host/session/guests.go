package session

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

// Receptive is a prompter that takes the asks of guests too: those that no session of ours started, such as a shell
// script's. While one that does is attached to any session of the process, an operator is there for guests.
type Receptive interface{ TakesGuests() bool }

// guestsIdle is how long the session of guests stays open when nobody of them asks.
const guestsIdle = 15 * time.Minute

// guestsSuffix ends the ids of sessions of guests, so that they are known without a lock.
const guestsSuffix = "-guests"

// ofGuests selects the sessions of guests.
func ofGuests(id string) bool { return strings.HasSuffix(id, guestsSuffix) }

// guests is what a process has for those who are not its own: a session for their asks, and who takes them.
type guests struct {
	mu       sync.Mutex // guards all below; held while a session of guests opens or closes, so there is one at a time
	session  *Session   // nil: none is open
	users    int
	stop     func() bool // the timer that closes it
	closed   bool
	surfaces map[string]*reception // by the surface's name
}

// reception is a surface that takes the asks of guests: it is shown each once, however many sessions it is attached to.
type reception struct {
	sessions int
	end      func()
}

// GuestsPresent reports whether an operator can be reached for guests.
func (m *Manager) GuestsPresent() bool { return m.board.Present(guestsSuffix) }

// IsOfGuests reports whether a session is one that holds the asks of guests.
func IsOfGuests(id string) bool { return ofGuests(id) }

// Guests is the session that asks of guests belong to, with a trace like any other's and without turns. It is opened
// when it is needed, stays open until done is called, and is closed some time after the last one is done with it.
func (m *Manager) Guests() (s *Session, done func(), err error) {
	g := &m.guests
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, nil, ErrClosed
	}
	if g.stop != nil {
		g.stop()
		g.stop = nil
	}
	if g.session == nil || g.session.isClosing() {
		g.session, g.users = m.newGuests(), 0
	}
	s = g.session
	g.users++
	return s, sync.OnceFunc(func() { m.leaveGuests(s) }), nil
}

func (m *Manager) newGuests() *Session {
	id := m.newID() + guestsSuffix
	dir := filepath.Join(m.opt.State, id)
	return m.add(id, Options{
		Title: trace.Guests, Command: agent.Command{Name: trace.Guests}, Dir: dir, Access: agent.Read,
	})
}

func (m *Manager) leaveGuests(s *Session) {
	g := &m.guests
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session != s {
		return
	}
	if g.users--; g.users == 0 && !g.closed {
		g.stop = m.opt.Clock.AfterFunc(guestsIdle, func() { m.closeGuests(s) })
	}
}

// closeGuests runs on the timer.
func (m *Manager) closeGuests(s *Session) {
	g := &m.guests
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session != s || g.users > 0 {
		return // another guest came
	}
	g.session, g.stop = nil, nil
	_ = s.Close(context.Background(), host.HostClosing) // nothing runs in it; what could not be written was said
}

// endGuests lets no further guest in. The session is closed with all others.
func (m *Manager) endGuests() {
	g := &m.guests
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.stop != nil {
		g.stop()
	}
}

// Normalised records what had to be mended in an ask of a guest.
func (s *Session) Normalised(id string, notes []askbridge.Note) {
	(&narrator{s: s}).normalised(id, notes)
}

// receive brings the asks of guests to a prompter that takes them, until release is called. Several sessions of one
// surface count once.
func (g *guests) receive(board *host.Switchboard, name string, p host.OperatorPrompter) (release func()) {
	if r, ok := p.(Receptive); !ok || !r.TakesGuests() {
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.surfaces == nil {
		g.surfaces = map[string]*reception{}
	}
	r := g.surfaces[name]
	if r == nil {
		absent, detach := board.Declare(ofGuests), board.Attach(name, p, ofGuests)
		r = &reception{end: func() { detach(); absent() }}
		g.surfaces[name] = r
	}
	r.sessions++
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if r.sessions--; r.sessions == 0 {
			delete(g.surfaces, name)
			r.end()
		}
	})
}

// ReceiveGuests declares that an operator who sees the asks of guests by another way, such as a page, can be reached.
func (m *Manager) ReceiveGuests() (release func()) { return m.board.Declare(ofGuests) }

// errGuests is why nothing is started in a session of guests.
var errGuests = errors.New("this session holds the asks of guests, who work elsewhere; open another one for a prompt of yours")
