package teatest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	program(t)
	tmux.Require(t)
	t.Parallel()
	l := &lasting{desk: &desk{t: t, api: messagesapi.Start(t,
		inTurn("mend it", do("", "a", "Bash", bash("touch never"))),
		inTurn("go on", do("", "b", "Bash", bash("touch again"))),
		goOn("b", "It was denied."),
	)}, dir: t.TempDir()}
	l.env = claudecli.Env(t, l.api.URL(), agent.EnvClaudeBin+"="+claudecli.Require(t, claudecli.Current))
	l.open("--access", "ask")
	l.WaitFor("idle")
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

// program is a command of kitsoki's in the environment of the desk.
func (d *desk) program(args ...string) *exec.Cmd {
	cmd := exec.Command(program(d.t), args...)
	cmd.Env = slices.Clone(d.env)
	return cmd
}
