package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

var which = host.OperatorQuestion{
	Question: "Which ‹one›?\nSay.", Header: "Which", Options: []host.OperatorOption{{Label: "left", Description: "the old way"}, {Label: "right\x1b"}},
}

// managerAt is a process with its sessions in a directory.
func managerAt(t *testing.T, state string, r runner) *Manager {
	t.Helper()
	m := NewManager(ManagerOptions{
		Runner: r, State: state,
		Agent: func(name string) (agent.Command, error) { return agent.Command{Name: name, Path: name}, nil },
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx, host.HostClosing); err != nil {
			t.Error(err)
		}
	})
	return m
}

// holder is a surface that hands over the asks it is shown.
type holder chan host.Ask

func (h holder) Ask(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
	a, _ := host.AskFrom(ctx)
	h <- a
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (h holder) next(t *testing.T) host.Ask {
	t.Helper()
	select {
	case a := <-h:
		return a
	case <-time.After(10 * time.Second):
		t.Fatal("no ask came")
		return nil
	}
}

// crash copies what a process has written so far: what is there after it was killed.
func crash(t *testing.T, state string) string {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "state")
	if err := os.CopyFS(copied, os.DirFS(state)); err != nil {
		t.Fatal(err)
	}
	return copied
}

// until waits for what is written in the background.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatal("never: " + what)
}

// askingRunner asks once in its first turn, and tells which prompts and conversations it was given.
func askingRunner(prompts chan<- agent.Request) runner {
	return func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		prompts <- req
		obs.Event(agent.Init{Conversation: "talk-1", Model: "m"}, nil)
		obs.Line([]byte(`{"type":"system","subtype":"init","session_id":"talk-1","model":"m"}`))
		obs.Line([]byte(`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look around."}]}}`))
		if req.Prompt != "go" {
			return agent.Result{Conversation: "talk-1", CostUSD: 0.5}, nil
		}
		board, _ := host.OperatorPrompterFrom(ctx)
		_, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{Asker: host.Asker{Agent: "scripted", Path: []string{"tests"}}}), req.SessionID, []host.OperatorQuestion{which})
		return agent.Result{Conversation: "talk-1"}, err
	}
}

