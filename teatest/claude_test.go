package teatest

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

const askTool = "mcp__operator__ask"

// askInput is the input of the ask tool for single-select questions with these options.
func askInput(questions map[string][]string) json.RawMessage {
	type option struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	}
	type question struct {
		Question    string   `json:"question"`
		Header      string   `json:"header"`
		Options     []option `json:"options"`
		MultiSelect bool     `json:"multiSelect"`
	}
	var qs []question
	for text, labels := range questions {
		q := question{Question: text, Header: "Pick"}
		for _, l := range labels {
			q.Options = append(q.Options, option{Label: l, Description: "about " + l})
		}
		qs = append(qs, q)
	}
	raw, err := json.Marshal(map[string]any{"questions": qs})
	if err != nil {
		panic(err)
	}
	return raw
}

// claude starts kitsoki with the real agent against the scripted API, in an environment built from nothing.
func claude(t *testing.T, script ...messagesapi.Step) (*tmux.Pane, *messagesapi.Server, []string) {
	t.Helper()
	bin := claudecli.Require(t)
	tmux.Require(t)
	api := messagesapi.Start(t, script...)
	env := claudecli.Env(t, api.URL(), agent.EnvClaudeBin+"="+bin)
	p := tmux.Start(t, 80, 24, env, program(t), "--cwd", t.TempDir())
	p.WaitFor("idle")
	return p, api, env
}

func prompt(p *tmux.Pane) {
	p.Type("build it")
	p.WaitFor("> build it")
	p.Keys("Enter")
}

func TestClaudeAsksAndGoesOnWithTheAnswer(t *testing.T) {
	p, api, env := claude(t,
		messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.With(
			messagesapi.Text("I need a decision."),
			messagesapi.Use("toolu_db", askTool, askInput(map[string][]string{"Which DB?": {"Postgres", "Yes, always; SQLite"}})))},
		messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_db"), Reply: messagesapi.Say("Going on with it.")},
	)
	prompt(p)
	p.WaitFor("Which DB?")
	p.WaitFor("waits")
	quiet()
	p.Keys("2", "Enter")
	p.WaitFor("Going on with it.")
	p.WaitFor("idle")
	result := api.ToolResults()["toolu_db"]
	if result.IsError || result.Text != `{"answers":{"Which DB?":"Yes, always; SQLite"}}` {
		t.Errorf("the API saw %+v", result)
	}
	quit(t, p)
	checkNothingLeft(t, env)
	for id, outcome := range checkTrace(t, env) {
		if outcome != "answered" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
	var delivered, toolUse bool
	for _, r := range traceOf(t, env) {
		delivered = delivered || (r.Event == "operator.question.delivered" && r.Data["delivered"] == true)
		toolUse = toolUse || (r.Event == "operator.question.asked" && r.Data["tool_use_id"] == "toolu_db")
	}
	if !delivered || !toolUse {
		t.Errorf("trace: delivered %v, tool use id %v", delivered, toolUse)
	}
}

func TestClaudeIsDeclined(t *testing.T) {
	p, api, env := claude(t,
		messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.Call("toolu_db", askTool,
			askInput(map[string][]string{"Which DB?": {"Postgres (Recommended)", "SQLite"}}))},
		messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_db"), Reply: messagesapi.Say("I assume nothing.")},
	)
	prompt(p)
	p.WaitFor("Which DB?")
	p.WaitFor("waits")
	quiet()
	p.Keys("C-x")
	p.WaitFor("reason")
	p.Type("ask me tomorrow")
	p.Keys("Enter")
	p.WaitFor("I assume nothing.")
	p.WaitFor("idle")
	result := api.ToolResults()["toolu_db"]
	if !result.IsError || !strings.Contains(result.Text, "operator did not answer; proceed without this input") ||
		!strings.Contains(result.Text, "declined") || !strings.Contains(result.Text, "ask me tomorrow") || strings.Contains(result.Text, "Recommended") {
		t.Errorf("the API saw %+v", result)
	}
	quit(t, p)
	checkTrace(t, env)
	checkNothingLeft(t, env)
}

func TestClaudeAsksTwiceInOneMessage(t *testing.T) {
	p, api, env := claude(t,
		messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.With(
			messagesapi.Use("toolu_a", askTool, askInput(map[string][]string{"First?": {"a1", "a2"}})),
			messagesapi.Use("toolu_b", askTool, askInput(map[string][]string{"Second?": {"b1", "b2"}})))},
		messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_b"), Reply: messagesapi.Say("Both are here.")},
	)
	prompt(p)
	p.WaitFor("ask 1 of 2")
	answers := map[string]string{"First?": "2", "Second?": "1"}
	for range 2 {
		quiet()
		for question, key := range answers {
			if strings.Contains(p.Screen(), question) {
				p.Keys(key, "Enter")
				delete(answers, question)
				break
			}
		}
		if len(answers) == 1 {
			p.WaitFor("ask 1 of 1")
		}
	}
	p.WaitFor("Both are here.")
	p.WaitFor("idle")
	got := api.ToolResults()
	if got["toolu_a"].Text != `{"answers":{"First?":"a2"}}` || got["toolu_b"].Text != `{"answers":{"Second?":"b1"}}` {
		t.Errorf("the API saw %+v and %+v", got["toolu_a"], got["toolu_b"])
	}
	quit(t, p)
	checkTrace(t, env)
	checkNothingLeft(t, env)
}

// T7 with the real agent: killed while it asks, its ask is gone and never comes back.
func TestClaudeIsKilledWhileItAsks(t *testing.T) {
	p, _, env := claude(t,
		messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.Call("toolu_db", askTool,
			askInput(map[string][]string{"Which DB?": {"Postgres", "SQLite"}}))},
	)
	prompt(p)
	p.WaitFor("Which DB?")
	p.WaitFor("waits")
	for _, pid := range childrenOf(t, p.PID()) {
		kill(t, pid)
	}
	p.WaitFor("ended: asker gone")
	quiet()
	p.Keys("Escape")
	p.WaitFor("ended without a result")
	p.WaitFor("failed")
	quit(t, p)
	for id, outcome := range checkTrace(t, env) {
		if outcome != "asker_gone" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
	checkNothingLeft(t, env)
}

// Without an operator the tool is not there, the agent's own question tool is denied, and it is told so.
func TestClaudeHeadless(t *testing.T) {
	bin := claudecli.Require(t)
	api := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("I assumed Postgres.")})
	d := &agent.Dispatcher{Self: []string{program(t)}, Runtime: t.TempDir(), Env: claudecli.Env(t, api.URL())}
	var init agent.Init
	res, err := d.Run(context.Background(), agent.Command{Name: "claude", Path: bin},
		agent.Request{Verb: agent.Converse, Prompt: "build it", SessionID: "s", Dir: t.TempDir(), Access: agent.Edit},
		agent.Observer{Event: func(e agent.StreamEvent, _ []string) {
			if i, ok := e.(agent.Init); ok {
				init = i
			}
		}})
	if err != nil || res.Text != "I assumed Postgres." || res.Conversation == "" || res.CostUSD <= 0 || res.Usage.Total() == 0 {
		t.Fatalf("got %+v, %v", res, err)
	}
	r := api.WaitRequest(1)
	for _, tool := range []string{askTool, "AskUserQuestion"} {
		if slices.Contains(r.Tools, tool) || slices.Contains(init.Tools, tool) {
			t.Errorf("%s is offered", tool)
		}
	}
	if !strings.Contains(r.System, "Nobody can be asked during this run") {
		t.Error("the clause is missing")
	}
	left, err := os.ReadDir(d.Runtime)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
