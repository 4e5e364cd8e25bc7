package teatest

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
	"example.com/kitsoki/teatest/messagesapi"
)

// inTurn narrows the first step of a turn to its prompt.
func inTurn(prompt string, s messagesapi.Step) messagesapi.Step {
	s.When = messagesapi.All(messagesapi.PromptContains(prompt), s.When)
	return s
}

// Proposals that nobody answers: past their limit (G6, claude-agent-sdk-python#304), with the turn stopped, with the
// agent killed, with kitsoki closing. Nothing happens, an answer that comes later is told so, and what was not a no is
// asked again.
func TestGateProposalsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	answer := func(p host.Proposal) string {
		if strings.Contains(p.Title, "again.txt") {
			return "action"
		}
		return ""
	}
	r := newGateRig(t, answer, func(dir string) []messagesapi.Step {
		return []messagesapi.Step{
			inTurn("late", do("", "a1", "Bash", bash("touch late"))),
			do("a1", "a2", "Bash", bash("touch late")),
			do("a2", "a3", "Write", map[string]string{"file_path": filepath.Join(dir, "again.txt"), "content": "x"}),
			goOn("a3", "It was late."),
			inTurn("stop", do("", "b1", "Bash", bash("touch stopped"))),
			inTurn("kill", do("", "c1", "Bash", bash("touch killed"))),
			inTurn("close", do("", "d1", "Bash", bash("touch closed"))),
			{Repeat: true, Reply: messagesapi.Say("I am not gone yet.")}, // before the signal came
		}
	}, withWait(2*time.Second))
	if res := r.turn("too late"); res.Denials != 2 || len(r.asked()) != 3 {
		t.Errorf("%d denials, asked %q", res.Denials, r.texts())
	}
	r.check(map[string]string{"a1": "!did not answer in time", "a2": "!did not answer in time", "a3": byKitsoki})
	for range 3 {
		wait(t, "a proposal", r.open)
	}

	for _, end := range []struct {
		name string
		by   func() error
		want host.Outcome
	}{
		{"stop", func() error { return r.session.CancelTurn(context.Background()) }, host.Cancelled},
		{"kill", func() error { return unix.Kill(member(t, r.env, "--permission-prompt-tool"), unix.SIGKILL) }, host.AskerGone},
		{"close", func() error { return r.manager.Close(aMinute(t), host.HostClosing) }, host.HostClosing},
	} {
		ended := r.begin(end.name + " it")
		wait(t, "a proposal", r.open)
		if err := end.by(); err != nil {
			t.Fatal(err)
		}
		if err := wait(t, "the end of the turn", ended); err == nil {
			t.Errorf("%s: the turn ended well", end.name)
		}
		ask := r.handles[len(r.handles)-1]
		var over *host.Resolution
		if err := ask.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); !errors.Is(err, host.ErrResolved) || !errors.As(err, &over) || over.Outcome != end.want {
			t.Errorf("%s: an answer that came later: %v", end.name, err)
		}
		checkNobodyLeft(t, r.env)
	}
	r.checkFiles(map[string]string{"late": "-", "again.txt": "x", "stopped": "-", "killed": "-", "closed": "-"})
	granted := slices.DeleteFunc(r.verdicts(), func(v host.WriteModeGranted) bool { return !v.Granted })
	if len(granted) != 1 || len(r.verdicts()) != 6 {
		t.Errorf("the verdicts are %+v", r.verdicts())
	}
}

// Commands that were allowed run outside of the wall as in a terminal without one: both streams, the exit code, an empty
// standard input, as much output as there is. One that takes longer than the agent waits goes on in the background
// (2.1.332), where the agent reads what it prints. All end with the agent.
func TestGateRunsCommands(t *testing.T) {
	t.Parallel()
	sleeper := func(name string) string { return "echo $$ > " + name + "; setsid sleep 300 & sleep 300" }
	r := newGateRig(t, always("turn"), func(string) []messagesapi.Step {
		return []messagesapi.Step{
			do("", "a1", "Bash", bash("cat; echo out; echo err >&2; pwd > where; exit 3")),
			do("a1", "a2", "Bash", bash("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end; touch big")),
			do("a2", "a3", "Bash", map[string]any{"command": sleeper("slow"), "timeout": 1500}),
			do("a3", "a4", "Bash", map[string]any{"command": "touch begun; sleep 0.5; echo done > bg", "run_in_background": true}),
			do("a4", "a5", "Bash", bash("until test -f bg; do sleep 0.1; done; cat bg; kill -9 $$")),
			do("a5", "a6", "Bash", bash(sleeper("orphan"))),
		}
	})
	ended := r.begin("go")
	pid := 0
	if !eventually(func() bool {
		pid, _ = strconv.Atoi(strings.TrimSpace(r.file("orphan")))
		return pid > 0
	}) {
		t.Fatalf("the last command did not begin: %+v", r.api.ToolResults())
	}
	if slow, err := strconv.Atoi(strings.TrimSpace(r.file("slow"))); err != nil || unix.Kill(slow, 0) != nil {
		t.Errorf("the command that the agent no longer waits for is gone: %d, %v", slow, err)
	}
	signal(t, member(t, r.env, "--permission-prompt-tool"), unix.SIGKILL)
	if err := wait(t, "the end of the turn", ended); err == nil {
		t.Error("the turn ended well")
	}
	checkNobodyLeft(t, r.env)
	r.check(map[string]string{"a1": "!Exit code 3", "a2": "xxxx", "a3": "moved to the background", "a4": "running in background", "a5": "!Exit code 137\ndone"})
	results := r.api.ToolResults()
	if got := results["a1"].Text; !strings.Contains(got, "out") || !strings.Contains(got, "err") {
		t.Errorf("the model read %q", got)
	}
	t.Logf("of 10 MB the model read %d bytes: %.300s", len(results["a2"].Text), results["a2"].Text)
	actual, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	r.checkFiles(map[string]string{"big": "", "begun": "", "bg": "done\n", "where": actual + "\n"})
	if n := len(r.asked()); n != 1 {
		t.Errorf("asked was %q", r.texts())
	}
}
