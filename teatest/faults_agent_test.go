package teatest

import (
	"maps"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/session"
)

func checkOutcomes(t *testing.T, got map[string]int, want ...string) {
	t.Helper()
	wanted := map[string]int{}
	for _, w := range want {
		wanted[w]++
	}
	if !maps.Equal(got, wanted) {
		t.Errorf("the asks ended as %v, want %v", got, wanted)
	}
}

func checkFailed(t *testing.T, end session.Event, words string) {
	t.Helper()
	if !end.Failed || !strings.Contains(end.Text, words) {
		t.Errorf("the turn ended with %+v, want a failure with %q", end, words)
	}
}

func checkStopped(t *testing.T, end session.Event) {
	t.Helper()
	if !end.Stopped || end.Failed {
		t.Errorf("the turn ended with %+v, want a stop", end)
	}
}

func TestAgentIsKilledWhileItAsks(t *testing.T) {
	r := newRig(t, scenarioHead+askSteps, nil, nil)
	r.start()
	r.waitAsked()
	signal(t, r.agent(), unix.SIGKILL)
	_, end := r.ends()
	checkFailed(t, end, "something outside ended it with SIGKILL")
	checkOutcomes(t, r.leave(), "asker_gone")
}

// A stopped agent keeps its ask; the answer goes into its pipe, and nobody reads it. The operator stops the turn.
func TestAgentIsSuspendedWhileItAsks(t *testing.T) {
	r := newRig(t, scenarioHead+askSteps, nil, nil)
	r.start()
	r.waitAsked()
	signal(t, r.agent(), unix.SIGSTOP)
	r.answer <- map[string]any{"Port?": "one"}
	if !eventually(func() bool { snap, _ := r.s.Snapshot(t.Context()); return snap.Asks == 0 }) {
		t.Fatal("the ask is still open")
	}
	r.stop()
	_, end := r.ends()
	checkStopped(t, end)
	checkOutcomes(t, r.leave(), "answered")
}

// An agent that is deaf to SIGTERM is dead after its two seconds; its ask ends at once.
func TestAgentDiesSlowly(t *testing.T) {
	r := newRig(t, "deaf: true\n"+scenarioHead+"  - together:\n    - ask: {questions: [{question: Port?}]}\n  - hang: {}\n", nil, nil)
	r.start()
	r.waitAsked()
	began := time.Now()
	r.stop()
	snap, err := r.s.Snapshot(t.Context())
	if err != nil || snap.Asks != 0 {
		t.Errorf("%d asks outlive the stop, %v", snap.Asks, err)
	}
	_, end := r.ends()
	checkStopped(t, end)
	if took := time.Since(began); took < time.Second {
		t.Errorf("a deaf agent ended within %s: it was not deaf", took)
	}
	checkOutcomes(t, r.leave(), "cancelled")
}

// leaving is an agent, or a grandchild, that starts processes which leave its group before it does its work.
const leaving = `#!/bin/sh
setsid sleep 300 </dev/null >/dev/null 2>&1 &
(setsid sh -c 'trap "" TERM; while :; do sleep 300; done' </dev/null &)
setsid sh -c 'kill -STOP $$; sleep 300' </dev/null >/dev/null 2>&1 &
exec "$@"
`

// What an agent leaves behind in sessions of its own ends with the turn, however that ends.
func TestAgentsChildrenLeaveItsGroup(t *testing.T) {
	for name, end := range map[string]func(r *rig) bool{
		"it ends":    func(r *rig) bool { r.answer <- map[string]any{"Port?": "one"}; return true },
		"killed":     func(r *rig) bool { signal(r.t, r.agent(), unix.SIGKILL); return false },
		"is stopped": func(r *rig) bool { r.stop(); return false },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, scenarioHead+askSteps, []string{script(t, "leaving", leaving)}, nil)
			r.start()
			r.waitAsked()
			if n := len(family(r.env)); n < 5 { // the agent, its grandchild and the three
				t.Fatalf("only %d processes", n)
			}
			well := end(r)
			said, e := r.ends()
			if well != (!e.Failed && !e.Stopped) || well && said != "got one" {
				t.Errorf("the turn ended with %+v after %q", e, said)
			}
			r.leave()
		})
	}
}
