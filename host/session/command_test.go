package session

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// What stands at the start of an input chooses the verb; the agent's own commands reach it.
func TestInputsChooseTheirVerb(t *testing.T) {
	for text, want := range map[string]struct {
		verb   agent.Verb
		prompt string
	}{
		"go on":                        {"", "go on"},
		"/compact now":                 {"", "/compact now"},
		"/asked for it":                {"", "/asked for it"},
		"/ask why?":                    {agent.Ask, "why?"},
		" /task\n\tmake it\n  so":      {agent.Task, "make it\n  so"},
		"/decide a|b which?":           {agent.Decide, "which?"},
		"see /ask":                     {"", "see /ask"},
		"/decide ja|nein ist es wahr?": {agent.Decide, "ist es wahr?"},
	} {
		in, err := inputOf(text)
		if err != nil || in.Verb != want.verb || in.Prompt != want.prompt || in.shown() != text || (in.Verb == agent.Decide) != (in.Schema != nil) {
			t.Errorf("%q is %+v, %v", text, in, err)
		}
	}
	for text, word := range map[string]string{
		"": "empty", " \n": "empty", "/ask": "/ask needs a text", "/task  ": "/task needs a text", "/decide a|b": "/decide needs a text",
		"/decide which?": "words to pick from", "/decide a|a x": "words to pick from", "/decide a||b x": "words to pick from", "/decide |a x": "words to pick from",
	} {
		if in, err := inputOf(text); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q is %+v, %v", text, in, err)
		}
	}
}

// The choice becomes a schema that takes one of the words and nothing else; what was decided is said at the end.
func TestDecideInTheComposer(t *testing.T) {
	s := newTestSession(t, func(_ context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
		var schema struct {
			Properties struct {
				Choice struct{ Enum []string }
			}
		}
		if err := json.Unmarshal(req.Schema, &schema); err != nil || strings.Join(schema.Properties.Choice.Enum, ",") != "yes,no" || req.Prompt != "safe?" {
			return agent.Result{}, errors.New("got " + string(req.Schema))
		}
		return agent.Result{Structured: json.RawMessage(`{"choice":"no","reason":"It\u001b[31m writes."}`)}, nil
	})
	if err := s.StartTurn(context.Background(), "/decide yes|no safe?"); err != nil {
		t.Fatal(err)
	}
	e, _ := ended(t, s, 0)
	if e.Failed || e.Text != "decided: no. It‹ESC›[31m writes." {
		t.Errorf("the end is %+v", e)
	}
	if err := s.Queue(context.Background(), "/decide this"); err == nil {
		t.Error("a decide without choices was taken")
	}
}

// The access changes between turns: the running one keeps its own, the screen knows both, and the trace has it.
func TestAccessChangesFromTheNextTurnOn(t *testing.T) {
	step, got := make(chan struct{}), make(chan agent.Access, 2)
	s := newTestSession(t, func(_ context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
		got <- req.Access
		<-step
		return agent.Result{}, nil
	})
	ctx := context.Background()
	if err := s.SetAccess(ctx, "bogus"); err == nil || !strings.Contains(err.Error(), "use read, ask, edit or full") {
		t.Errorf("got %v", err)
	}
	if err := s.StartTurn(ctx, "one"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetAccess(ctx, "read"); err != nil {
		t.Fatal(err)
	}
	if now := snap(t, s); now.Access != "edit" || now.Next != "read" {
		t.Errorf("while the turn runs: %q, then %q", now.Access, now.Next)
	}
	step <- struct{}{}
	_, last := ended(t, s, 0)
	if now := snap(t, s); now.Access != "read" || now.Next != "" {
		t.Errorf("after the turn: %q, then %q", now.Access, now.Next)
	}
	if err := s.StartTurn(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	step <- struct{}{}
	ended(t, s, last)
	if a, b := <-got, <-got; a != agent.Edit || b != agent.Read {
		t.Errorf("the turns had %q and %q", a, b)
	}
	if err := s.Close(ctx, host.HostClosing); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(s.TracePath())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"event":"session.access"`, `"access":"read","was":"edit"`, `"turn":2,"verb":"converse","access":"read"`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the trace lacks %s: %s", want, raw)
		}
	}
	if err := s.SetAccess(ctx, "full"); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}
