package serve

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// Limits of a server.
const (
	DefaultParallel = 8
	MaxParallel     = 256
	MaxWaiting      = 1024 // calls; below rpc.MaxInHand, so that a call can be taken back from a full line
)

// Options of a server.
type Options struct {
	Manager  session.ManagerOptions // what the manager of each call is made of
	Default  session.Spec           // what a new session is where a call does not say
	Parallel int                    // how many calls run at once; 0: DefaultParallel
}

// Server works calls off. It is safe for concurrent use.
type Server struct {
	opt  Options
	line *line

	mu       sync.Mutex // guards all below
	last     uint64
	calls    map[uint64]*call // that wait or run
	sessions map[string]*call // by the session that they go on with, or work in
}

// New makes a server. There is nothing to close: its calls end with their connections.
func New(opt Options) *Server {
	if opt.Parallel == 0 {
		opt.Parallel = DefaultParallel
	}
	if opt.Manager.Clock == nil {
		opt.Manager.Clock = host.SystemClock{}
	}
	return &Server{
		opt: opt, line: newLine(opt.Parallel, MaxWaiting), calls: map[uint64]*call{}, sessions: map[string]*call{},
	}
}

// Methods are what a server does, by name.
func (s *Server) Methods() rpc.Methods {
	m := rpc.Methods{"agent.list": s.list, "agent.cancel": s.cancel}
	for _, verb := range agent.Verbs() {
		m["agent."+string(verb)] = func(ctx context.Context, r *rpc.Request) rpc.Work { return s.begin(ctx, verb, r) }
	}
	return m
}

// begin gives a call its place in the line, by the order in which calls came.
func (s *Server) begin(ctx context.Context, verb agent.Verb, r *rpc.Request) rpc.Work {
	if r.ID == nil {
		return nil // nobody could be told what came of it
	}
	place := s.line.enter()
	if place == nil {
		return rpc.Fail(failure(busy, errors.New("too many calls wait already; try again later"), nil))
	}
	c := &call{s: s, verb: verb, request: r, place: place, since: s.opt.Manager.Clock.Now()}
	s.mu.Lock()
	s.last++
	c.number = s.last
	s.calls[c.number] = c
	s.mu.Unlock()
	return func() (any, error) {
		defer s.forget(c)
		defer place.leave()
		return c.run(ctx)
	}
}

func (s *Server) forget(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, c.number)
	if s.sessions[c.session] == c {
		delete(s.sessions, c.session)
	}
}

// Listed is a call as agent.list shows it.
type Listed struct {
	Call     string          `json:"call"`         // what agent.cancel takes on any connection
	ID       json.RawMessage `json:"id,omitempty"` // of the request, on its own connection alone
	Verb     agent.Verb      `json:"verb"`
	State    string          `json:"state"`              // queued or running
	Position int             `json:"position,omitempty"` // of a queued one, from 1
	Session  string          `json:"session,omitempty"`
	Since    time.Time       `json:"since"` // when it came
}

func (s *Server) list(_ context.Context, r *rpc.Request) rpc.Work {
	return func() (any, error) {
		if err := rpc.Params(r.Params).Err(); err != nil {
			return nil, err
		}
		calls := []Listed{}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, n := range slices.Sorted(maps.Keys(s.calls)) {
			c := s.calls[n]
			l := Listed{Call: c.name(), Verb: c.verb, State: "running", Session: c.session, Since: c.since}
			if l.Position = c.place.position(); l.Position > 0 {
				l.State = "queued"
			}
			if c.request.Conn == r.Conn {
				l.ID = c.request.ID
			}
			calls = append(calls, l)
		}
		return map[string]any{"parallel": s.opt.Parallel, "calls": calls}, nil
	}
}

func (s *Server) cancel(_ context.Context, r *rpc.Request) rpc.Work {
	return func() (any, error) {
		var id json.RawMessage
		var name string
		f := rpc.Params(r.Params,
			rpc.Field{Name: "id", Want: "the id of a request on this connection", Into: &id},
			rpc.Field{Name: "call", Want: "a string, a call as agent.list names it", Into: &name})
		if (len(id) > 0) == (name != "") && f.Err() == nil {
			f.Add("id", "give either the id of a request on this connection, or call, as agent.list names it")
		}
		if err := f.Err(); err != nil {
			return nil, err
		}
		conn := r.Conn
		if name != "" {
			n, _ := strconv.ParseUint(name, 10, 64) // there is no call 0
			s.mu.Lock()
			if c := s.calls[n]; c != nil {
				conn, id = c.request.Conn, c.request.ID
			}
			s.mu.Unlock()
		}
		if !conn.Cancel(id, rpc.ErrCancelled) {
			return nil, failure(session.NotFound, errors.New("no such call waits or runs"), nil)
		}
		return map[string]bool{"cancelled": true}, nil
	}
}
