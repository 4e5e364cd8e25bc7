package mcpstdio_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"example.com/kitsoki/askbridge"
)

func TestAnAnswerIsTheSameInTextAndStructure(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	c.call("1", simple)
	ask := receive(t, "the ask", h.asks)
	ask.end <- askbridge.Final{
		Answers: map[string]any{"Q <b>&\u2028?": "l'été › <&>", "Many?": []string{"x", "own\n\"words\""}, "None?": []string{}},
		Notes:   map[string]string{"Many?": "a note"},
	}
	r := receive(t, "the result", c.lines).toolResult(t)
	if r.IsError {
		t.Fatalf("an answer came as an error: %+v", r)
	}
	want := map[string]any{
		"answers": map[string]any{"Q <b>&\u2028?": "l'été › <&>", "Many?": []any{"x", "own\n\"words\""}, "None?": []any{}},
		"notes":   map[string]any{"Many?": "a note"},
	}
	for name, raw := range map[string][]byte{"text": []byte(r.Content[0].Text), "structured content": r.Structured} {
		var got map[string]any
		if err := json.Unmarshal(raw, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the %s is %s", name, raw)
		}
	}
	if !strings.Contains(r.Content[0].Text, "l'été › <&>") {
		t.Errorf("the operator's words are escaped for the model: %s", r.Content[0].Text)
	}
}

func TestAnAnswerWithoutNotesHasNone(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	c.call("1", simple)
	receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
	r := receive(t, "the result", c.lines).toolResult(t)
	if r.Content[0].Text != `{"answers":{"Q?":"a"}}` || string(r.Structured) != r.Content[0].Text {
		t.Errorf("the text is %s, the structured content %s", r.Content[0].Text, r.Structured)
	}
}

// Every way in which nobody answers is an error in words; an error has no structured content to be read instead.
func TestNoAnswerIsAnErrorInWords(t *testing.T) {
	for name, c := range map[string]struct {
		final askbridge.Final
		words string
	}{
		"an error":     {askbridge.Final{Error: "operator did not answer; 100%d <why> (outcome: declined)", Outcome: "declined"}, "operator did not answer; 100%d <why> (outcome: declined)"},
		"nothing":      {askbridge.Final{}, "operator did not answer; proceed without this input (outcome: cancelled)"},
		"an empty map": {askbridge.Final{Answers: map[string]any{}}, "operator did not answer; proceed without this input (outcome: cancelled)"},
		"null":         {askbridge.Final{Answers: map[string]any{"Q?": nil}}, "operator did not answer; proceed without this input (outcome: cancelled)"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			client := start(t.Context(), t, serve(h.dir.Socket()))
			client.initialize()
			client.call("1", simple)
			receive(t, "the ask", h.asks).end <- c.final
			r := receive(t, "the result", client.lines).toolResult(t)
			if !r.IsError || r.Content[0].Text != c.words || r.Structured != nil {
				t.Errorf("got %+v, want the error %q", r, c.words)
			}
		})
	}
}

