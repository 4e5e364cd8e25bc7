package teatest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/teatest/claudecli"
)

// limitOfEnd is within what a turn that is stopped has to be over: two seconds of grace, two for the sweep, and a
// busy machine.
const limitOfEnd = 8 * time.Second

const scenarioHead = "name: n\ndescription: d\npace: \"0\"\nwithout_operator: Nobody can be asked.\nsteps:\n"

// askSteps is an agent that asks and says what came of it.
const askSteps = `  - ask: {id: a, questions: [{question: Port?, header: Port, options: [{label: one}, {label: two}], multiSelect: false}]}
  - on:
      call: a
      answered: [{say: 'got {{answer "a" "Port?"}}'}]
      error: [{say: 'went on without, {{error "a"}}'}]
`

func scenarioFile(t *testing.T, yaml string) string {
	t.Helper()
	return script(t, "scenario.yaml", yaml)
}

// script writes a program, or another file, that nobody else has.
func script(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	return path
}

// rig is a session without a screen: the dispatch's processes are real, and the surface is the test.
type rig struct {
	t    *testing.T
	env  []string
	m    *session.Manager
	s    *session.Session
	open int // descriptors before

	asked  chan struct{}
	answer chan map[string]any
}

// newRig opens a session. Around, when given, are words before the agent's and before the grandchild's program.
func newRig(t *testing.T, scenario string, aroundAgent, aroundGrandchild []string) *rig {
	t.Helper()
	bin := program(t)
	r := &rig{t: t, open: descriptors(t), asked: make(chan struct{}, 8), answer: make(chan map[string]any, 8)}
	r.env = claudecli.Env(t, "http://127.0.0.1:9")
	dir, err := askbridge.RuntimeDir(func(name string) string { return lookup(r.env, name) })
	if err != nil {
		t.Fatal(err)
	}
	self := append(append([]string{}, aroundGrandchild...), bin)
	r.m = session.NewManager(session.ManagerOptions{
		Runner:  &agent.Dispatcher{Self: self, Runtime: dir, Env: r.env},
		State:   filepath.Join(lookup(r.env, "XDG_STATE_HOME"), "kitsoki", "sessions"),
		Environ: r.env,
	})
	cmd := agent.Scripted(append(append([]string{}, aroundAgent...), bin), scenarioFile(t, scenario))
	if r.s, err = r.m.New(session.Options{Command: cmd, Dir: t.TempDir(), Access: agent.Edit}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.s.Attach("test", host.PrompterFunc(r.ask)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) ask(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
	r.asked <- struct{}{}
	select {
	case a := <-r.answer:
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// start starts a turn.
func (r *rig) start() {
	r.t.Helper()
	if err := r.s.StartTurn(context.Background(), "go"); err != nil {
		r.t.Fatal(err)
	}
}

// waitAsked waits until an ask is open.
func (r *rig) waitAsked() {
	r.t.Helper()
	select {
	case <-r.asked:
	case <-time.After(20 * time.Second):
		r.t.Fatal("nobody asked")
	}
}

func (r *rig) grandchild() int { return member(r.t, r.env, "mcp-operator-ask") }
func (r *rig) agent() int      { return member(r.t, r.env, "agent-scripted") }

// stop stops the turn as the operator does.
func (r *rig) stop() {
	r.t.Helper()
	if err := r.s.CancelTurn(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// ends waits for the end of the turn, within limitOfEnd, and returns what the agent said last and how it ended.
func (r *rig) ends() (said string, end session.Event) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limitOfEnd)
	defer cancel()
	for after := uint64(0); ; {
		batch, err := r.s.Events(ctx, after)
		if err != nil {
			r.t.Fatalf("the turn has not ended: %v", err)
		}
		for _, e := range batch.Events {
			after = e.Seq
			switch e.Kind {
			case session.Said:
				said = e.Text
			case session.TurnEnded:
				return said, e
			}
		}
	}
}

// leave closes the session and checks that nothing is left of it, and that its trace is whole. It returns how the
// asks ended.
func (r *rig) leave() map[string]int {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limitOfEnd)
	defer cancel()
	if err := r.m.Close(ctx, host.HostClosing); err != nil {
		r.t.Error(err)
	}
	// The turn has ended and waited for all of this, so that no time is given here.
	if left := family(r.env); len(left) > 0 {
		r.t.Errorf("processes are left: %v", left)
		checkNobodyLeft(r.t, r.env)
	}
	checkNothingLeft(r.t, r.env)
	if now := descriptors(r.t); now != r.open {
		r.t.Errorf("%d descriptors are open, %d were before", now, r.open)
	}
	outcomes := map[string]int{}
	for _, outcome := range checkTrace(r.t, r.env) {
		outcomes[outcome]++
	}
	return outcomes
}
