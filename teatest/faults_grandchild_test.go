package teatest

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The agent is told that its call failed, goes on, and gets another grandchild for the next ask.
func TestGrandchildIsKilledWhileItCarriesAnAsk(t *testing.T) {
	again := strings.NewReplacer("id: a,", "id: b,", `"a"`, `"b"`, "call: a", "call: b", "Port?", "Again?").Replace(askSteps)
	r := newRig(t, scenarioHead+askSteps+again, nil, nil)
	r.start()
	r.waitAsked()
	signal(t, r.grandchild(), unix.SIGKILL)
	r.waitAsked()
	r.answer <- map[string]any{"Again?": "two"}
	said, end := r.ends()
	if end.Failed || end.Stopped || said != "got two" {
		t.Errorf("the turn ended with %+v after %q", end, said)
	}
	outcomes := r.leave()
	checkOutcomes(t, outcomes, "asker_gone", "answered")
	for _, rec := range traceOf(t, r.env) {
		if rec.Event == "operator.question.unanswered" && rec.Data["outcome"] != "asker_gone" {
			t.Errorf("%v", rec.Data)
		}
	}
}

// A suspended grandchild keeps the answer from the agent. Nothing ends that but the operator, who can.
func TestGrandchildIsSuspendedWhileItCarriesAnAsk(t *testing.T) {
	r := newRig(t, scenarioHead+askSteps, nil, nil)
	r.start()
	r.waitAsked()
	signal(t, r.grandchild(), unix.SIGSTOP)
	r.answer <- map[string]any{"Port?": "one"}
	if !eventually(func() bool { snap, _ := r.s.Snapshot(t.Context()); return snap.Asks == 0 }) {
		t.Fatal("the ask is still open")
	}
	r.stop()
	_, end := r.ends()
	checkStopped(t, end)
	checkOutcomes(t, r.leave(), "answered")
	for _, rec := range traceOf(t, r.env) {
		if rec.Event == "operator.question.delivered" && rec.Data["delivered"] == true {
			t.Error("the answer counts as delivered")
		}
	}
}

// clinging is a grandchild that does not end with its client, and is deaf.
const clinging = `#!/bin/sh
trap '' TERM INT HUP
"$@"
while :; do sleep 300; done
`

func TestGrandchildDiesSlowly(t *testing.T) {
	r := newRig(t, scenarioHead+askSteps, nil, []string{script(t, "clinging", clinging)})
	r.start()
	r.waitAsked()
	r.answer <- map[string]any{"Port?": "one"}
	said, end := r.ends()
	if end.Failed || said != "got one" {
		t.Errorf("the turn ended with %+v after %q", end, said)
	}
	checkOutcomes(t, r.leave(), "answered")
}

func TestGrandchildsChildrenLeaveItsGroup(t *testing.T) {
	r := newRig(t, scenarioHead+askSteps, nil, []string{script(t, "leaving", strings.Replace(leaving, "exec ", "exec setsid ", 1))})
	r.start()
	r.waitAsked()
	if n := len(family(r.env)); n < 5 {
		t.Fatalf("only %d processes", n)
	}
	r.stop()
	_, end := r.ends()
	checkStopped(t, end)
	checkOutcomes(t, r.leave(), "cancelled")
}
