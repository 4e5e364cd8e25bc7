package teatest

import (
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

// wrapped is the command line of an agent within kitsoki wrap.
func wrapped(t *testing.T, argv ...string) []string {
	return append([]string{program(t), "wrap", "--as", "claude", "--"}, argv...)
}

// A command of the operator's own asks in the inbox, and is in all else what it was.
func TestAWrappedAgentAsksInTheInbox(t *testing.T) { eachClaude(t, wrapAsks) }

func wrapAsks(t *testing.T, v claudecli.Version) {
	o := openOffice(t)
	api := messagesapi.Start(t, ask("Postgres", "SQLite"), goOn("toolu_db", "Going on with it."))
	dir := realDir(t)
	r := runs(t, dir, o.agentOf(api, dir, nil), wrapped(t, claudecli.Require(t, v), "-p", "--append-system-prompt", "Be brief.", "build it")...)
	a := o.asked()
	if info := a.Info(); !info.Asker.Guest || info.Asker.Agent != "claude" || info.Asker.Dir != dir || info.ToolUseID != "toolu_db" {
		t.Errorf("the asker is %+v", info.Asker)
	}
	o.pick(a, 1)
	if code := r.wait(t); code != 0 || r.stdout.String() != "Going on with it.\n" || r.stderr.Len() > 0 {
		t.Errorf("it ended with %d: %q, %q", code, r.stdout.String(), r.stderr.String())
	}
	if got := api.ToolResults()["toolu_db"]; got.IsError || got.Text != `{"answers":{"Which DB?":"SQLite"}}` {
		t.Errorf("the API saw %+v", got)
	}
	first := api.WaitRequest(1)
	if !strings.Contains(first.System, "Be brief.\n\nAn operator is at the terminal") || slices.Contains(first.Tools, "AskUserQuestion") {
		t.Errorf("the agent was told %q, with %v", first.System, first.Tools)
	}
	quit(t, o.Pane)
	checkNothingLeft(t, o.env)
}

// With no kitsoki open, its terminal takes the ask.
func TestAWrappedAgentAsksOnItsTerminal(t *testing.T) { eachClaude(t, wrapAsksHere) }

func wrapAsksHere(t *testing.T, v claudecli.Version) {
	tmux.Require(t)
	api := messagesapi.Start(t, ask("Postgres", "SQLite"), goOn("toolu_db", "Going on with it."))
	env := claudecli.Env(t, api.URL())
	p := tmux.Start(t, 100, 30, env, wrapped(t, claudecli.Require(t, v), "-p", "build it")...)
	p.WaitFor("Which DB?")
	quiet()
	p.Type("2\n")
	p.WaitFor("Going on with it.")
	if code := p.WaitExit(); code != 0 {
		t.Errorf("it ended with %d\n%s", code, p.Screen())
	}
	if got := api.ToolResults()["toolu_db"]; got.IsError || got.Text != `{"answers":{"Which DB?":"SQLite"}}` {
		t.Errorf("the API saw %+v", got)
	}
	checkNothingLeft(t, env)
	if outcomes := checkTrace(t, env); len(outcomes) != 1 {
		t.Errorf("the trace has %v", outcomes)
	}
}

// With no terminal either, it has no tool, and is told so.
func TestAWrappedAgentThatCannotAsk(t *testing.T) { eachClaude(t, wrapAlone) }

func wrapAlone(t *testing.T, v claudecli.Version) {
	api := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("I assumed Postgres.")})
	env := claudecli.Env(t, api.URL())
	r := runs(t, realDir(t), env, append([]string{"setsid", "--wait"}, wrapped(t, claudecli.Require(t, v), "-p", "build it")...)...)
	if code := r.wait(t); code != 0 || r.stdout.String() != "I assumed Postgres.\n" {
		t.Errorf("it ended with %d: %q, %q", code, r.stdout.String(), r.stderr.String())
	}
	first := api.WaitRequest(1)
	if !strings.Contains(first.System, "Nobody can be asked during this run") || slices.Contains(first.Tools, askTool) || slices.Contains(first.Tools, "AskUserQuestion") {
		t.Errorf("the agent was told %q, with %v", first.System, first.Tools)
	}
	checkNothingLeft(t, env)
}

// An agent with a screen of its own keeps it: its keys, its size, its end.
func TestAWrappedAgentWithAScreen(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	api := messagesapi.Start(t, notYet(), ask("Postgres", "SQLite"), goOn("toolu_db", "Going on with it."))
	dir := realDir(t)
	env := append(o.agentOf(api, dir, nil), "WRAP="+program(t), "CLAUDE="+claudecli.Require(t, claudecli.Current))
	p := tmux.Start(t, 100, 40, env, "sh", "-c", `cd "$1" && exec "$WRAP" wrap -- "$CLAUDE"`, "sh", dir)
	p.WaitFor("❯")
	quiet() // it does not read keys at once
	p.Type("build it")
	p.WaitFor("build it")
	p.Keys("Enter")
	untilOffered(t, api, p)
	o.pick(o.asked(), 1)
	p.WaitFor("Going on with it.")
	if got := api.ToolResults()["toolu_db"]; got.IsError || got.Text != `{"answers":{"Which DB?":"SQLite"}}` {
		t.Errorf("the API saw %+v", got)
	}
	if !slices.Contains(api.WaitRequest(1).Tools, ownTool) {
		t.Error("its own dialog is gone")
	}
	p.Keys("C-c")
	p.WaitFor("again to exit")
	p.Keys("C-c")
	if code := p.WaitExit(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}
