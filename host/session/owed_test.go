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

// managerWith is managerAt with secrets and texts that are not kept.
func managerWith(t *testing.T, state string, r runner, environ []string, text trace.Text) *Manager {
	t.Helper()
	m := managerAt(t, state, r)
	m.trace = trace.Options{Now: m.opt.Clock.Now, Redact: trace.NewRedactor(environ), Text: text}
	return m
}

// atWork is an agent that begins to work on its prompt and goes on to its end.
func atWork(prompts chan<- agent.Request) runner {
	return func(_ context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		obs.Event(agent.Init{Conversation: "talk-1", Model: "m"}, nil)
		obs.Event(agent.TextDelta{Text: "So"}, nil)
		prompts <- req
		return agent.Result{Conversation: "talk-1"}, nil
	}
}

// answeredOnly is an agent that asks, and that hears nothing of the answer: between the two everything ends.
func answeredOnly(qs ...host.OperatorQuestion) runner {
	return func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		obs.Event(agent.Init{Conversation: "talk-1", Model: "m"}, nil)
		obs.Line([]byte(`{"type":"system","subtype":"init","session_id":"talk-1","model":"m"}`))
		board, _ := host.OperatorPrompterFrom(ctx)
		_, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{ToolUseID: "call", Asker: host.Asker{Agent: "scripted"}}), req.SessionID, qs)
		if err == nil {
			<-ctx.Done()
		}
		return agent.Result{Conversation: "talk-1"}, context.Cause(ctx)
	}
}

// killedAnswered is the state of a process that was killed between an answer and its delivery.
func killedAnswered(t *testing.T, environ []string, text trace.Text, as ...host.Answer) (state string) {
	t.Helper()
	ctx := context.Background()
	state = t.TempDir()
	m := managerWith(t, state, answeredOnly(which), environ, text)
	s, err := m.OpenSession(ctx, Spec{Agent: "scripted", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	asks := make(holder, 4)
	detach, err := s.Attach("terminal", asks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(detach)
	if err := s.StartTurn(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	ask := asks.next(t)
	if err := ask.SetDraft(ctx, 0, host.Draft{Answer: as[0]}); err != nil {
		t.Fatal(err)
	}
	until(t, "the transcript is on the disk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), trace.TranscriptName))
		return strings.Contains(string(data), "operator.question.asked")
	})
	if err := errors.Join(s.Queue(ctx, "and then"), ask.Answer(ctx, as)); err != nil {
		t.Fatal(err)
	}
	if text == trace.TextHash { // then it is there when the answer counts
		return crash(t, state)
	}
	until(t, "the answer is on the desk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), deskName))
		return strings.Contains(string(data), `"owed"`) && strings.Contains(string(data), "and then")
	})
	return crash(t, state)
}

// An answer that was accepted, and that the agent had not taken when the process was killed, goes to the agent as the
// next message, word for word, and the operator is not asked again unless it is not known word for word any more.
func TestAnAnswerIsOwedUntilTheAgentHasIt(t *testing.T) {
	own := host.Answer{Picked: []int{1}, Text: "as before, \"quoted\" <b>", Note: "a note\nof two lines"}
	const whole = `{"answers":{"Which ‹one›?\nSay.":"right\u001b"},"notes":{"Which ‹one›?\nSay.":"as before, \"quoted\" <b>\na note\nof two lines"}}`
	for name, c := range map[string]struct {
		text   trace.Text
		answer host.Answer
		secret string
		noDesk bool
		want   string // empty: it is asked again
	}{
		"both have it":                      {answer: own, want: whole},
		"the trace has it":                  {answer: own, want: whole, noDesk: true},
		"the desk has it":                   {answer: own, want: whole, text: trace.TextHash},
		"neither has":                       {answer: host.Answer{Text: "call me hunter2-hunter2"}, secret: "hunter2-hunter2"},
		"neither has, and there is no desk": {answer: host.Answer{Text: "call me hunter2-hunter2"}, secret: "hunter2-hunter2", noDesk: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			environ := []string{"DB_PASSWORD=" + c.secret}
			state := killedAnswered(t, environ, c.text, c.answer)
			if c.noDesk {
				removeDesks(t, state)
			}
			prompts := make(chan agent.Request, 10)
			s, err := managerWith(t, state, atWork(prompts), environ, c.text).Resume(ctx, "last", Spec{})
			if err != nil {
				t.Fatal(err)
			}
			asks := make(holder, 4)
			detach, err := s.Attach("terminal", asks)
			if err != nil {
				t.Fatal(err)
			}
			defer detach()
			if c.want == "" {
				ask := asks.next(t)
				if info := ask.Info(); info.Reopens == "" || (!c.noDesk && ask.Draft(0).Text != "call me ‹redacted DB_PASSWORD›") {
					t.Errorf("asked again as %+v with %+v", info, ask.Draft(0))
				}
				if err := ask.Answer(ctx, []host.Answer{{Picked: []int{0}}}); err != nil {
					t.Fatal(err)
				}
				c.want = `{"answers":{"Which ‹one›?\nSay.":"left"}}`
			}
			req := nextRequest(t, prompts)
			if !strings.HasSuffix(req.Prompt, c.want) || !strings.HasPrefix(req.Prompt, "You asked the operator with ") || req.Conversation != "talk-1" {
				t.Errorf("the agent was sent %q in %q, want %q", req.Prompt, req.Conversation, c.want)
			}
			until(t, "the session is idle", func() bool { return snap(t, s).State == Idle })
			if n := len(asks); n > 0 {
				t.Errorf("%d more asks", n)
			}
			if log := logOf(t, s); !strings.Contains(log, "the answer goes to the agent as the next message") || !strings.Contains(log, "ask_delivery") {
				t.Errorf("the log does not say it:\n%s", log)
			}
			if err := s.Close(ctx, host.HostClosing); err != nil {
				t.Fatal(err)
			}
			checkFile(t, s.TracePath())
			// It is owed no more.
			last, err := managerWith(t, crash(t, state), atWork(prompts), environ, c.text).Resume(ctx, "last", Spec{})
			if err != nil || len(last.owed) > 0 || len(last.reopen) > 0 {
				t.Errorf("the next process still has %+v and %+v, %v", last.owed, last.reopen, err)
			}
		})
	}
}

func removeDesks(t *testing.T, state string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(state, "*", deskName))
	if err != nil || len(paths) == 0 {
		t.Fatalf("desks: %v, %v", paths, err)
	}
	for _, p := range paths {
		if err := os.Remove(p); err != nil {
			t.Fatal(err)
		}
	}
}

