package askbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

func TestAnAnswerGoesThereAndBack(t *testing.T) {
	final := askbridge.Final{
		Answers: map[string]any{"Q <&\u2028?": "a", "Many?": []string{"x", "own\nwords"}, "None?": []string{}},
		Notes:   map[string]string{"Q <&\u2028?": "a note"}, Outcome: "answered",
	}
	calls := make(chan *askbridge.Call, 1)
	b := listen(t, &handler{ask: func(_ context.Context, c *askbridge.Call) askbridge.Final {
		calls <- c
		return final
	}}, askbridge.ListenOptions{})
	ex := b.ask(t, "id1", `{"questions":[{"question":"Q <&\u2028?","options":["a"]}]}`)
	got, err := ex.Wait(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"Q <&\u2028?": "a", "Many?": []any{"x", "own\nwords"}, "None?": []any{}}
	if !reflect.DeepEqual(got.Answers, want) || !reflect.DeepEqual(got.Notes, final.Notes) || got.Error != "" {
		t.Errorf("got %#v, want %#v with the notes", got, want)
	}
	call := receive(t, "the call", calls)
	if call.ID != "id1" || call.ToolUseID != "toolu_id1" || len(call.Notes) != 1 || call.Questions[0].Question != "Q <&\u2028?" {
		t.Errorf("the host got %+v", call)
	}
}

func TestAnErrorGoesBackInItsWords(t *testing.T) {
	done := make(chan bool, 2)
	b := listen(t, &handler{ask: func(context.Context, *askbridge.Call) askbridge.Final {
		return askbridge.Final{Error: "operator did not answer; <why>", Outcome: "declined", Done: func(ok bool) { done <- ok }}
	}}, askbridge.ListenOptions{})
	got, err := b.ask(t, "id", simple).Wait(bounded(t))
	if err != nil || got.Error != "operator did not answer; <why>" || got.Outcome != "declined" || got.Answers != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if receive(t, "the end", done) {
		t.Error("an error counts as a delivered answer")
	}
}

// No answer is never an answer.
func TestNothingIsNeverAnAnswer(t *testing.T) {
	for name, final := range map[string]askbridge.Final{
		"zero":                           {},
		"an empty map":                   {Answers: map[string]any{}, Outcome: "answered"},
		"notes alone":                    {Notes: map[string]string{"Q?": "n"}},
		"null":                           {Answers: map[string]any{"Q?": nil}},
		"null beside an answer":          {Answers: map[string]any{"Q?": "a", "R?": nil}},
		"a list that is null":            {Answers: map[string]any{"Q?": []string(nil)}},
		"a number":                       {Answers: map[string]any{"Q?": 0}},
		"false":                          {Answers: map[string]any{"Q?": false}},
		"an object":                      {Answers: map[string]any{"Q?": map[string]any{}}},
		"what cannot be encoded":         {Answers: map[string]any{"Q?": make(chan int)}},
		"answers and an error":           {Answers: map[string]any{"Q?": "a"}, Error: "operator did not answer"},
		"a blank":                        {Answers: map[string]any{"Q?": " \n"}},
		"a list with null":               {Answers: map[string]any{"Q?": []any{"a", nil}}},
		"an outcome without any answers": {Outcome: "answered"},
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan bool, 2)
			final.Done = func(ok bool) { done <- ok }
			b := listen(t, &handler{ask: func(context.Context, *askbridge.Call) askbridge.Final { return final }}, askbridge.ListenOptions{})
			p := b.peer(t)
			p.send(b.askFrame("id", simple))
			line := p.line()
			var got map[string]any
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("the last line is %q", line)
			}
			words, _ := got["error"].(string)
			if _, there := got["answers"]; there || !strings.HasPrefix(words, "operator did not answer") || got["outcome"] == "answered" {
				t.Errorf("the last line is %s", line)
			}
			if receive(t, "the end", done) {
				t.Error("it counts as delivered")
			}
		})
	}
}

// A host that is not ours, or is older: the client takes no emptiness for an answer either.
func TestTheClientTakesNothingForAnAnswer(t *testing.T) {
	for _, line := range []string{`{}`, `null`, `{"answers":{}}`, `{"answers":null}`, `{"answers":{},"outcome":"answered"}`, `{"ok":true}`, `{"answers":{"Q?":null}}`} {
		t.Run(line, func(t *testing.T) {
			f := fakeHost(t, line+"\n"+`{"error":"words","outcome":"timed_out"}`+"\n")
			got, err := f.Wait(bounded(t))
			if err != nil || got.Answers != nil || got.Error != "words" {
				t.Errorf("got %+v, %v; want the error that came after", got, err)
			}
		})
	}
}

func TestDeadlinesAreToldAndMove(t *testing.T) {
	t0 := time.Now().Add(time.Hour).Round(0)
	b := listen(t, &handler{ask: func(_ context.Context, c *askbridge.Call) askbridge.Final {
		for i := range 3 {
			if err := c.Deadline(t0.Add(time.Duration(i) * time.Minute)); err != nil {
				t.Error(err)
			}
		}
		f, _ := answer("a")
		return f
	}}, askbridge.ListenOptions{})
	p := b.peer(t)
	p.send(b.askFrame("id", simple))
	stamp := func(i int) string {
		s, _ := json.Marshal(t0.Add(time.Duration(i) * time.Minute))
		return string(s)
	}
	for i, want := range []string{`{"accepted":{"deadline":` + stamp(0) + `}}`, `{"deadline":` + stamp(1) + `}`, `{"deadline":` + stamp(2) + `}`, `{"answers":{"Q?":"a"}}`} {
		if got := p.line(); got != want {
			t.Errorf("line %d is %s, want %s", i, got, want)
		}
	}
}

func TestWaitGivesUpSomeTimeAfterTheLastDeadline(t *testing.T) {
	withdrawn := make(chan error, 1)
	const step, grace = 150 * time.Millisecond, 100 * time.Millisecond
	b := listen(t, &handler{ask: func(ctx context.Context, c *askbridge.Call) askbridge.Final {
		now := time.Now()
		_ = c.Deadline(now.Add(step))
		_ = c.Deadline(now.Add(2 * step))
		<-ctx.Done()
		withdrawn <- context.Cause(ctx)
		return askbridge.Final{}
	}}, askbridge.ListenOptions{})
	c := b.client(t)
	c.SetBounds(askbridge.Bounds{Grace: grace})
	began := time.Now()
	ex, err := c.Ask(t.Context(), askbridge.AskParams{ID: "id", Arguments: json.RawMessage(simple)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ex.Wait(bounded(t))
	if err == nil || !strings.Contains(err.Error(), "silent after the deadline") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took < 2*step+grace {
		t.Errorf("it gave up after %v, before the deadline it was told last", took)
	}
	_ = ex.Close()
	if err := receive(t, "the end of the ask", withdrawn); !errors.Is(err, askbridge.ErrAskerGone) {
		t.Errorf("the host was told %v", err)
	}
}

func TestWaitGivesUpOnAHostThatNeverAccepts(t *testing.T) {
	ex := fakeHost(t, "")
	_, err := ex.Wait(bounded(t))
	if err == nil || !strings.Contains(err.Error(), "silent") {
		t.Errorf("got %v", err)
	}
}
