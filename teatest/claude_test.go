package teatest

import (
	"context"
	"encoding/json"
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

// eachClaude runs a scenario with every pinned release. The scenarios run beside each other, because most of
// their time is waiting; what they share is built before.
func eachClaude(t *testing.T, scenario func(t *testing.T, v claudecli.Version)) {
	t.Helper()
	program(t)
	t.Parallel()
	for _, v := range claudecli.Versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			scenario(t, v)
		})
	}
}

// desk is kitsoki in a terminal with the real agent behind it.
type desk struct {
	*tmux.Pane
	t   *testing.T
	api *messagesapi.Server
	env []string
}

// sit starts kitsoki with the real agent against the scripted API, in an environment built from nothing. More
// are further arguments for kitsoki, or further environment where they have the form NAME=value.
func sit(t *testing.T, v claudecli.Version, more []string, script ...messagesapi.Step) *desk {
	t.Helper()
	bin := claudecli.Require(t, v)
	tmux.Require(t)
	d := &desk{t: t, api: messagesapi.Start(t, script...)}
	d.env = claudecli.Env(t, d.api.URL(), agent.EnvClaudeBin+"="+bin)
	argv := []string{program(t), "--cwd", t.TempDir()}
	for _, m := range more {
		if strings.Contains(m, "=") && !strings.HasPrefix(m, "-") {
			d.env = append(d.env, m)
		} else {
			argv = append(argv, m)
		}
	}
	d.Pane = tmux.Start(t, 80, 24, d.env, argv...)
	d.WaitFor("idle")
	return d
}

// prompt sends a prompt.
func (d *desk) prompt(text string) {
	d.t.Helper()
	d.Type(text)
	d.WaitFor("> " + text)
	d.Keys("Enter")
}

// asked waits until an ask with this question is on the screen and takes keys.
func (d *desk) asked(question string) {
	d.t.Helper()
	d.WaitFor(question)
	d.WaitFor("waits")
	quiet()
}

// leave quits and checks what is left: a whole trace, each ask with the wanted outcome (none: any), and nothing
// in the runtime directory.
func (d *desk) leave(outcomes ...string) {
	d.t.Helper()
	quit(d.t, d.Pane)
	var got []string
	for _, outcome := range checkTrace(d.t, d.env) {
		got = append(got, outcome)
	}
	slices.Sort(got)
	slices.Sort(outcomes)
	if !slices.Equal(got, outcomes) {
		d.t.Errorf("asks ended as %v, want %v", got, outcomes)
	}
	checkNothingLeft(d.t, d.env)
}

// traced returns the trace's records of one event.
func (d *desk) traced(event string) []record {
	d.t.Helper()
	return slices.DeleteFunc(traceOf(d.t, d.env), func(r record) bool { return r.Event != event })
}

// ask is a step in which the model asks which DB, with the call toolu_db.
func ask(labels ...string) messagesapi.Step {
	return messagesapi.Step{
		When: messagesapi.ToolOffered(askTool), Reply: messagesapi.Call("toolu_db", askTool, askInput(map[string][]string{"Which DB?": labels})),
	}
}

// goOn is the step that follows when a tool's result reached the model.
func goOn(id, words string) messagesapi.Step {
	return messagesapi.Step{When: messagesapi.HasToolResultFor(id), Reply: messagesapi.Say(words)}
}

// checkRefused checks that the model read of a call that it failed, in the words that it must be told, and
// nothing that could pass for an answer.
func (d *desk) checkRefused(id string, words ...string) {
	d.t.Helper()
	result := d.api.ToolResults()[id]
	for _, w := range words {
		if !result.IsError || !strings.Contains(result.Text, w) || strings.Contains(result.Text, "answers") {
			d.t.Errorf("the model read %+v, want an error with %q", result, w)
		}
	}
}

func TestClaudeAsksAndGoesOnWithTheAnswer(t *testing.T) { eachClaude(t, claudeAnswered) }