func nextRequest(t *testing.T, prompts <-chan agent.Request) agent.Request {
	t.Helper()
	select {
	case r := <-prompts:
		return r
	case <-time.After(10 * time.Second):
		t.Fatal("no turn was started")
		return agent.Request{}
	}
}

// lostTwo is the state of a process that was killed while the agent and one of its sub-agents asked.
func lostTwo(t *testing.T) (state string) {
	t.Helper()
	ctx := context.Background()
	state = t.TempDir()
	other := host.OperatorQuestion{Question: "declined", Options: []host.OperatorOption{{Label: "yes"}, {Label: "no"}}}
	m := managerAt(t, state, func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		obs.Event(agent.Init{Conversation: "talk-1", Model: "m"}, nil)
		obs.Line([]byte(`{"type":"system","subtype":"init","session_id":"talk-1","model":"m"}`))
		board, _ := host.OperatorPrompterFrom(ctx)
		done := make(chan error, 2)
		ask := func(asker host.Asker, q host.OperatorQuestion) {
			_, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{ToolUseID: q.Header, Asker: asker}), req.SessionID, []host.OperatorQuestion{q})
			done <- err
		}
		go ask(host.Asker{Agent: "scripted"}, which)
		go ask(host.Asker{Agent: "scripted", Path: []string{"tests"}}, other)
		for range 2 {
			if err := <-done; err == nil {
				t.Error("an ask was answered")
			}
		}
		return agent.Result{Conversation: "talk-1"}, context.Cause(ctx)
	})
	s, err := m.OpenSession(ctx, Spec{Agent: "scripted", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	asks := make(holder, 4)
	detach, err := s.Attach("terminal", asks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(detach)
	if err := s.StartTurn(ctx, "go"); err != nil {
		t.Fatal(err)
	}
	first, second := asks.next(t).Info().ID, asks.next(t).Info().ID
	if err := s.Queue(ctx, "and then"); err != nil {
		t.Fatal(err)
	}
	until(t, "both are on the desk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), deskName))
		return strings.Contains(string(data), first) && strings.Contains(string(data), second) && strings.Contains(string(data), "and then")
	})
	until(t, "the transcript is on the disk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), trace.TranscriptName))
		return strings.Contains(string(data), first) && strings.Contains(string(data), second)
	})
	return crash(t, state)
}