// A session whose process was killed in the middle of an ask shows it again with its draft, and the answer goes to
// the agent as the next message of its conversation.
func TestKilledInTheMiddleOfAnAsk(t *testing.T) {
	ctx := context.Background()
	prompts := make(chan agent.Request, 10)
	state := t.TempDir()
	m := managerAt(t, state, askingRunner(prompts))
	s, err := m.OpenSession(ctx, Spec{Agent: "scripted", Dir: t.TempDir(), Title: "api"})
	if err != nil {
		t.Fatal(err)
	}
	asks := make(holder, 4)
	detach, err := s.Attach("terminal", asks)
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	if err := s.StartTurn(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	first := asks.next(t)
	if err := first.SetDraft(ctx, 0, host.Draft{Answer: host.Answer{Text: "half a thought"}}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Queue(ctx, "and then"), s.SetDesk(ctx, Desk{Prompt: "half a prompt", History: []string{"go"}})); err != nil {
		t.Fatal(err)
	}
	desk := filepath.Join(state, s.ID(), deskName)
	until(t, "the draft is on the disk", func() bool {
		data, _ := os.ReadFile(desk)
		return strings.Contains(string(data), "half a thought") && strings.Contains(string(data), "half a prompt") && strings.Contains(string(data), "and then")
	})
	until(t, "the transcript is on the disk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), trace.TranscriptName))
		return strings.Contains(string(data), "I look around.") && strings.Contains(string(data), "operator.question.asked")
	})
	<-prompts

	next := managerAt(t, crash(t, state), askingRunner(prompts))
	again, err := next.Resume(ctx, "last", Spec{})
	if err != nil {
		t.Fatal(err)
	}
	got := snap(t, again)
	if got.Title != "api" || len(got.Queue) != 1 || !got.Held || got.Turn != 1 || again.conversation != "talk-1" {
		t.Errorf("came back as %+v, conversation %q", got, again.conversation)
	}
	if d, _ := again.Desk(ctx); d.Prompt != "half a prompt" || len(d.History) != 1 {
		t.Errorf("the desk came back as %+v", d)
	}
	log := logOf(t, again)
	for _, want := range []string{"turn_started go", "said I look around.", "ask_opened Which", "ask_settled asker_gone", "turn_ended", "asked again"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	later := make(holder, 4)
	detachLater, err := again.Attach("terminal", later)
	if err != nil {
		t.Fatal(err)
	}
	defer detachLater()
	ask := later.next(t)
	info := ask.Info()
	if info.Reopens != first.Info().ID || info.ID == first.Info().ID || info.Questions[0].Question != first.Info().Questions[0].Question ||
		info.Questions[0].Options[0].Description != "the old way" || ask.Draft(0).Text != "half a thought" {
		t.Errorf("asked again as %+v with the draft %+v", info, ask.Draft(0))
	}
	if err := ask.Answer(ctx, []host.Answer{{Picked: []int{1}}}); err != nil {
		t.Fatal(err)
	}
	req := <-prompts
	if req.Conversation != "talk-1" || !strings.Contains(req.Prompt, `{"answers":{"Which ‹one›?\nSay.":"right\u001b"}}`) {
		t.Errorf("the agent was sent %q in %q", req.Prompt, req.Conversation)
	}
	if req := <-prompts; req.Prompt != "and then" {
		t.Errorf("the queue went on with %q", req.Prompt)
	}
	until(t, "the session is idle", func() bool { return snap(t, again).State == Idle })
	if err := again.Close(ctx, host.HostClosing); err != nil {
		t.Fatal(err)
	}
	checkFile(t, again.TracePath())
}

// An answer that was asked for again and not given when that process ends is asked for by the next one too.
func TestAskThatIsLostStaysUntilItIsAnswered(t *testing.T) {
	ctx := context.Background()
	prompts := make(chan agent.Request, 10)
	state := t.TempDir()
	m := managerAt(t, state, askingRunner(prompts))
	s, err := m.OpenSession(ctx, Spec{Agent: "scripted", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	asks := make(holder, 4)
	detach, err := s.Attach("terminal", asks)
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	if err := s.StartTurn(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	first := asks.next(t).Info().ID
	until(t, "the ask is on the disk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), deskName))
		return strings.Contains(string(data), first)
	})
	state = crash(t, state)
	for range 2 {
		m := managerAt(t, state, askingRunner(prompts))
		s, err := m.Resume(ctx, "last", Spec{})
		if err != nil {
			t.Fatal(err)
		}
		asks := make(holder, 4)
		detach, err := s.Attach("terminal", asks)
		if err != nil {
			t.Fatal(err)
		}
		if got := asks.next(t).Info().Reopens; got != first {
			t.Errorf("reopens %q, not %q", got, first)
		}
		if err := s.Close(ctx, host.HostClosing); err != nil {
			t.Fatal(err)
		}
		detach()
		checkFile(t, s.TracePath())
	}
}

func TestTwoProcessesOnOneSessionIsAnError(t *testing.T) {
	ctx := context.Background()
	state := t.TempDir()
	m := managerAt(t, state, askingRunner(make(chan agent.Request, 1)))
	if _, err := m.OpenSession(ctx, Spec{Agent: "scripted", Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if _, err := managerAt(t, state, nil).Resume(ctx, "last", Spec{}); !errors.Is(err, ErrInUse) {
		t.Errorf("the second process got %v", err)
	}
}

func checkFile(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if r := trace.Check(f, false); len(r.Violations) > 0 {
		t.Errorf("the trace: %+v", r.Violations)
	}
}

// logOf writes the session's events so far, a line each.
func logOf(t *testing.T, s *Session) string {
	t.Helper()
	var b strings.Builder
	after := uint64(0)
	for last := snap(t, s).Last; after < last; {
		batch, err := s.Events(context.Background(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range batch.Events {
			after = e.Seq
			words := []string{string(e.Kind)}
			if e.Outcome != "" {
				words = append(words, string(e.Outcome))
			}
			b.WriteString(strings.Join(append(words, e.Text), " ") + "\n")
		}
	}
	return b.String()
}

// What was typed into an ask that ends with the session is on the desk of the next process.
func TestDraftOfAnAskIsKeptWhenTheSessionCloses(t *testing.T) {
	ctx := context.Background()
	state := t.TempDir()
	m := managerAt(t, state, askingRunner(make(chan agent.Request, 10)))
	s, err := m.OpenSession(ctx, Spec{Agent: "scripted", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	asks := make(holder, 4)
	detach, err := s.Attach("terminal", asks)
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	if err := s.StartTurn(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	if err := asks.next(t).SetDraft(ctx, 0, host.Draft{Answer: host.Answer{Text: "half a thought"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx, host.NoOperator); err != nil {
		t.Fatal(err)
	}
	again, err := managerAt(t, state, nil).Resume(ctx, s.ID(), Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := again.Desk(ctx); len(d.Kept) != 1 || d.Kept[0] != "half a thought" {
		t.Errorf("the desk is %+v", d)
	}
}
