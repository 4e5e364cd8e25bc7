package teatest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

const ownTool = "AskUserQuestion"

// interactive starts the real agent on a screen of its own and gives it a prompt.
func interactive(t *testing.T, dir string, env []string, prompt string) *tmux.Pane {
	t.Helper()
	p := tmux.Start(t, 100, 40, env, "sh", "-c", `cd "$1" && exec "$2"`, "sh", dir, claudecli.Require(t, claudecli.Current))
	p.WaitFor("❯")
	quiet() // it does not read keys at once
	p.Type(prompt)
	p.WaitFor(prompt)
	p.Keys("Enter")
	return p
}

// hookFiles are Claude Code's settings as kitsoki prints them for the hook.
func hookFiles(t *testing.T, args ...string) map[string]any {
	t.Helper()
	_, settings, _ := strings.Cut(printed(t, append([]string{"hook", "claude", "--print"}, args...)...), "\n")
	if !json.Valid([]byte(settings)) {
		t.Fatalf("printed is %q", settings)
	}
	return map[string]any{".claude/settings.json": json.RawMessage(settings)}
}

// ownQuestions is a step in which the model uses the agent's own question tool: one row, then several.
func ownQuestions(id string) messagesapi.Step {
	option := func(label string) map[string]string {
		return map[string]string{"label": label, "description": "about it"}
	}
	return messagesapi.Step{When: messagesapi.ToolOffered(ownTool), Reply: messagesapi.Call(id, ownTool, map[string]any{"questions": []any{
		map[string]any{"question": "Which DB?", "header": "DB", "multiSelect": false, "options": []any{option("Postgres"), option("SQLite, in a file")}},
		map[string]any{"question": "Which days?", "header": "Days", "multiSelect": true, "options": []any{option("Mon"), option("Tue"), option("Wed")}},
	}})}
}

// The hook answers from the inbox, and the dialog does not appear: the model reads it as it reads answers of the dialog.
func TestHookAnswersFromTheInbox(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	api := messagesapi.Start(t, ownQuestions("toolu_own"), goOn("toolu_own", "Going on with it."))
	dir := realDir(t)
	p := interactive(t, dir, o.agentOf(api, dir, hookFiles(t)), "build it")
	a := o.asked()
	info := a.Info()
	if !info.Asker.Guest || info.Asker.Agent != "claude" || info.Asker.Dir != dir || info.ToolUseID != "toolu_own" ||
		!slices.Contains(info.Asker.Path, processOf(p.PID())) {
		t.Errorf("the asker is %+v", info.Asker)
	}
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{1}, Note: "keep it small"}, {Picked: []int{0, 2}}}); err != nil {
		t.Fatal(err)
	}
	p.WaitFor("Going on with it.")
	if got := api.ToolResults()["toolu_own"]; got.IsError || !strings.Contains(got.Text, `"Which DB?"="SQLite, in a file" notes: keep it small, "Which days?"="Mon, Wed"`) {
		t.Errorf("the API saw %+v", got)
	}
}

// Declined, with nobody there, or out of time: the dialog appears as if there were no hook.
func TestHookLeavesTheDialogAlone(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, o *office){
		"declined": func(t *testing.T, o *office) {
			a := o.asked()
			if err := a.Decline(t.Context(), "later", nil); err != nil {
				t.Error(err)
			}
		},
		"out of time": func(_ *testing.T, o *office) { <-o.asked().ended },
		"nobody":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := messagesapi.Start(t, ownQuestions("toolu_own"), goOn("toolu_own", "Going on with it."))
			dir := realDir(t)
			files := hookFiles(t, "--wait", "3s")
			var p *tmux.Pane
			if end != nil {
				o := openOffice(t)
				p = interactive(t, dir, o.agentOf(api, dir, files), "build it")
				end(t, o)
			} else {
				p = interactive(t, dir, agentEnv(t, api, dir, files), "build it")
			}
			p.WaitFor("Type something")
			quiet()
			p.Keys("Enter")
			p.WaitFor("Which days?")
			p.Keys("1")
			p.WaitFor("[✔] Mon")
			p.Keys("Right")
			p.WaitFor("Submit answers")
			p.Keys("Enter")
			p.WaitFor("Going on with it.")
			if got := api.ToolResults()["toolu_own"]; got.IsError || !strings.Contains(got.Text, `"Which DB?"="Postgres", "Which days?"="Mon"`) {
				t.Errorf("the API saw %+v", got)
			}
		})
	}
}