// takenUp takes the last session of a state up again, with an operator at it.
func takenUp(t *testing.T, state string, r runner) (s *Session, asks holder) {
	t.Helper()
	s, err := managerAt(t, state, r).Resume(context.Background(), "last", Spec{})
	if err != nil {
		t.Fatal(err)
	}
	asks = make(holder, 4)
	detach, err := s.Attach("terminal", asks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(detach)
	return s, asks
}

// both are the asks of lostTwo, the agent's own first.
func (h holder) both(t *testing.T) (own, sub host.Ask) {
	t.Helper()
	own, sub = h.next(t), h.next(t)
	if len(own.Info().Asker.Path) > 0 {
		own, sub = sub, own
	}
	return own, sub
}

// Two asks that were open at a kill are both asked again, and what came of them goes to the agent at once, as it would
// have; then the queue goes on. The words of a decline, and what was noted beside an answer, go along.
func TestTwoAsksThatAreLostAreOneMessage(t *testing.T) {
	ctx := context.Background()
	prompts := make(chan agent.Request, 10)
	s, asks := takenUp(t, lostTwo(t), atWork(prompts))
	own, sub := asks.both(t)
	if err := own.Answer(ctx, []host.Answer{{Picked: []int{0}, Note: "for now"}}); err != nil {
		t.Fatal(err)
	}
	until(t, "one is left", func() bool { return snap(t, s).Asks == 1 })
	if snap(t, s).Turn != 1 || len(prompts) > 0 {
		t.Error("a turn was started while the other ask is open")
	}
	if err := sub.Decline(ctx, "who knows", nil); err != nil {
		t.Fatal(err)
	}
	got := nextRequest(t, prompts).Prompt
	for _, want := range []string{
		"2 calls asked the operator with mcp__operator__ask before this conversation was interrupted.",
		`1. asked by you: {"answers":{"Which ‹one›?\nSay.":"left"},"notes":{"Which ‹one›?\nSay.":"for now"}}`,
		"2. asked by your sub-agent tests: the operator declined to answer: who knows. Go on",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the agent was sent %q, which lacks %q", got, want)
		}
	}
	if got := nextRequest(t, prompts).Prompt; got != "and then" {
		t.Errorf("the queue went on with %q", got)
	}
	until(t, "the session is idle", func() bool { return snap(t, s).State == Idle })
	if err := s.Close(ctx, host.HostClosing); err != nil {
		t.Fatal(err)
	}
	checkFile(t, s.TracePath())
}

// A question that reads like an outcome is a question.
func TestAQuestionThatReadsDeclined(t *testing.T) {
	ctx := context.Background()
	prompts := make(chan agent.Request, 10)
	s, asks := takenUp(t, lostTwo(t), atWork(prompts))
	own, sub := asks.both(t)
	if err := sub.Answer(ctx, []host.Answer{{Picked: []int{1}}}); err != nil {
		t.Fatal(err)
	}
	if err := own.Decline(ctx, "", nil); err != nil {
		t.Fatal(err)
	}
	if got := nextRequest(t, prompts).Prompt; !strings.Contains(got, `asked by your sub-agent tests: {"answers":{"declined":"no"}}`) {
		t.Errorf("the agent was sent %q", got)
	}
	nextRequest(t, prompts)
	until(t, "the session is idle", func() bool { return snap(t, s).State == Idle })
}

