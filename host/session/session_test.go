package session

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

type runner func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error)

func (r runner) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	return r(ctx, req, obs)
}

func newTestSession(t *testing.T, r runner) *Session {
	t.Helper()
	m := NewManager(ManagerOptions{Runner: r, State: t.TempDir()})
	s, err := m.New(Options{Command: agent.Command{Name: "scripted"}, Dir: "/project", Access: agent.Edit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx, host.HostClosing); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ended reads the session's events up to and including the next end of a turn.
func ended(t *testing.T, s *Session, after uint64) (Event, uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		b, err := s.Events(ctx, after)
		if err != nil {
			t.Fatalf("waiting for the end of the turn: %v", err)
		}
		for _, e := range b.Events {
			after = e.Seq
			if e.Kind == TurnEnded {
				return e, after
			}
		}
	}
}

func snap(t *testing.T, s *Session) Snapshot {
	t.Helper()
	out, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The choke point: a turn has a prompter exactly when somebody is attached.
func TestOnlyPresenceGivesATurnAPrompter(t *testing.T) {
	got := make(chan bool, 1)
	s := newTestSession(t, func(ctx context.Context, _ agent.Request, _ agent.Observer) (agent.Result, error) {
		_, ok := host.OperatorPrompterFrom(ctx)
		got <- ok
		return agent.Result{}, nil
	})
	last := uint64(0)
	turn := func() bool {
		if err := s.StartTurn(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		_, last = ended(t, s, last)
		return <-got
	}
	if turn() {
		t.Error("a prompter without presence")
	}
	detach, err := s.Attach("terminal", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !turn() {
		t.Error("no prompter with presence")
	}
	detach()
	if turn() {
		t.Error("a prompter after the last surface went")
	}
}

func TestQueueWaitsAndIsHeldAfterAFailure(t *testing.T) {
	step := make(chan error)
	var prompts []string
	s := newTestSession(t, func(ctx context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
		prompts = append(prompts, req.Prompt)
		select {
		case err := <-step:
			return agent.Result{Conversation: "c" + req.Prompt}, err
		case <-ctx.Done():
			return agent.Result{}, context.Cause(ctx)
		}
	})
	ctx := context.Background()
	if err := s.StartTurn(ctx, "1"); err != nil {
		t.Fatal(err)
	}
	if err := s.StartTurn(ctx, "x"); !errors.Is(err, ErrBusy) {
		t.Fatalf("a second turn got %v", err)
	}
	for _, p := range []string{"2", "3", "4"} {
		if err := s.Queue(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if p, ok, _ := s.Unqueue(ctx, -1); !ok || p != "4" {
		t.Fatalf("took back %q", p)
	}
	step <- nil
	_, last := ended(t, s, 0)
	step <- errors.New("no tokens left")
	e, last := ended(t, s, last)
	if !e.Failed || !strings.Contains(e.Text, "no tokens left") {
		t.Errorf("ended %+v", e)
	}
	if now := snap(t, s); now.State != Failed || !now.Held || !slices.Equal(now.Queue, []string{"3"}) {
		t.Errorf("after the failure: %+v", now)
	}
	if err := s.ReleaseQueue(ctx); err != nil {
		t.Fatal(err)
	}
	step <- nil
	ended(t, s, last)
	if !slices.Equal(prompts, []string{"1", "2", "3"}) {
		t.Errorf("prompts %v", prompts)
	}
}

func TestStoppedTurnIsNoFailure(t *testing.T) {
	started := make(chan struct{})
	s := newTestSession(t, func(ctx context.Context, _ agent.Request, _ agent.Observer) (agent.Result, error) {
		close(started)
		<-ctx.Done()
		return agent.Result{CostUSD: 0.25}, &agent.Failure{Sentence: "the turn was stopped", Err: context.Cause(ctx)}
	})
	if err := s.CancelTurn(context.Background()); !errors.Is(err, ErrNoTurn) {
		t.Errorf("nothing to stop: %v", err)
	}
	if err := s.StartTurn(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := s.CancelTurn(context.Background()); err != nil {
		t.Fatal(err)
	}
	e, _ := ended(t, s, 0)
	if !e.Stopped || e.Failed {
		t.Errorf("ended %+v", e)
	}
	if now := snap(t, s); now.State != Idle || now.CostUSD != 0.25 {
		t.Errorf("afterwards %+v", now)
	}
}

func TestConversationContinuesAcrossTurns(t *testing.T) {
	var resumed []string
	s := newTestSession(t, func(_ context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		resumed = append(resumed, req.Conversation)
		obs.Event(agent.Init{Conversation: "c1", Model: "m"}, nil)
		return agent.Result{Conversation: "c1", CostUSD: 0.1, Usage: agent.Usage{Input: 10}}, nil
	})
	last := uint64(0)
	for range 2 {
		if err := s.StartTurn(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		_, last = ended(t, s, last)
	}
	if !slices.Equal(resumed, []string{"", "c1"}) {
		t.Errorf("resumed %q", resumed)
	}
	if now := snap(t, s); now.CostUSD != 0.2 || now.Tokens != 20 || now.Model != "m" || now.Turn != 2 {
		t.Errorf("%+v", now)
	}
}

func TestEmptyPromptsAndClosedSessionsAreRefused(t *testing.T) {
	s := newTestSession(t, func(context.Context, agent.Request, agent.Observer) (agent.Result, error) { return agent.Result{}, nil })
	if err := s.StartTurn(context.Background(), " \n"); err == nil {
		t.Error("an empty prompt was taken")
	}
	if err := s.Close(context.Background(), host.HostClosing); err != nil {
		t.Fatal(err)
	}
	if err := s.Queue(context.Background(), "go"); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Attach("terminal", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Events(context.Background(), snap(t, s).Last); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A turn that panics fails; the terminal and the other sessions stay.
func TestPanickingTurnFails(t *testing.T) {
	s := newTestSession(t, func(context.Context, agent.Request, agent.Observer) (agent.Result, error) { panic("boom") })
	if err := s.StartTurn(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	if e, _ := ended(t, s, 0); !e.Failed || !strings.Contains(e.Text, "boom") {
		t.Errorf("ended %+v", e)
	}
}

func TestFeedIsBoundedAndTellsOfTheGap(t *testing.T) {
	f := newFeed()
	for range feedSize + 100 {
		f.add(Event{Kind: Notice}, time.Time{})
	}
	b, err := f.read(context.Background(), 3)
	if err != nil || !b.Resync || len(b.Events) != feedBatch {
		t.Fatalf("resync %v, %d events, %v", b.Resync, len(b.Events), err)
	}
	after := b.Events[len(b.Events)-1].Seq
	if b, _ = f.read(context.Background(), after); b.Resync || b.Events[0].Seq != after+1 {
		t.Errorf("went on at %d after %d", b.Events[0].Seq, after)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.read(ctx, f.newest()); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that gave up got %v", err)
	}
}

func TestTraceOfATurn(t *testing.T) {
	s := newTestSession(t, func(ctx context.Context, _ agent.Request, obs agent.Observer) (agent.Result, error) {
		obs.Started([]string{"/bin/agent", "-p", "secret plan"})
		obs.Normalised("q1", []askbridge.Note{{Path: "questions", Text: "a string was read as JSON"}})
		obs.Event(agent.ToolUse{ID: "t1", Name: "Bash"}, nil)
		return agent.Result{}, nil
	})
	if err := s.StartTurn(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	ended(t, s, 0)
	if err := s.Close(context.Background(), host.HostClosing); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(s.TracePath())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		if _, rest, ok := strings.Cut(line, `"event":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			names = append(names, name)
		}
	}
	want := []string{"session.opened", "turn.started", "agent.started", "ask.normalised", "agent.tool", "agent.ended", "turn.ended", "session.closed"}
	if !slices.Equal(names, want) {
		t.Errorf("trace %v", names)
	}
	if !strings.Contains(string(raw), `["/bin/agent","-p","(11 bytes)"]`) {
		t.Errorf("the trace does not tell how the agent was started, and no more: %s", raw)
	}
}
