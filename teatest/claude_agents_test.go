package teatest

import (
	"fmt"
	"slices"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// delegate is a step in which the main agent starts a sub-agent.
func delegate(id, prompt string, background bool) messagesapi.Step {
	return messagesapi.Step{
		When: messagesapi.All(messagesapi.OfKind(messagesapi.Conversation), messagesapi.Not(messagesapi.HasToolResult())),
		Reply: messagesapi.Call(id, "Agent", map[string]any{
			"description": "look at it", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": background,
		}),
	}
}

// inSubAgent narrows a step to the requests of sub-agents.
func inSubAgent(s messagesapi.Step) messagesapi.Step {
	s.When = messagesapi.All(messagesapi.OfKind(messagesapi.SubAgent), s.When)
	return s
}

// T8 (dust#28256): a sub-agent asks. The operator sees who, down to the sub-agent, and its answer reaches the
// sub-agent.
func TestClaudesSubAgentAsks(t *testing.T) { eachClaude(t, claudeSubAgentAsks) }

func claudeSubAgentAsks(t *testing.T, v claudecli.Version) {
	d := sit(t, v, nil,
		delegate("toolu_agent", "find a database", false),
		inSubAgent(ask("Postgres", "SQLite")),
		inSubAgent(goOn("toolu_db", "SQLite was chosen.")),
		goOn("toolu_agent", "My helper found one."),
	)
	d.prompt("build it")
	d.asked("Which DB?")
	d.WaitFor("claude › general-purpose")
	d.Keys("2", "Enter")
	d.WaitFor("My helper found one.")
	d.WaitFor("idle")
	if r := d.api.ToolResults()["toolu_db"]; r.IsError || r.Text != `{"answers":{"Which DB?":"SQLite"}}` {
		t.Errorf("the sub-agent read %+v", r)
	}
	d.leave("answered")
	checkAskedBy(t, d, "general-purpose")
}

func checkAskedBy(t *testing.T, d *desk, subAgent string) {
	t.Helper()
	for _, r := range d.traced("operator.question.asked") {
		asker, _ := r.Data["asker"].(map[string]any)
		if path := fmt.Sprint(asker["path"]); path != "["+subAgent+"]" {
			t.Errorf("the trace says that %v asked", asker)
		}
	}
}

// A sub-agent in the background outlives the main agent's first result. The turn goes on until the process has
// ended, and then ends once.
func TestClaudesBackgroundSubAgentAsks(t *testing.T) { eachClaude(t, claudeBackgroundSubAgent) }

func claudeBackgroundSubAgent(t *testing.T, v claudecli.Version) {
	hold := make(chan struct{})
	d := sit(t, v, nil, background(hold)...)
	d.prompt("build it")
	d.WaitFor("It is at work.")
	d.WaitFor("working")
	close(hold)
	d.asked("Which DB?")
	d.WaitFor("claude › general-purpose")
	d.Keys("2", "Enter")
	d.WaitFor("Now it is done.")
	d.WaitFor("idle")
	d.leave("answered")
	checkAskedBy(t, d, "general-purpose")
	if n := len(d.traced("turn.ended")); n != 1 {
		t.Errorf("the turn ended %d times", n)
	}
}

// background is a script in which the main agent ends its own work while a sub-agent still has to ask.
func background(hold <-chan struct{}) []messagesapi.Step {
	asks := inSubAgent(ask("Postgres", "SQLite"))
	asks.Hold = hold
	return []messagesapi.Step{
		delegate("toolu_agent", "find a database", true),
		asks,
		inSubAgent(goOn("toolu_db", "SQLite was chosen.")),
		goOn("toolu_agent", "It is at work."),
		{When: messagesapi.OfKind(messagesapi.Conversation), Reply: messagesapi.Say("Now it is done.")},
	}
}

// The same without a screen: there really are two results, and the last one is the dispatch's. Both releases
// keep the first one back until the sub-agent has ended, and then send both at once.
func TestClaudesBackgroundSubAgentGivesTwoResults(t *testing.T) { eachClaude(t, claudeTwoResults) }

func claudeTwoResults(t *testing.T, v claudecli.Version) {
	hold := make(chan struct{})
	api := messagesapi.Start(t, background(hold)...)
	ctx := present(t, func(qs []host.OperatorQuestion) map[string]any {
		return map[string]any{qs[0].Question: qs[0].Options[1].Label}
	})
	var results []string
	res, err := dispatcher(t, api).Run(ctx, agent.Command{Name: "claude", Path: claudecli.Require(t, v)},
		agent.Request{Verb: agent.Converse, Prompt: "build it", SessionID: "s", Dir: t.TempDir()},
		agent.Observer{Event: func(e agent.StreamEvent, _ []string) {
			switch ev := e.(type) {
			case agent.Text:
				if ev.Text == "It is at work." {
					close(hold)
				}
			case agent.Ended:
				results = append(results, ev.Text)
			}
		}})
	if err != nil || res.Text != "Now it is done." || !slices.Equal(results, []string{"It is at work.", "Now it is done."}) {
		t.Errorf("got %+v, %v; results %q", res, err, results)
	}
	if r := api.ToolResults()["toolu_db"]; r.IsError || r.Text != `{"answers":{"Which DB?":"SQLite"}}` {
		t.Errorf("the sub-agent read %+v", r)
	}
}