// A lost ask is no part of a turn: it outlives the stop of one, with what was typed into it; and a close, too.
func TestALostAskOutlivesAStopAndAClose(t *testing.T) {
	ctx := context.Background()
	state := lostTwo(t)
	started := make(chan struct{})
	s, asks := takenUp(t, state, func(ctx context.Context, _ agent.Request, _ agent.Observer) (agent.Result, error) {
		close(started)
		<-ctx.Done()
		return agent.Result{}, context.Cause(ctx)
	})
	own, _ := asks.both(t)
	if err := own.SetDraft(ctx, 0, host.Draft{Answer: host.Answer{Text: "typed later"}, Rev: own.Draft(0).Rev}); err != nil {
		t.Fatal(err)
	}
	if err := s.StartTurn(ctx, "meanwhile"); err != nil {
		t.Fatal(err)
	}
	<-started
	if err := s.CancelTurn(ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		own, _ = asks.both(t)
		if got := own.Draft(0).Text; got != "typed later" {
			t.Errorf("it came back with %q", got)
		}
		if err := s.Close(ctx, host.HostClosing); err != nil {
			t.Fatal(err)
		}
		checkFile(t, s.TracePath())
		s, asks = takenUp(t, crash(t, state), atWork(make(chan agent.Request, 10)))
	}
}

// An agent that does not come to read what it is owed gets it with the next prompt; the queue waits meanwhile.
func TestWhatIsOwedGoesAlongWithTheNextPrompt(t *testing.T) {
	ctx := context.Background()
	prompts := make(chan agent.Request, 10)
	failing := true
	s, _ := takenUp(t, killedAnswered(t, nil, "", host.Answer{Picked: []int{0}}), func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		if failing {
			prompts <- req
			return agent.Result{}, errors.New("there is no such conversation")
		}
		return atWork(prompts)(ctx, req, obs)
	})
	nextRequest(t, prompts)
	until(t, "the turn has failed", func() bool { return snap(t, s).State == Failed })
	if got := snap(t, s); len(got.Queue) != 1 || !got.Held {
		t.Errorf("the queue is %+v", got)
	}
	failing = false
	const answer = `{"answers":{"Which ‹one›?\nSay.":"left"}}`
	if err := s.StartTurn(ctx, "/compact"); err != nil {
		t.Fatal(err)
	}
	if got := nextRequest(t, prompts).Prompt; got != "/compact" {
		t.Errorf("a command of the agent's became %q", got)
	}
	if got := nextRequest(t, prompts).Prompt; !strings.HasSuffix(got, answer) {
		t.Errorf("then came %q", got)
	}
	if got := nextRequest(t, prompts).Prompt; got != "and then" {
		t.Errorf("then came %q", got)
	}
	until(t, "the session is idle", func() bool { return snap(t, s).State == Idle })
	if err := s.Close(ctx, host.HostClosing); err != nil {
		t.Fatal(err)
	}
	checkFile(t, s.TracePath())
}

// What is handed over without the operator's doing does not let his queue go: that stays held. A turn without an
// operator carries it along.
func TestWhatIsOwedAndTheQueue(t *testing.T) {
	ctx := context.Background()
	state := killedAnswered(t, nil, "", host.Answer{Picked: []int{0}})
	prompts := make(chan agent.Request, 10)
	s, err := managerAt(t, crash(t, state), atWork(prompts)).Resume(ctx, "last", Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx, Input{Prompt: "from a shell"}); err != nil {
		t.Fatal(err)
	}
	if got := nextRequest(t, prompts).Prompt; !strings.HasSuffix(got, "\"left\"}}\n\nfrom a shell") {
		t.Errorf("the agent was sent %q", got)
	}
	s, _ = takenUp(t, state, atWork(make(chan agent.Request, 10)))
	until(t, "what is owed was taken", func() bool { got := snap(t, s); return got.Turn == 2 && got.State == Idle })
	if got := snap(t, s); len(got.Queue) != 1 || !got.Held {
		t.Errorf("the queue is %+v", got)
	}
}
