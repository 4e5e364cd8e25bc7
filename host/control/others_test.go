package control

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
)

// shown is an ask as it was brought from another process.
type shown struct {
	ctx context.Context //nolint:containedctx // what becomes of it is the test
	ask host.Ask
	q   Question
}

// startAsking has the agent of a rig ask.
func (r *rig) startAsking() {
	r.t.Helper()
	release := r.session.Present()
	r.t.Cleanup(release)
	if err := r.session.StartTurn(r.t.Context(), "go"); err != nil {
		r.t.Fatal(err)
	}
	waitFor(r.t, "the ask", func() bool { rows, err := r.client.Work(r.t.Context()); return err == nil && len(rows) == 2 })
}

// follow brings the asks of every process in the rig's directory.
func (r *rig) follow() <-chan shown {
	r.t.Helper()
	came := make(chan shown, 8)
	o := (&Others{runtime: filepath.Dir(r.server.Path()), surface: "terminal 7", self: -1, show: func(ctx context.Context, _ *Client, a host.Ask, q Question) {
		came <- shown{ctx, a, q}
		<-ctx.Done()
	}}).start(r.t.Context())
	r.t.Cleanup(o.Close)
	return came
}

// A process that takes connections and says nothing holds up nobody, and one that starts later is found.
func TestOthersAreFoundWhateverTheyAreLike(t *testing.T) {
	r := newRig(t, asks)
	deaf, err := net.Listen("unix", filepath.Join(filepath.Dir(r.server.Path()), "control-1-deaf.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deaf.Close() }()
	came := r.follow()
	r.startAsking()
	first := receive(t, came)
	if first.q.Title == "" || first.q.PID != os.Getpid() || first.ask.Info().ID != "q1" {
		t.Errorf("shown is %+v", first.q)
	}
	later, err := Serve(t.Context(), Options{Runtime: filepath.Dir(r.server.Path()), Manager: r.server.opt.Manager, Feed: r.server.opt.Feed})
	if err != nil {
		t.Fatal(err)
	}
	again := receive(t, came)
	if again.ask.Info().ID != "q1" {
		t.Errorf("shown is %+v", again.q)
	}
	if err := later.rpc.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-again.ctx.Done()
	if cause := context.Cause(again.ctx); !errors.Is(cause, host.ErrLost) {
		t.Errorf("a lost ask ended with %v", cause)
	}
	if err := again.ask.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); !errors.Is(err, host.ErrLost) {
		t.Errorf("an answer into nothing: %v", err)
	}
	if err := first.ask.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Error(err)
	}
	<-first.ctx.Done()
	var end *host.Resolution
	if cause := context.Cause(first.ctx); !errors.As(cause, &end) || end.Surface != "terminal 7" {
		t.Errorf("it ended with %v", cause)
	}
}

// An answer to a process that hangs is bounded, and is not taken for one that was given.
func TestProcessThatHangsIsNotWaitedForForEver(t *testing.T) {
	r := newRig(t, asks)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrNoReply) // as after replyWithin
	a := newRemoteAsk(r.client, Question{ID: "q1", SessionID: r.session.ID()}, "terminal 7", func(error) {})
	if err := a.Answer(ctx, nil); !errors.Is(err, ErrNoReply) {
		t.Errorf("got %v", err)
	}
}

// Presence of another process begins with its attaching, and ends with its detaching or its connection.
func TestPresenceOfAnotherProcess(t *testing.T) {
	r := newRig(t, asks)
	never := host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	detach, err := r.client.Session(r.session.ID()).Attach("one", never)
	if err != nil {
		t.Fatal(err)
	}
	detachToo, err := r.client.Session(r.session.ID()).Attach("two", never)
	if err != nil {
		t.Fatal(err)
	}
	if !r.session.Attended() || r.server.Attached() != 1 {
		t.Errorf("attended %v, attached %d", r.session.Attended(), r.server.Attached())
	}
	detach()
	if !r.session.Attended() {
		t.Error("one of two surfaces took the presence of both along")
	}
	detachToo()
	if r.session.Attended() || r.server.Attached() != 0 {
		t.Errorf("attended %v, attached %d", r.session.Attended(), r.server.Attached())
	}
	other, err := Dial(t.Context(), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Session(r.session.ID()).Attach("three", never); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	waitFor(t, "the end of the presence", func() bool { return !r.session.Attended() })
}

// What the terminal of a process is called at home would name another one elsewhere.
func TestTerminalsAreToldApart(t *testing.T) {
	r := newRig(t, asks)
	ended := make(chan error, 1)
	ready := make(chan struct{}, 1)
	_, err := r.client.Watch(t.Context(), "", "terminal 7", func(ctx context.Context, _ host.Ask, _ Question) {
		ready <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.startAsking()
	receive(t, ready)
	a, _ := r.server.opt.Manager.Board().Find("q1", "terminal")
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Fatal(err)
	}
	var end *host.Resolution
	if err := receive(t, ended); !errors.As(err, &end) || end.Surface != Surface(os.Getpid()) {
		t.Errorf("it ended with %v", err)
	}
	var e *rpc.Error
	if err := r.client.Stop(t.Context()); !errors.As(err, &e) || e.Code != codeFailed {
		t.Errorf("a process with a terminal was stopped from elsewhere: %v", err)
	}
}

// A surface whose process is lost is told that the ask was lost, not that it ended.
func TestAttachedSurfaceOfALostProcess(t *testing.T) {
	r := newRig(t, asks)
	ready, ended := make(chan struct{}, 1), make(chan error, 1)
	detach, err := r.client.Session(r.session.ID()).Attach("one", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		ready <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, context.Cause(ctx)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	r.startAsking()
	receive(t, ready)
	if err := r.server.rpc.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, ended); !errors.Is(err, host.ErrLost) {
		t.Errorf("it ended with %v", err)
	}
}

// The socket of a killed process goes, and no other.
func TestSweepOfSockets(t *testing.T) {
	r := newRig(t, asks)
	dead := filepath.Join(filepath.Dir(r.server.Path()), "control-99999999-dead.sock") // beyond what Linux gives out
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(filepath.Dir(dead)); err != nil {
		t.Fatal(err)
	}
	if left, err := Find(filepath.Dir(dead)); err != nil || len(left) != 1 || left[0] != r.server.Path() {
		t.Errorf("left are %v, %v", left, err)
	}
}
