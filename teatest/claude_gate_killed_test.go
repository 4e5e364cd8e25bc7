package teatest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

// Kitsoki is killed with a proposal open. Nothing happens and nothing is left; the trace holds together as a killed
// one's. The next start does not ask it again, because its call is lost, and says what became of it; the agent
// proposes it anew if it still wants to.
func TestGateHostIsKilledWithAProposalOpen(t *testing.T) {
	t.Parallel()
	l := attended(t, func(string) []messagesapi.Step {
		return []messagesapi.Step{
			inTurn("mend it", do("", "a", "Bash", bash("touch never"))),
			inTurn("go on", do("", "b", "Bash", bash("touch again"))),
			goOn("b", "It was denied."),
		}
	})
	l.prompt("mend it")
	l.asked("touch never")
	kill(t, l.PID())
	l.WaitExit()
	checkNobodyLeft(t, l.env)
	raw, err := os.ReadFile(traceFile(t, l.env))
	if err != nil {
		t.Fatal(err)
	}
	if r := trace.Check(bytes.NewReader(raw), false); len(r.Violations) > 0 || r.State != trace.Killed {
		t.Errorf("after the kill the trace is %+v", r)
	}

	l.open("--continue")
	l.WaitFor("not done, because kitsoki was killed")
	l.WaitFor("idle")
	l.prompt("go on")
	l.asked("touch again")
	l.Keys("C-x")
	l.WaitFor("reason")
	l.Keys("Enter")
	l.WaitFor("It was denied.")
	l.WaitFor("idle")
	quit(t, l.Pane)
	asked := l.traced("operator.question.asked")
	verdicts := l.traced((host.WriteModeGranted{}).Name())
	if len(asked) != 2 || len(verdicts) != 2 {
		t.Fatalf("asked %v, verdicts %v", asked, verdicts)
	}
	for i, want := range []string{"asker_gone", "declined"} {
		id, _ := asked[i].Data["question_id"].(string)
		if got := checkTrace(t, l.env)[id]; got != want || verdicts[i].Data["question_id"] != id || verdicts[i].Data["granted"] != false {
			t.Errorf("proposal %d ended as %q, with the verdict %v", i+1, got, verdicts[i].Data)
		}
	}
	for _, name := range []string{"never", "again"} {
		if exists(filepath.Join(l.dir, name)) {
			t.Errorf("%s was made", name)
		}
	}
	out, err := l.program("trace", "--check").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "holds") {
		t.Errorf("kitsoki trace --check: %v\n%s", err, out)
	}
	if exists(filepath.Join(lookup(l.env, "XDG_RUNTIME_DIR"), "kitsoki", "*", "ask.sock")) {
		t.Error("a dispatch's socket is left")
	}
}

// attended is kitsoki in a terminal, with the access ask and the real agent.
func attended(t *testing.T, script func(dir string) []messagesapi.Step) *lasting {
	t.Helper()
	program(t)
	tmux.Require(t)
	dir := t.TempDir()
	l := &lasting{desk: &desk{t: t, api: messagesapi.Start(t, script(dir)...)}, dir: dir}
	l.env = claudecli.Env(t, l.api.URL(), agent.EnvClaudeBin+"="+claudecli.Require(t, claudecli.Current))
	l.open("--access", "ask")
	l.WaitFor("idle")
	return l
}

// A real day, small: an agent reads three files, mends them and runs the tests, and the operator says yes for the turn.
// The figures are those of docs/write-gate.md.
func TestGateRealDay(t *testing.T) {
	t.Parallel()
	var script []messagesapi.Step
	l := attended(t, func(dir string) []messagesapi.Step {
		last := ""
		step := func(tool string, input any) {
			id := fmt.Sprintf("t%02d", len(script))
			script = append(script, do(last, id, tool, input))
			last = id
		}
		step("Bash", bash("ls -la"))
		step("Grep", map[string]string{"pattern": "TODO"})
		for name, text := range map[string]string{"a.sh": "exit 1\n", "b.sh": "exit 0\n", "test.sh": "sh a.sh && sh b.sh && echo ok\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		step("Bash", bash("sh test.sh"))
		for _, edit := range [][3]string{{"a.sh", "exit 1", "exit 0"}, {"b.sh", "exit 0", "true"}, {"test.sh", "echo ok", "echo all ok"}} {
			path := filepath.Join(dir, edit[0])
			step("Read", map[string]string{"file_path": path})
			step("Edit", map[string]string{"file_path": path, "old_string": edit[1], "new_string": edit[2]})
		}
		step("Bash", bash("sh test.sh"))
		step("Bash", bash("cat test.sh | wc -l"))
		script = append(script, goOn(last, "Three files are mended, and the tests pass."))
		return script
	})
	l.prompt("mend it")
	began := time.Now()
	keys := 0
	// On a busy machine a frame can come late, and a key that was pressed before it is dropped: then the operator presses
	// it again.
	press := func(key string, done func(screen string) bool) {
		for range 5 {
			quiet() // the operator reads
			l.Keys(key)
			keys++
			for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
				if done(l.Screen()) {
					return
				}
			}
		}
		t.Fatalf("%s does nothing:\n%s", key, l.Screen())
	}
	const second = "any other key goes back"
	l.WaitFor("PROPOSAL")
	press("Enter", func(screen string) bool { return strings.Contains(screen, second) })
	press("y", func(screen string) bool { return !strings.Contains(screen, second) })
	l.WaitFor("the tests pass")
	l.WaitFor("idle")
	took := time.Since(began)
	results := l.api.ToolResults()
	if got := results["t09"].Text; !strings.Contains(got, "all ok") || !results["t02"].IsError {
		t.Errorf("the tests say %q, and before %+v", got, results["t02"])
	}
	calls, asked, changes := len(script)-1, len(l.traced("operator.question.asked")), len(l.traced((host.WriteModeGranted{}).Name()))
	if asked != 1 || calls != 11 || changes != 5 {
		t.Errorf("of %d calls %d change something, and %d were asked", calls, changes, asked)
	}
	t.Logf("a real day: %d tool calls, %d of them change something, %d question, %d keystrokes, %.1f s", calls, changes, asked, keys, took.Seconds())
	l.leave("answered")
}

// program is a command of kitsoki's in the environment of the desk.
func (d *desk) program(args ...string) *exec.Cmd {
	cmd := exec.Command(program(d.t), args...)
	cmd.Env = slices.Clone(d.env)
	return cmd
}
