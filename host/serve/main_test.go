package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// runner is an agent of a few lines of Go.
type runner func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error)

func (r runner) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	return r(ctx, req, obs)
}

// rig is a server whose agents are the test's.
type rig struct {
	t     *testing.T
	path  string
	state string
	dir   string // of calls that name none
	s     *Server
	end   func()
}

func serving(t *testing.T, parallel int, run runner) *rig {
	t.Helper()
	sockets, err := os.MkdirTemp("", "ks") //nolint:usetesting // sockets need a short path; that of t.TempDir carries the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	r := &rig{t: t, path: filepath.Join(sockets, "s"), state: t.TempDir(), dir: t.TempDir()}
	r.s = New(Options{
		Manager: session.ManagerOptions{
			Runner: run, State: r.state, Agents: []string{"claude", "scripted"}, Environ: []string{},
			Agent: func(name string) (agent.Command, error) {
				if name == "claude" {
					return agent.Command{}, agent.ErrNotFound
				}
				return agent.Command{Name: name}, nil
			},
		},
		Default: session.Spec{Agent: "scripted", Model: "m", Dir: r.dir, Access: "read"}, Parallel: parallel,
	})
	server, err := rpc.Listen(soon(t), r.path, r.s.Methods(), rpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.end = sync.OnceFunc(func() {
		if err := server.Close(soon(t)); err != nil {
			t.Error(err)
		}
		r.s.mu.Lock()
		if len(r.s.calls) > 0 || len(r.s.sessions) > 0 || r.s.line.free != r.s.opt.Parallel {
			t.Errorf("left in hand: %v, %v, %d free", r.s.calls, r.s.sessions, r.s.line.free)
		}
		r.s.mu.Unlock()
		r.checkTraces()
	})
	t.Cleanup(r.end)
	return r
}

// empty waits until no call is in hand.
func (r *rig) empty() {
	r.t.Helper()
	c := r.dial()
	for ctx := soon(r.t); ; {
		var list struct{ Calls []Listed }
		if err := c.Call(ctx, "agent.list", nil, &list); err != nil {
			r.t.Fatal(err)
		}
		if len(list.Calls) == 0 {
			return
		}
	}
}

// checkTraces checks that every session was closed and that its trace holds together.
func (r *rig) checkTraces() {
	all, err := trace.Sessions(r.state)
	if err != nil {
		r.t.Error(err)
	}
	for _, s := range all {
		raw, err := os.ReadFile(s.Path)
		if err != nil {
			r.t.Fatal(err)
		}
		report := trace.Check(bytes.NewReader(raw), false)
		if report.State != trace.Closed || len(report.Violations) > 0 {
			r.t.Errorf("session %s is %s: %v", s.ID, report.State, report.Violations)
		}
	}
}

// caller is a client and what it is told.
type caller struct {
	*rpc.Conn
	t      *testing.T
	events chan event
}

func (r *rig) dial() *caller {
	r.t.Helper()
	c := &caller{t: r.t, events: make(chan event, 10_000)}
	conn, err := rpc.Dial(soon(r.t), r.path, rpc.Methods{eventMethod: func(_ context.Context, req *rpc.Request) rpc.Work {
		var e event
		if err := json.Unmarshal(req.Params, &e); err != nil {
			r.t.Error(err)
		}
		c.events <- e
		return nil
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	c.Conn = conn
	r.t.Cleanup(func() { _ = conn.Close(soon(r.t)) })
	return c
}

type params1 = map[string]any

// call calls a verb.
func (c *caller) call(verb string, params params1) (session.Report, error) {
	c.t.Helper()
	var report session.Report
	err := c.Call(soon(c.t), "agent."+verb, params, &report)
	return report, err
}

// started calls a verb and hands over its end later.
func (c *caller) started(ctx context.Context, verb string, params params1) <-chan error {
	done := make(chan error, 1)
	go func() { done <- c.Call(ctx, "agent."+verb, params, nil) }()
	return done
}

// await waits for an event of a kind.
func (c *caller) await(kind session.Kind) event {
	c.t.Helper()
	for {
		if e := receive(c.t, "the event "+string(kind), c.events); e.Kind == kind {
			return e
		}
	}
}

func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not come", what)
		panic("not reached")
	}
}

// checkFailure checks the code and the outcome of an error, and returns its data.
func checkFailure(t *testing.T, err error, outcome string) failureData {
	t.Helper()
	var e *rpc.Error
	var data failureData
	if !errors.As(err, &e) || json.Unmarshal(e.Data, &data) != nil || data.Outcome != outcome || e.Code != codeOf(outcome) || e.Message == "" {
		t.Errorf("got %v (%+v), want %s", err, data, outcome)
	}
	return data
}
