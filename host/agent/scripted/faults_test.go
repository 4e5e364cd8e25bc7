package scripted_test

import (
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const head = "name: n\ndescription: d\nwithout_operator: Nobody can be asked.\nsteps:\n"

const twoHelpers = head + `  - say: two helpers
  - together:
      - parent:
          id: one
          name: tests
          description: look at the tests
          prompt: go one
          steps:
            - ask: {id: a, questions: [{question: A?, header: A, options: [{label: x}, {label: y}], multiSelect: false}]}
            - say: '{{answer "a" "A?"}}'
      - parent:
          name: docs
          description: look at the docs
          prompt: go two
          steps:
            - tool: {name: Read, result: text}
            - ask: {id: b, questions: [{question: B?}]}
            - say: '{{answer "b" "B?"}}'
  - say: 'both: {{answer "a" "A?"}}, {{answer "b" "B?"}}'
`

// The server answers only when both asks are open, so this ends only when they are asked at once.
func TestTwoSubAgentsAskAtOnce(t *testing.T) {
	b := newBench(t).operator(`pair {"answers":{"A?":"x","B?":"own"}}`).plays(twoHelpers).with("--include-partial-messages")
	b.env["MCP_TOOL_TIMEOUT"] = "10000" // of asks that are not open at once
	o := b.run()
	if last := o.succeeded(); last != "both: x, own" {
		t.Errorf("the last words are %q", last)
	}
	agents := o.uses("Agent")
	if len(agents) != 2 {
		t.Fatalf("%d sub-agents", len(agents))
	}
	parents := map[string]string{} // question to the call that started its sub-agent
	for _, e := range o.events() {
		if e.Type == "stream_event" && e.Parent != "" {
			t.Error("a sub-agent's message comes in pieces")
		}
		for _, b := range e.Message.Content {
			var in struct{ Questions []struct{ Question string } }
			if b.Type == "tool_use" && b.Name == askTool && json.Unmarshal(b.Input, &in) == nil {
				parents[in.Questions[0].Question] = e.Parent
			}
		}
	}
	if parents["A?"] != agents[0].ID || parents["B?"] != agents[1].ID {
		t.Errorf("the asks' parents are %v, the sub-agents' calls %s and %s", parents, agents[0].ID, agents[1].ID)
	}
	if res := o.toolResult(agents[0].ID); !strings.Contains(string(res.Content), `"x"`) {
		t.Errorf("the sub-agent's result is %s", res.Content)
	}
	if o := newBench(t).plays(twoHelpers).run(); o.succeeded() != "Nobody can be asked." || len(o.uses("Agent")) != 0 {
		t.Errorf("without operator the stream is\n%s", o.raw)
	}
}

const twoAsks = head + `  - together:
      - ask: {id: a, questions: [{question: A?}]}
      - ask: {id: b, questions: [{question: B?}]}
  - say: '{{answer "a" "A?"}} {{answer "b" "B?"}}'
`

func TestTwoAsksOfOneMessageAreOpenAtOnce(t *testing.T) {
	b := newBench(t).operator(`pair {"answers":{"A?":"x","B?":"y"}}`).plays(twoAsks)
	b.env["MCP_TOOL_TIMEOUT"] = "10000" // of asks that are not open at once
	o := b.run()
	if last := o.succeeded(); last != "x y" || o.result().Turns != 3 {
		t.Errorf("the last words are %q, turns %d", last, o.result().Turns)
	}
}

// claude runs tools without readOnlyHint one after another: the second is called when the first has its result.
func TestToolsThatWriteWaitForEachOther(t *testing.T) {
	b := newBench(t).operator("block", "TEST_WRITES=1").plays(twoAsks)
	b.env["MCP_TOOL_TIMEOUT"] = "200"
	o := b.run()
	uses := o.uses(askTool)
	raw, err := os.ReadFile(o.log)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for line := range strings.Lines(string(raw)) {
		for _, method := range []string{`"tools/call"`, `"notifications/cancelled"`} {
			if strings.Contains(line, method) {
				order = append(order, method)
			}
		}
	}
	if len(uses) != 2 || strings.Join(order, " ") != `"tools/call" "notifications/cancelled" "tools/call" "notifications/cancelled"` {
		t.Errorf("%d uses, the server read %q", len(uses), order)
	}
}

func TestMalformedArgumentsGoOutAsTheyStand(t *testing.T) {
	o := newBench(t).operator("fail no").plays(head + `  - ask: {id: a, arguments: {questions: "[{\"question\":\"Port?\"}]", zeta: "\u001b[31m", alpha: [1, 2.5, null, true]}}
  - on: {call: a, error: [{say: '{{error "a"}}'}]}
`).run()
	if last := o.succeeded(); last != "no" {
		t.Errorf("the last words are %q", last)
	}
	want := `{"questions":"[{\"question\":\"Port?\"}]","zeta":"\u001b[31m","alpha":[1,2.5,null,true]}`
	if got := string(o.uses(askTool)[0].Input); got != want {
		t.Errorf("the input is %s", got)
	}
}

func TestDyingWithAnExitCode(t *testing.T) {
	b := newBench(t).operator("block").plays(head + "  - together:\n      - ask: {questions: [{question: Q?}]}\n      - die: {code: 7, after: 50ms}\n")
	o := b.run()
	if o.code != 7 || o.stderr != "" || len(o.results()) != 0 {
		t.Errorf("exit code %d, stderr %q, %d results", o.code, o.stderr, len(o.results()))
	}
	if len(o.uses(askTool)) != 1 || len(o.requests("notifications/cancelled")) != 0 {
		t.Error("a crash takes its leave")
	}
	b.eventually("eof")
}

func TestDyingBySignal(t *testing.T) {
	b := newBench(t).operator("block").plays(head + "  - together:\n      - ask: {questions: [{question: Q?}]}\n      - die: {signal: KILL, after: 50ms}\n")
	p := b.start()
	o, _ := p.wait()
	if how := p.cmd.ProcessState.String(); how != "signal: killed" || len(o.results()) != 0 {
		t.Errorf("it ended with %s, %d results", how, len(o.results()))
	}
	b.eventually("eof")
}

func TestHangingEndsBySIGTERM(t *testing.T) {
	b := newBench(t).operator("block").plays(head + "  - say: wait\n  - hang: {}\n")
	p := b.start()
	b.eventually(`"tools/list"`)
	p.signal(syscall.SIGTERM)
	if o, took := p.wait(); o.code != 143 || took > longAfter {
		t.Errorf("exit code %d after %s", o.code, took)
	}
}

func TestADeafRunEndsBySIGKILLAlone(t *testing.T) {
	b := newBench(t).operator("block").plays("deaf: true\n" + head + "  - hang: {}\n")
	p := b.start()
	b.eventually(`"tools/list"`)
	p.signal(syscall.SIGTERM)
	p.signal(os.Interrupt)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.wait()
	}()
	select {
	case <-ended:
		t.Fatal("it ended by SIGTERM or SIGINT")
	case <-time.After(300 * time.Millisecond):
	}
	p.signal(os.Kill)
	select {
	case <-ended:
	case <-time.After(bound):
		t.Fatal("it did not end")
	}
}

