package teatest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func holdsLink(path string) bool { _, err := os.Readlink(path); return err == nil }

// level is a column of the table in docs/access.md.
type level struct {
	name    string
	verb    agent.Verb
	access  agent.Access
	trusted bool // the operator told claude to trust the directory
	like    int  // the column that it has to be like, from 1; 0: it is one itself
}

func levels() []level {
	return []level{
		{name: "read", verb: agent.Task, access: agent.Read},
		{name: "edit", verb: agent.Task, access: agent.Edit},
		{name: "edit, trusted directory", verb: agent.Task, access: agent.Edit, trusted: true},
		{name: "full", verb: agent.Task, access: agent.Full},
		{name: "ask", verb: agent.Ask, access: agent.Full, trusted: true, like: 1},
		{name: "decide", verb: agent.Decide, access: agent.Full, trusted: true, like: 1},
	}
}

// What an access level lets the real agent do is what its page says: each cell is looked up on the disk and on the
// network, and is beside it what the agent was told. -update writes the page's table anew.
func TestClaudesAccessLevels(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	t.Parallel()
	list := levels()
	measured := make([][][2]string, len(list))
	t.Run("levels", func(t *testing.T) {
		for i, l := range list {
			t.Run(l.name, func(t *testing.T) {
				t.Parallel()
				measured[i] = measure(t, bin, l)
			})
		}
	})
	if t.Failed() || slices.ContainsFunc(measured, func(cells [][2]string) bool { return cells == nil }) {
		return // there is no whole table, also where -run chose some levels
	}
	var names []string
	var columns [][][2]string
	for i, l := range list {
		if l.like == 0 {
			names, columns = append(names, l.name), append(columns, measured[i])
			continue
		}
		for j, cell := range measured[i] {
			if want := measured[l.like-1][j]; cell != want {
				t.Errorf("%s: %s: %s, and %s with %s", l.name, cell[0], cell[1], want[1], list[l.like-1].name)
			}
		}
	}
	compareTable(t, "../docs/access.md", tableOf(names, columns))
}

// tableOf is a Markdown table of columns whose cells have their row's name first.
func tableOf(names []string, columns [][][2]string) []string {
	lines := []string{"| attempt | " + strings.Join(names, " | ") + " |", strings.Repeat("|---", len(names)+1) + "|"}
	for i, cell := range columns[0] {
		line := "| " + cell[0] + " |"
		for _, c := range columns {
			line += " " + c[i][1] + " |"
		}
		lines = append(lines, line)
	}
	return lines
}

// compareTable compares a page's table, the one with the same first line, line by line.
func compareTable(t *testing.T, page string, want []string) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(raw), "\n")
	from := slices.Index(lines, want[0])
	if from < 0 {
		t.Fatalf("%s lacks the table that starts with\n%s", page, want[0])
	}
	to := from
	for to < len(lines) && strings.HasPrefix(lines[to], "|") {
		to++
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		text := strings.Join(slices.Concat(lines[:from], want, lines[to:]), "\n")
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil { //nolint:gosec // a page of the repository
			t.Fatal(err)
		}
		return
	}
	for _, line := range want {
		if !slices.Contains(lines[from:to], line) {
			t.Errorf("%s lacks the line that was measured\n%s", page, line)
		}
	}
	for _, line := range lines[from:to] {
		if !slices.Contains(want, line) {
			t.Errorf("%s has a line that was not measured\n%s", page, line)
		}
	}
}