func claudeAnswered(t *testing.T, v claudecli.Version) {
	d := sit(t, v, nil,
		messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.With(
			messagesapi.Text("I need a decision."),
			messagesapi.Use("toolu_db", askTool, askInput(map[string][]string{"Which DB?": {"Postgres", "Yes, always; SQLite"}})))},
		goOn("toolu_db", "Going on with it."),
	)
	d.prompt("build it")
	d.asked("Which DB?")
	d.Keys("2", "Enter")
	d.WaitFor("Going on with it.")
	d.WaitFor("idle")
	result := d.api.ToolResults()["toolu_db"]
	if result.IsError || result.Text != `{"answers":{"Which DB?":"Yes, always; SQLite"}}` {
		t.Errorf("the API saw %+v", result)
	}
	d.leave("answered")
	if asked := d.traced("operator.question.asked"); len(asked) != 1 || asked[0].Data["tool_use_id"] != "toolu_db" {
		t.Errorf("asked: %v", asked)
	}
	if r := d.traced("operator.question.delivered"); len(r) != 1 || r[0].Data["delivered"] != true {
		t.Errorf("delivered: %v", r)
	}
}

func TestClaudeIsDeclined(t *testing.T) { eachClaude(t, claudeDeclined) }

func claudeDeclined(t *testing.T, v claudecli.Version) {
	d := sit(t, v, nil,
		ask("Postgres (Recommended)", "SQLite"),
		goOn("toolu_db", "I assume nothing."),
	)
	d.prompt("build it")
	d.asked("Which DB?")
	d.Keys("C-x")
	d.WaitFor("reason")
	d.Type("ask me tomorrow")
	d.Keys("Enter")
	d.WaitFor("I assume nothing.")
	d.WaitFor("idle")
	d.checkRefused("toolu_db", "operator did not answer; proceed without this input", "declined", "ask me tomorrow")
	if text := d.api.ToolResults()["toolu_db"].Text; strings.Contains(text, "Recommended") {
		t.Errorf("an option that nobody picked reached the model: %s", text)
	}
	d.leave("declined")
}

func TestClaudeAsksTwiceInOneMessage(t *testing.T) { eachClaude(t, claudeAsksTwice) }

func claudeAsksTwice(t *testing.T, v claudecli.Version) {
	d := sit(t, v, nil,
		messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.With(
			messagesapi.Use("toolu_a", askTool, askInput(map[string][]string{"First?": {"a1", "a2"}})),
			messagesapi.Use("toolu_b", askTool, askInput(map[string][]string{"Second?": {"b1", "b2"}})))},
		goOn("toolu_b", "Both are here."),
	)
	d.prompt("build it")
	d.WaitFor("ask 1 of 2")
	answers := map[string]string{"First?": "2", "Second?": "1"}
	for len(answers) > 0 {
		quiet()
		shown := ""
		for question := range answers {
			if strings.Contains(d.Screen(), question) {
				shown = question
			}
		}
		if shown == "" {
			t.Fatalf("none of the questions is shown:\n%s", d.Screen())
		}
		d.Keys(answers[shown], "Enter")
		if delete(answers, shown); len(answers) == 1 {
			d.WaitFor("ask 1 of 1")
		}
	}
	d.WaitFor("Both are here.")
	d.WaitFor("idle")
	got := d.api.ToolResults()
	if got["toolu_a"].Text != `{"answers":{"First?":"a2"}}` || got["toolu_b"].Text != `{"answers":{"Second?":"b1"}}` {
		t.Errorf("the API saw %+v and %+v", got["toolu_a"], got["toolu_b"])
	}
	d.leave("answered", "answered")
}

// Without an operator the tool is not there, the agent's own question tool is denied, and it is told so.
func TestClaudeHeadless(t *testing.T) { eachClaude(t, claudeHeadless) }

func claudeHeadless(t *testing.T, v claudecli.Version) {
	bin := claudecli.Require(t, v)
	api := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("I assumed Postgres.")})
	var init agent.Init
	res, err := dispatcher(t, api).Run(context.Background(), agent.Command{Name: "claude", Path: bin},
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
}