func TestAFloodAndALongLine(t *testing.T) {
	const long = 10 << 20
	o := newBench(t).plays(head + "  - flood: {lines: 2000, text: drop}\n  - line: {bytes: 10485760}\n  - say: over\n").with("--include-partial-messages").run()
	if last := o.succeeded(); last != "over" {
		t.Errorf("the last words are %q", last)
	}
	if n := strings.Count(o.raw, `"content_block_delta"`); n < 2000 {
		t.Errorf("%d deltas", n)
	}
	if text := o.texts()[0]; !strings.HasSuffix(text, "\n2000 drop\n") {
		t.Errorf("the flood ends with %q", text[len(text)-20:])
	}
	var content string
	if err := json.Unmarshal(o.toolResult(o.uses("Read")[0].ID).Content, &content); err != nil || len(content) != long {
		t.Errorf("the long line has %d bytes (%v)", len(content), err)
	}
}

func TestGarbageIsPrintedAsItStands(t *testing.T) {
	o := newBench(t).plays(head + "  - garbage: \"\\e]0;pwned\\a not json {\"\n  - garbage: '{\"type\":\"new_kind\"}'\n  - say: over\n").run()
	if o.code != 0 || !strings.Contains(o.raw, "\n\x1b]0;pwned\a not json {\n{\"type\":\"new_kind\"}\n") {
		t.Errorf("exit code %d, stdout\n%q", o.code, o.raw)
	}
}

func TestResultsOtherThanTheUsual(t *testing.T) {
	o := newBench(t).plays(head + `  - say: some words
  - result: {error: true, subtype: error_max_turns, terminal_reason: max_turns, errors: [too many turns], exit: 0}
`).run()
	if r := o.result(); o.code != 0 || !r.IsError || r.Subtype != "error_max_turns" || r.Reason != "max_turns" || len(r.Errors) != 1 {
		t.Errorf("exit code %d, result %+v", o.code, r)
	}
	o = newBench(t).plays(head + "  - result: {error: true, text: 'API Error: 400'}\n").run()
	if r := o.result(); o.code != 1 || !r.IsError || r.Subtype != "success" || r.Result != "API Error: 400" {
		t.Errorf("exit code %d, result %+v", o.code, r)
	}
	// A background sub-agent gives a run two results.
	o = newBench(t).plays(head + "  - say: first\n  - result: {}\n  - say: second\n").run()
	if rs := o.results(); o.code != 0 || len(rs) != 2 || rs[0].Result != "first" || rs[1].Result != "second" {
		t.Errorf("exit code %d, results %+v", o.code, rs)
	}
	o = newBench(t).plays(head+"  - say: done\n  - result: {structured: {b: 1, a: [x]}}\n").with("--json-schema", "{}").run()
	if r := o.result(); string(r.Value) != `{"b":1,"a":["x"]}` || r.Result != "done" {
		t.Errorf("result %+v with the value %s", r, r.Value)
	}
}