// measure lets the agent try everything at a level, and returns each row with what became of it.
func measure(t *testing.T, bin string, l level) [][2]string {
	t.Helper()
	reads := l.verb == agent.Ask || l.verb == agent.Decide || l.access == agent.Read
	home := t.TempDir()
	y := newYard(t, home, l.trusted, reads || (l.access == agent.Edit && !l.trusted))
	list := attempts(y)
	api := messagesapi.Start(t, tries(list, closing(l.verb, "All tried."))...)
	d := dispatcher(t, api, "kitsoki-is-not-started-here")
	d.Env = append(d.Env, "HOME="+home, "CLAUDE_CODE_MAX_RETRIES=1", "IS_SANDBOX=1") // claude refuses full access to root otherwise
	req := agent.Request{Verb: l.verb, Access: l.access, Prompt: "try it", SessionID: "s", Dir: y.dir, Retries: -1}
	if l.verb == agent.Decide {
		req.Schema = dbSchema
	}
	var denied []string
	var tools []string
	res, err := d.Run(aMinute(t), agent.Command{Name: "claude", Path: bin, Inherits: true}, req, agent.Observer{
		Started: func(argv []string) { checkNoSecrets(t, argv, reads) },
		Event: func(e agent.StreamEvent, _ []string) {
			switch ev := e.(type) {
			case agent.Init:
				tools = ev.Tools
			case agent.Ended:
				denied = append(denied, ev.Denied...)
			}
		},
	})
	if checkDone(t, l.verb, "All tried.", res, err); t.Failed() {
		t.Fatalf("%d connections were made to where the project's settings send the API key", y.called.Load())
	}
	results := api.ToolResults()
	var cells [][2]string
	refused := 0
	for i, a := range list {
		id := a.id(i)
		if _, tried := results[a.sub(i)]; a.by != nil && tried {
			id = a.sub(i)
		}
		result, came := results[id]
		happened := came && !result.IsError && strings.Contains(result.Text, secret)
		if a.happened != nil {
			happened = a.happened()
		}
		cell := judged(came, result, slices.Contains(denied, id), happened)
		if cell == "denied" {
			refused++
		}
		if a.row != "" {
			cells = append(cells, [2]string{a.row, cell})
		} else if came && result.IsError {
			t.Errorf("preparing with %s: %s", a.tool, result.Text)
		}
	}
	for _, s := range surroundings(y, string(api.WaitRequest(1).Body)) {
		cells = append(cells, [2]string{s.row, map[bool]string{true: "yes", false: "no"}[s.is]})
	}
	if res.Denials != refused {
		t.Errorf("%d denials are reported, and there were %d: %v", res.Denials, refused, denied)
	}
	if exists(filepath.Join(home, ".claude", "settings.local.json")) || !holds(filepath.Join(home, ".claude", "settings.json"), settingSecret) {
		t.Error("the operator's settings were changed")
	}
	if l.access != agent.Full || reads {
		for _, tool := range []string{"EnterWorktree", "CronCreate", "ScheduleWakeup", "SendMessage", "Workflow"} {
			if slices.Contains(tools, tool) {
				t.Errorf("there is the tool %s", tool)
			}
		}
	}
	return cells
}

// judged is what became of an attempt in a word, when what the agent was told and what happened agree.
func judged(came bool, result messagesapi.ToolResult, denied, happened bool) string {
	told := "failed: " + result.Text
	switch {
	case !came:
		told = "no result"
	case denied && result.IsError:
		told = "denied"
	case !result.IsError:
		told = "done"
	case strings.Contains(result.Text, "No such tool available"):
		told = "no tool"
	case strings.Contains(result.Text, "Agent type 'eager' not found"):
		told = "no such agent"
	}
	if happened != (told == "done") {
		return fmt.Sprintf("told %q, happened: %v", told, happened)
	}
	return told
}

// checkNoSecrets checks that no argument has a secret, and that the files which may have them are for us alone.
func checkNoSecrets(t *testing.T, argv []string, carries bool) {
	t.Helper()
	for _, s := range []string{settingSecret, serverSecret, messagesapi.FakeKey} {
		if strings.Contains(strings.Join(argv, " "), s) {
			t.Errorf("an argument has %q: %v", s, argv)
		}
	}
	for name, has := range map[string]string{"--settings": settingSecret, "--mcp-config": serverSecret} {
		i := slices.Index(argv, name)
		if i < 0 {
			if carries {
				t.Errorf("there is no %s: %v", name, argv)
			}
			continue
		}
		if !carries {
			continue
		}
		path := argv[i+1]
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || !holds(path, has) {
			t.Errorf("%s %s: %v, %v", name, path, info, err)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the directory of %s: %v, %v", path, info, err)
		}
	}
}