func TestFaultyArgumentsAreNamed(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	for raw, words := range map[string]string{
		`{"questions":[{"question":" "}]}`: "questions[0].question: is blank",
		`{}`:                               "questions: is missing",
		`null`:                             "arguments: must be an object",
		`[]`:                               "arguments: must be an object",
		`"text"`:                           "arguments: must be an object",
		`{"questions":[],"questions":[]}`:  "questions: is given twice",
		`{"x":"` + strings.Repeat("x", 1<<20) + `"}`:          "the arguments are 1048584 bytes, 1048576 can be sent",
		`{"questions":[{"question":"\ud800"}]}`:               "unpaired surrogate",
		"{\"questions\":[{\"question\":\"\xff\"}]}":           "not valid UTF-8",
		`{"question":"` + strings.Repeat("q", 8<<10+1) + `"}`: "8193 bytes, 8192 can be shown",
	} {
		c.call("1", raw)
		r := receive(t, "the result", c.lines).toolResult(t)
		if !r.IsError || !strings.Contains(r.Content[0].Text, words) || !strings.HasPrefix(r.Content[0].Text, "the question could not be shown to the operator; correct the arguments") {
			t.Errorf("%.60s got %+v, want %q", raw, r, words)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)
	if r := receive(t, "the result", c.lines).toolResult(t); !r.IsError || !strings.Contains(r.Content[0].Text, "questions: is missing") {
		t.Errorf("a call without arguments got %+v", r)
	}
}

// What a decoder in between would change: the order, doubles, numbers and spellings arrive as they were written.
func TestArgumentsArriveAsTheyWereWritten(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	c.call("1", `{"b":1152921504606846977,"a":1e300,"b2":1.0,"questions":[{"question":"Q?","Question":"R?","queſtion":"S?","x\u0041":1,"options":[{"label":"<a>"}]}]}`)
	ask := receive(t, "the ask", h.asks)
	if q := ask.Questions[0]; q.Question != "Q?" || q.Options[0].Label != "<a>" {
		t.Errorf("the host read %+v", q)
	}
	want := []askbridge.Note{{Path: "", Text: "unknown fields ignored: b, a, b2"}, {Path: "questions[0]", Text: "unknown fields ignored: Question, queſtion, xA"}}
	if !reflect.DeepEqual(ask.Notes, want) {
		t.Errorf("the host noted %+v, want %+v", ask.Notes, want)
	}
	ask.answer(map[string]any{"Q?": "<a>"})
	receive(t, "the result", c.lines)
}

func TestTheAgentsIDOfTheCallComesAlong(t *testing.T) {
	h := newHost(t)
	c := connect(t, serve(h.dir.Socket()))
	var req mcp.CallToolRequest
	req.Params.Name = "ask"
	req.Params.Arguments = json.RawMessage(simple)
	req.Params.Meta = &mcp.Meta{AdditionalFields: map[string]any{"claudecode/toolUseId": "toolu_1"}}
	results := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := c.CallTool(t.Context(), req)
		if err != nil {
			t.Error(err)
		}
		results <- res
	}()
	ask := receive(t, "the ask", h.asks)
	if ask.ToolUseID != "toolu_1" || len(ask.ID) != 32 {
		t.Errorf("the host got the ids %q and %q", ask.ToolUseID, ask.ID)
	}
	ask.answer(map[string]any{"Q?": "a"})
	if res := receive(t, "the result", results); res == nil || res.IsError || fmt.Sprint(res.StructuredContent) != "map[answers:map[Q?:a]]" {
		t.Errorf("the client got %+v", res)
	}
}

func TestAnIDOfTheWrongTypeIsNoID(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	for i, meta := range []string{`{"claudecode/toolUseId":7}`, `{"claudecode/toolUseId":null}`, `{}`, `null`} {
		c.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","_meta":%s,"arguments":%s}}`, i, meta, simple)
		ask := receive(t, "the ask", h.asks)
		if ask.ToolUseID != "" {
			t.Errorf("%s gave the id %q", meta, ask.ToolUseID)
		}
		ask.answer(map[string]any{"Q?": "a"})
		receive(t, "the result", c.lines).toolResult(t)
	}
}

// everything-evenhub#40: asks that come together are open together, and each gets its own answer.
func TestT5TenAsksAtOnceAnsweredInReverse(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	const n = 10
	asks := map[string]*hostAsk{}
	for i := range n {
		c.call(fmt.Sprint(100+i), fmt.Sprintf(`{"questions":[{"question":"%d?"}]}`, i))
	}
	for range n {
		a := receive(t, "the ask", h.asks)
		asks[a.Questions[0].Question] = a
	}
	for i := n - 1; i >= 0; i-- {
		q := fmt.Sprintf("%d?", i)
		delivered := asks[q].answer(map[string]any{q: fmt.Sprint("answer ", i)})
		m := receive(t, "the result", c.lines)
		if got := m.toolResult(t).Content[0].Text; string(m.ID) != fmt.Sprint(100+i) || got != fmt.Sprintf(`{"answers":{"%d?":"answer %d"}}`, i, i) {
			t.Errorf("call %d was answered %s", 100+i, m.raw)
		}
		if !receive(t, "the word of delivery", delivered) {
			t.Errorf("ask %d was not delivered", i)
		}
	}
}
