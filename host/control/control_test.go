package control

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// runner is an agent that asks what it is told to.
type runner func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error)

func (r runner) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	return r(ctx, req, obs)
}

// rig is a process with one session, and a client of it.
type rig struct {
	t       *testing.T
	server  *Server
	session *session.Session
	client  *Client
	manager *session.Manager
	state   string
}

func newRig(t *testing.T, r runner) *rig {
	t.Helper()
	runtime, err := os.MkdirTemp("", "kc") //nolint:usetesting // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	feed := NewFeed(os.Getpid())
	state := t.TempDir()
	m := session.NewManager(session.ManagerOptions{Runner: r, State: state, Watch: feed})
	s, err := m.New(session.Options{Command: agent.Command{Name: "scripted"}, Dir: "/project", Access: agent.Edit})
	if err != nil {
		t.Fatal(err)
	}
	server, err := Serve(t.Context(), Options{Runtime: runtime, Manager: m, Feed: feed, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), server.Path())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(c.Close(), server.Close(ctx), m.Close(ctx, host.HostClosing), os.RemoveAll(runtime)); err != nil {
			t.Error(err)
		}
	})
	return &rig{t, server, s, c, m, state}
}

// trace is the record of the session, as it is now.
func (r *rig) trace() string {
	raw, err := os.ReadFile(r.session.TracePath())
	if err != nil {
		r.t.Fatal(err)
	}
	return string(raw)
}

var database = host.OperatorQuestion{
	Question: "Which database?", Header: "Database", Options: []host.OperatorOption{{Label: "Postgres"}, {Label: "SQLite, in a file"}},
}

// asks is an agent that asks once and says what it got.
func asks(ctx context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
	p, ok := host.OperatorPrompterFrom(ctx)
	if !ok {
		return agent.Result{Text: "nobody"}, nil
	}
	got, err := p.Ask(host.WithAskRequest(ctx, host.AskRequest{ID: "q1", ToolUseID: "t1"}), req.SessionID, []host.OperatorQuestion{database})
	if err != nil {
		return agent.Result{}, err
	}
	text, _ := got[database.Question].(string)
	return agent.Result{Text: text}, nil
}

// A surface of another process works on an ask as one at home does: it is shown, has drafts, is answered once, and the
// other surface is told who did.
func TestAttachedSurfaceAnswers(t *testing.T) {
	r := newRig(t, asks)
	remote := r.client.Session(r.session.ID())
	shown := make(chan host.Ask, 1)
	ended := make(chan error, 1)
	detach, err := remote.Attach("laptop", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		a, _ := host.AskFrom(ctx)
		shown <- a
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	waitFor(t, "presence", func() bool { return r.session.Attended() })
	if err := remote.StartTurn(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	a := receive(t, shown)
	if info := a.Info(); info.ID != "q1" || info.Questions[0].Options[1].Label != "SQLite, in a file" || info.Deadline.Before(info.Opened) {
		t.Errorf("shown is %+v", info)
	}
	changed := a.Changed()
	if err := a.SetDraft(t.Context(), 0, host.Draft{Answer: host.Answer{Text: "half"}}); err != nil {
		t.Fatal(err)
	}
	receive(t, changed)
	if d := a.Draft(0); d.Text != "half" || d.Rev != 1 {
		t.Errorf("the draft is %+v", d)
	}
	if err := a.SetDraft(t.Context(), 0, host.Draft{}); !errors.Is(err, host.ErrStaleDraft) {
		t.Errorf("a stale draft: %v", err)
	}
	var fields *host.FieldErrors
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{7}}}); !errors.As(err, &fields) {
		t.Errorf("a bad answer: %v", err)
	}
	if rows, err := r.client.Work(t.Context()); err != nil || len(rows) != 2 || rows[0].Kind != RowQuestion || rows[0].Questions[0] != database.Question {
		t.Errorf("work is %+v, %v", rows, err)
	}
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{1}}}); err != nil {
		t.Fatal(err)
	}
	var end *host.Resolution
	if err := receive(t, ended); !errors.As(err, &end) || end.Outcome != host.Answered || end.Surface != "laptop" {
		t.Errorf("it ended with %v", err)
	}
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); err == nil {
		t.Error("an ask was answered twice")
	}
}

// By text, as a web page and a shell answer: what does not fit names the keys that do, and the ask stays open.
func TestAnswersByText(t *testing.T) {
	r := newRig(t, asks)
	release := r.session.Present()
	defer release()
	if err := r.session.StartTurn(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the ask", func() bool { rows, err := r.client.Work(t.Context()); return err == nil && len(rows) == 2 })
	var e *rpc.Error
	err := r.client.conn.Call(t.Context(), methodAnswer, askParams{Question: "q1", Answers: map[string]any{"nope": "Beta"}}, nil)
	if !errors.As(err, &e) || e.Code != rpc.InvalidParams || string(e.Data) == "" {
		t.Errorf("got %v", err)
	}
	if err := r.client.conn.Call(t.Context(), methodAnswer, askParams{Session: "other", Question: "q1", Answers: map[string]any{database.Question: "Postgres"}}, nil); !errors.As(err, &e) || e.Code != codeUnknown {
		t.Errorf("got %v", err)
	}
	if err := r.client.conn.Call(t.Context(), methodAnswer, askParams{Question: "q1", Answers: map[string]any{database.Question: "SQLite, in a file"}}, nil); err != nil {
		t.Error(err)
	}
}

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}
