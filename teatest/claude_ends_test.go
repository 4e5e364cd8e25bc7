package teatest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// T1 (claude-code#74188): nobody answers. The countdown is visible, and the model is told how it ended.
func TestClaudeIsTimedOut(t *testing.T) { eachClaude(t, claudeTimedOut) }

func claudeTimedOut(t *testing.T, v claudecli.Version) {
	d := sit(t, v, []string{"--ask-wait", "2s"},
		ask("Postgres", "SQLite"),
		goOn("toolu_db", "Nobody was there."),
	)
	d.prompt("build it")
	d.WaitFor("Which DB?")
	d.WaitFor("ended: timed out")
	quiet()
	d.Keys("Escape")
	d.WaitFor("Nobody was there.")
	d.WaitFor("idle")
	d.checkRefused("toolu_db", "operator did not answer; proceed without this input", "timed_out")
	d.leave("timed_out")
}

// impatient is claude with a limit of its own on tool calls: the configuration that it is given says a day, so
// that our words come first, and is made to say three seconds before it reads it.
func impatient(t *testing.T, bin string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	script := fmt.Sprintf(`#!/bin/sh
config=
for a in "$@"; do
	case $last in --mcp-config) config=$a ;; esac
	last=$a
done
[ -n "$config" ] && sed -i 's/"timeout": *[0-9]*/"timeout": 3000/' "$config"
exec '%s' "$@"
`, bin)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// The client gives the call up while the operator looks at it: the ask ends as cancelled, visibly, and an
// answer that was being typed answers nothing.
func TestClaudeCancelsItsCall(t *testing.T) { eachClaude(t, claudeCancels) }

func claudeCancels(t *testing.T, v claudecli.Version) {
	d := sit(t, v, []string{agent.EnvClaudeBin + "=" + impatient(t, claudecli.Require(t, v)), "KITSOKI_ACCESS=edit"}, // behind the wall it could not write
		ask("Postgres", "SQLite"),
		goOn("toolu_db", "It took too long."),
	)
	d.prompt("build it")
	d.WaitFor("Which DB?")
	d.WaitFor("ended: cancelled")
	quiet()
	d.Keys("Escape")
	d.WaitFor("It took too long.")
	d.WaitFor("idle")
	d.checkRefused("toolu_db", "timed out")
	d.leave("cancelled")
}

// T7 with the real agent: killed while it asks, its ask is gone and never comes back. The next prompt goes on
// with the conversation; the call that was never answered is no part of it.
func TestClaudeIsKilledWhileItAsksAndResumed(t *testing.T) { eachClaude(t, claudeKilledAndResumed) }

func claudeKilledAndResumed(t *testing.T, v claudecli.Version) {
	again := messagesapi.PromptContains("and now")
	first := ask("Postgres", "SQLite")
	first.When = messagesapi.All(first.When, messagesapi.Not(again))
	d := sit(t, v, nil,
		first,
		messagesapi.Step{When: messagesapi.All(again, messagesapi.Not(messagesapi.HasToolResult())), Reply: messagesapi.Call("toolu_os", askTool,
			askInput(map[string][]string{"Which OS?": {"Linux", "Plan 9"}}))},
		goOn("toolu_os", "Plan 9 it is."),
	)
	d.prompt("build it")
	d.asked("Which DB?")
	for _, pid := range childrenOf(t, d.PID()) {
		kill(t, pid)
	}
	d.WaitFor("ended: asker gone")
	quiet()
	d.Keys("Escape")
	d.WaitFor("ended without a result")
	d.WaitFor("failed")
	d.prompt("and now")
	d.asked("Which OS?")
	if strings.Contains(d.Screen(), "Which DB?") || !strings.Contains(d.Screen(), "ask 1 of 1") {
		t.Errorf("the ask of the killed agent is back:\n%s", d.Screen())
	}
	d.Keys("2", "Enter")
	d.WaitFor("Plan 9 it is.")
	d.WaitFor("idle")
	checkResumed(t, d)
	d.leave("asker_gone", "answered")
}

// checkResumed checks that the last request carries the first prompt, and no result of the call that was never
// answered other than an error.
func checkResumed(t *testing.T, d *desk) {
	t.Helper()
	requests := d.api.Requests()
	last := requests[len(requests)-1]
	remembers := false
	for _, m := range last.Messages {
		for _, c := range m.Content {
			remembers = remembers || (m.Role == "user" && c.Type == "text" && strings.Contains(c.Text, "build it"))
		}
	}
	if !remembers {
		t.Errorf("the first prompt is forgotten: %s", last.Body)
	}
	if r, ok := last.ToolResults()["toolu_db"]; ok && !r.IsError {
		t.Errorf("the call that nobody answered has the result %+v", r)
	}
	if r := last.ToolResults()["toolu_os"]; r.IsError || r.Text != `{"answers":{"Which OS?":"Plan 9"}}` {
		t.Errorf("the API saw %+v", r)
	}
}
