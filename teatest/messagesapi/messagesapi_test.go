package messagesapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/kitsoki/teatest/messagesapi"
)

func TestAToolCallAndItsResult(t *testing.T) {
	question := map[string]any{"question": strings.Repeat("Which DB? 繁體 ", 20)}
	s := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.HasToolResultFor("ask-1"), Reply: messagesapi.Say("Going on with Postgres.")},
		messagesapi.Step{When: messagesapi.ToolOffered("mcp__operator__ask"), Reply: messagesapi.With(
			messagesapi.Text("I have to ask."), messagesapi.Use("ask-1", "mcp__operator__ask", question), messagesapi.Use("", "Bash", nil))},
	)
	first := say(t, s, prompt("build it", "Bash", "mcp__operator__ask"))
	if first.Model != "some-model" || first.StopReason != "tool_use" || !slices.Equal(first.Texts, []string{"I have to ask."}) {
		t.Errorf("first answer %+v", first)
	}
	want, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Tools) != 2 || first.Tools[0] != (called{"ask-1", "mcp__operator__ask", string(want)}) {
		t.Errorf("tool calls %+v, want ask-1 with %s", first.Tools, want)
	}
	if first.Tools[1].ID == "" || first.Tools[1].ID == "ask-1" {
		t.Errorf("the made-up id is %q", first.Tools[1].ID)
	}
	if first.Deltas <= len(first.Tools)+1 {
		t.Errorf("%d deltas: a long input should come in pieces", first.Deltas)
	}

	second := say(t, s, body([]string{"mcp__operator__ask"},
		map[string]any{"role": "user", "content": "build it"},
		toolResult("ask-1", []any{map[string]any{"type": "text", "text": `{"answers":{}}`}}, false),
	))
	if second.StopReason != "end_turn" || !slices.Equal(second.Texts, []string{"Going on with Postgres."}) {
		t.Errorf("second answer %+v", second)
	}
	if got := s.ToolResults()["ask-1"]; got != (messagesapi.ToolResult{Text: `{"answers":{}}`}) {
		t.Errorf("tool result %+v", got)
	}
}

func TestTheStreamHasTheOrderOfTheRealOne(t *testing.T) {
	s := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("hi")})
	got := say(t, s, prompt("x")).Events
	want := []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
	if !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestWhatARequestTells(t *testing.T) {
	s := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("hi")})
	say(t, s, body([]string{"A", "B"},
		map[string]any{"role": "user", "content": "the prompt"},
		map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "tool_use", "id": "t", "name": "A", "input": map[string]any{"k": 1}}}},
		toolResult("t", "refused", true),
	))
	r := s.WaitRequest(1)
	if !slices.Equal(r.Tools, []string{"A", "B"}) || r.System != "header\nYou are an agent." || !r.Stream || r.Model != "some-model" {
		t.Errorf("request %+v", r)
	}
	if r.Prompt() != "the prompt" {
		t.Errorf("prompt %q", r.Prompt())
	}
	if got := r.ToolResults()["t"]; got != (messagesapi.ToolResult{Text: "refused", IsError: true}) {
		t.Errorf("tool result %+v", got)
	}
	if use := r.Messages[1].Content[0]; use.ID != "t" || use.Name != "A" || string(use.Input) != `{"k":1}` {
		t.Errorf("tool use %+v", use)
	}
	if !json.Valid(r.Body) || r.Header.Get("X-Api-Key") != messagesapi.FakeKey {
		t.Error("body or header is missing")
	}
}

func TestWithoutStreaming(t *testing.T) {
	s := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("whole")})
	req := prompt("x")
	delete(req, "stream")
	status, text := post(t, s, req)
	if status != http.StatusOK || !strings.Contains(text, `"content":[{"type":"text","text":"whole"}]`) || !strings.Contains(text, `"stop_reason":"end_turn"`) {
		t.Errorf("%d %s", status, text)
	}
}

func TestStepsAreUsedOnceUnlessRepeated(t *testing.T) {
	s := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.PromptContains("cat"), Reply: messagesapi.Say("meow")},
		messagesapi.Step{Repeat: true, Reply: messagesapi.Say("always")},
	)
	var got []string
	for _, p := range []string{"a dog", "a cat", "a cat"} {
		got = append(got, say(t, s, prompt(p)).Texts...)
	}
	if want := []string{"always", "meow", "always"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRequestsAtOnceNeverShareAStep(t *testing.T) {
	const n = 20
	var script []messagesapi.Step
	for i := range n {
		script = append(script, messagesapi.Step{Reply: messagesapi.Say(fmt.Sprint(i))})
	}
	s := messagesapi.Start(t, script...)
	texts := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { texts[i] = say(t, s, prompt("x")).Texts[0] })
	}
	wg.Wait()
	slices.Sort(texts)
	if got := len(slices.Compact(texts)); got != n {
		t.Errorf("%d different answers to %d requests", got, n)
	}
}

func TestConditions(t *testing.T) {
	withResult := body(nil, map[string]any{"role": "user", "content": "go"}, toolResult("a", "x", false))
	subAgent := prompt("go")
	subAgent["system"] = "x-anthropic-billing-header: cc_version=1; cc_is_subagent=true;"
	for name, c := range map[string]struct {
		when messagesapi.Condition
		req  map[string]any
		want bool
	}{
		"any":                      {messagesapi.Any(), prompt("x"), true},
		"tool offered":             {messagesapi.ToolOffered("A"), prompt("x", "B", "A"), true},
		"tool not offered":         {messagesapi.ToolOffered("A"), prompt("x", "AA"), false},
		"a result":                 {messagesapi.HasToolResult(), withResult, true},
		"no result":                {messagesapi.HasToolResult(), prompt("x"), false},
		"an old result":            {messagesapi.HasToolResult(), body(nil, toolResult("a", "x", false), map[string]any{"role": "user", "content": "next"}), false},
		"that result":              {messagesapi.HasToolResultFor("a"), withResult, true},
		"another result":           {messagesapi.HasToolResultFor("b"), withResult, false},
		"prompt":                   {messagesapi.PromptContains("go"), withResult, true},
		"reminders are no prompt":  {messagesapi.PromptContains("noise"), prompt("x"), false},
		"sub-agent":                {messagesapi.OfKind(messagesapi.SubAgent), subAgent, true},
		"conversation":             {messagesapi.OfKind(messagesapi.SubAgent), prompt("x"), false},
		"all, one of them fails":   {messagesapi.All(messagesapi.Any(), messagesapi.ToolOffered("A")), prompt("x"), false},
		"all, each of them holds":  {messagesapi.All(messagesapi.Any(), messagesapi.ToolOffered("A")), prompt("x", "A"), true},
		"not":                      {messagesapi.Not(messagesapi.ToolOffered("A")), prompt("x", "A"), false},
		"no condition is any":      {nil, prompt("x"), true},
		"a function of the test's": {func(r messagesapi.Request) bool { return r.Model == "other" }, prompt("x"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := messagesapi.Start(t,
				messagesapi.Step{When: c.when, Reply: messagesapi.Say("held"), Optional: true},
				messagesapi.Step{Reply: messagesapi.Say("did not"), Repeat: true},
			)
			if got := say(t, s, c.req).Texts[0] == "held"; got != c.want {
				t.Errorf("held: %v, want %v", got, c.want)
			}
		})
	}
}
