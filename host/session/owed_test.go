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
	if err := errors.Join(s.Queue(ctx, "and then"), ask.Answer(ctx, as)); err != nil {
		t.Fatal(err)
	}
	until(t, "the transcript is on the disk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), trace.TranscriptName))
		return strings.Contains(string(data), "operator.question.answered")
	})
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
