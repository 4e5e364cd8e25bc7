package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
)

// call is one call of a verb.
type call struct {
	s       *Server
	number  uint64
	verb    agent.Verb
	request *rpc.Request
	place   *place
	since   time.Time

	session string // guarded by s.mu; empty while it has none
}

// name is the call for every connection.
func (c *call) name() string { return strconv.FormatUint(c.number, 10) }

// run waits for the call's turn and works it off.
func (c *call) run(ctx context.Context) (any, error) {
	p, err := c.s.read(c.verb, c.request.Params)
	if err != nil {
		return nil, err
	}
	events := &reporter{call: c, on: p.events}
	if err := c.claim(&p); err != nil {
		return nil, err
	}
	if n := c.place.position(); n > 0 {
		events.send(event{Kind: "queued", Position: n})
	}
	select {
	case <-c.place.turn:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, failure(session.StoppedTurn, fmt.Errorf("the call was stopped before its agent was started: %w", context.Cause(ctx)), nil)
	}
	return c.work(ctx, p, events)
}

// claim finds the session that a call goes on with and keeps other calls from it.
func (c *call) claim(p *params) error {
	if p.session == "" {
		return nil
	}
	stored, err := trace.Find(c.s.opt.Manager.State, p.session)
	if err != nil {
		return openFailure(err)
	}
	p.session = stored.ID
	return c.hold(stored.ID)
}

// hold makes a session the call's, or says whose it is.
func (c *call) hold(id string) error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if other := c.s.sessions[id]; other != nil {
		return failure(busy, fmt.Errorf("session %s is at work for call %s; wait for its end, or cancel it", id, other.name()), nil)
	}
	c.s.sessions[id] = c
	c.session = id
	return nil
}

// closeWithin is how long the end of a call's session may take. Its agent has ended by then.
const closeWithin = 8 * time.Second

// work opens the session, runs the turn and closes the session.
func (c *call) work(ctx context.Context, p params, events *reporter) (any, error) {
	m := session.NewManager(c.s.opt.Manager)
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		err := m.Close(ctx, host.HostClosing) // what could not be written was told as an event, the first time
		events.wait(err == nil)
	}()
	s, err := c.open(ctx, m, p)
	if err != nil {
		return nil, openFailure(err)
	}
	events.follow(s)
	ctx, stop := stoppable(ctx)
	defer stop()
	report, err := s.RunReport(ctx, p.input(c.verb))
	if err != nil {
		return nil, runFailure(err, report)
	}
	return report, nil
}

// open opens the session of a call: a new one, or the one that it goes on with.
func (c *call) open(ctx context.Context, m *session.Manager, p params) (*session.Session, error) {
	given := session.Spec{Agent: p.agent, Model: p.model, Access: p.access, Dir: p.dir}
	if p.session != "" {
		return resume(ctx, m, p.session, given)
	}
	def := c.s.opt.Default
	given.Agent, given.Access, given.Dir = cmp.Or(given.Agent, def.Agent), cmp.Or(given.Access, def.Access), cmp.Or(given.Dir, def.Dir)
	if given.Agent == def.Agent {
		given.Model = cmp.Or(given.Model, def.Model) // another agent would not know it
	}
	s, err := m.OpenSession(ctx, given)
	if err != nil {
		return nil, err
	}
	return s, c.hold(s.ID())
}

// Bounds of waiting for a session that was just closed: a process that is being started has its trace open for a
// moment, and an open trace counts as one that is in use.
const (
	resumeWithin = time.Second
	resumeEvery  = 20 * time.Millisecond
)

func resume(ctx context.Context, m *session.Manager, id string, spec session.Spec) (*session.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, resumeWithin)
	defer cancel()
	for {
		s, err := m.Resume(ctx, id, spec)
		if !errors.Is(err, session.ErrInUse) {
			return s, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(resumeEvery):
		}
	}
}

// stoppable is the context of a turn, which ends with the call's, in words that the trace keeps.
func stoppable(ctx context.Context) (turn context.Context, stop func()) {
	turn, end := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() {
		why := host.Cancelled
		if errors.Is(context.Cause(ctx), rpc.ErrClosing) {
			why = host.HostClosing
		}
		end(&host.Unanswered{Outcome: why, Reason: context.Cause(ctx).Error()})
	})
	return turn, func() { release(); end(nil) }
}
