package teatest

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

// asksFor is a step in which the model asks one question with the operator's tool.
func asksFor(id, question string, labels ...string) messagesapi.Step {
	return messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.Call(id, askTool, askInput(map[string][]string{question: labels}))}
}

// Three agents at once, started in three ways: a command as the operator has it, an interactive agent that was set up by
// what kitsoki prints, and a session of kitsoki's. Their asks are in one inbox, and each gets the answer to its own,
// whoever gives it.
func TestEveryAgentComesToOneInbox(t *testing.T) {
	t.Parallel()
	d := sit(t, claudecli.Current, nil, asksFor("toolu_ours", "Which cache?", "Redis", "None"), goOn("toolu_ours", "The session goes on."))
	o := officeOf(t, d.Pane, d.env)
	d.prompt("set it up")

	wrappedAPI := messagesapi.Start(t, asksFor("toolu_wrapped", "Which DB?", "Postgres", "SQLite"), goOn("toolu_wrapped", "The command goes on."))
	dir := realDir(t)
	argv := wrapped(t, claudecli.Require(t, claudecli.Current), "-p", "build it")
	command := tmux.Start(t, 80, 24, o.agentOf(wrappedAPI, dir, nil), append([]string{"sh", "-c", `cd "$0" && "$@"; echo "ended with $?"`, dir}, argv...)...)

	own := messagesapi.Start(t, notYet(), asksFor("toolu_mcp", "Which port?", "80", "8080"),
		messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_mcp"), Reply: ownQuestions("toolu_hook").Reply}, goOn("toolu_hook", "The agent goes on."))
	ownDir := realDir(t)
	files := guestFiles(t)
	files[".claude/settings.json"] = mergedSettings(t, files[".claude/settings.json"], hookFiles(t)[".claude/settings.json"])
	screen := interactive(t, ownDir, o.agentOf(own, ownDir, files), "look around")
	untilOffered(t, own, screen)

	asks := map[string]inboxAsk{}
	for range 3 {
		a := o.next()
		asks[a.Info().Questions[0].Question] = a
	}
	checkRows(t, o, "Which DB?", "Which cache?", "Which port?")
	for question, guest := range map[string]bool{"Which cache?": false, "Which DB?": true, "Which port?": true} {
		if a, ok := asks[question]; !ok || a.Info().Asker.Guest != guest || a.question.Guest != guest {
			t.Fatalf("%q is asked by %+v", question, a)
		}
	}

	answerByCommand(t, o, asks["Which port?"].Info().ID, "1")
	hooked := o.asked() // whose first question has the words of another
	if err := hooked.Answer(t.Context(), []host.Answer{{Picked: []int{0}}, {Picked: []int{1}}}); err != nil {
		t.Error(err)
	}
	second := attached(t, d.env)
	second.WaitFor("Which cache?")
	second.WaitFor("waits")
	quiet()
	second.Keys("2", "Enter") // at a terminal that was attached
	second.WaitFor("The session goes on.")

	theLast := func(screen string) bool { // over the whole screen, and open
		return strings.Contains(screen, "Which DB?") && strings.Contains(screen, "own answer:") && !strings.Contains(screen, "This ask is over")
	}
	atThePrompt := func(screen string) bool {
		return strings.Contains(screen, "The session goes on.") && !strings.Contains(screen, "own answer:")
	}
	d.WaitUntil("the last ask, or the prompt", func(screen string) bool {
		if strings.Contains(screen, "This ask is over") { // what was in front was answered elsewhere
			d.Keys("Escape")
			return false
		}
		return theLast(screen) || atThePrompt(screen)
	})
	if !theLast(d.Screen()) {
		d.Keys("C-o")
		d.WaitUntil("the last ask", theLast)
	}
	quiet()
	d.Keys("2", "Enter") // at the terminal that was there first
	command.WaitFor("The command goes on.")
	command.WaitFor("ended with 0")

	screen.WaitFor("The agent goes on.")
	for id, want := range map[string]struct {
		api  *messagesapi.Server
		text string
	}{
		"toolu_ours":    {d.api, `{"answers":{"Which cache?":"None"}}`},
		"toolu_wrapped": {wrappedAPI, `{"answers":{"Which DB?":"SQLite"}}`},
		"toolu_mcp":     {own, `{"answers":{"Which port?":"80"}}`},
	} {
		if got := want.api.ToolResults()[id]; got.IsError || got.Text != want.text {
			t.Errorf("%s read %+v", id, got)
		}
	}
	if got := own.ToolResults()["toolu_hook"]; !strings.Contains(got.Text, `"Which DB?"="Postgres", "Which days?"="Tue"`) {
		t.Errorf("the interactive agent read %+v", got)
	}
}

// notYet is what the model says as long as it has no tool to ask with: an interactive agent does not wait for its servers,
// and a prompt that is typed at once goes out without them (measured).
func notYet() messagesapi.Step {
	return messagesapi.Step{When: messagesapi.Not(messagesapi.ToolOffered(askTool)), Reply: messagesapi.Say("I cannot ask yet."), Repeat: true}
}

// untilOffered prompts an interactive agent again until it has the tool.
func untilOffered(t *testing.T, api *messagesapi.Server, screen *tmux.Pane) {
	t.Helper()
	for n := 1; !slices.Contains(api.WaitRequest(n).Tools, askTool); n++ {
		quiet()
		screen.Type("and now")
		screen.WaitFor("and now")
		screen.Keys("Enter")
	}
}

// next is the next ask, whatever its question.
func (o *office) next() inboxAsk {
	o.t.Helper()
	select {
	case a := <-o.asks:
		return a
	case <-time.After(time.Minute):
		o.t.Fatalf("nobody asks\n%s", o.Screen())
		panic("unreachable")
	}
}

// checkRows checks the first questions of all open asks, as work is listed.
func checkRows(t *testing.T, o *office, want ...string) {
	t.Helper()
	rows, err := o.door.Work(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rows {
		if r.Kind == control.RowQuestion {
			got = append(got, r.Questions[0])
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("open are %q, want %q", got, want)
	}
}

// answerByCommand answers from a shell.
func answerByCommand(t *testing.T, o *office, id, pick string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), "answer", id, "--pick", pick)
	cmd.Env = o.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("kitsoki answer: %v\n%s", err, out)
	}
}

// mergedSettings are Claude Code's settings with several pieces in them.
func mergedSettings(t *testing.T, parts ...any) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, part := range parts {
		raw, ok := part.(json.RawMessage)
		var one map[string]any
		if err := json.Unmarshal(raw, &one); !ok || err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		maps.Copy(all, one)
	}
	return all
}
