package gate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/gate/wall"
)

func TestWhatReadsPassesUnasked(t *testing.T) {
	r := newRig(t)
	r.write("a.txt", "x")
	for tool, input := range map[string]any{
		"Bash": runs("ls -la"), "Read": map[string]string{"file_path": r.path("a.txt")}, "Grep": map[string]string{"pattern": "x"}, "TodoWrite": map[string]any{"todos": []any{}},
	} {
		if d := r.turn.Permit(t.Context(), r.call(tool, input)); !d.Allow || strings.Contains(string(d.Input), RunApproved) {
			t.Errorf("%s: %+v", tool, d)
		}
	}
	if len(r.events) != 0 || r.turn.Denials() != 0 {
		t.Errorf("verdicts: %+v", r.events)
	}
}

// What each answer covers, and for how long.
func TestScopes(t *testing.T) {
	for _, c := range []struct {
		row      string
		next     bool // whether another write of the turn passes unasked
		nextTurn bool
	}{{"action", false, false}, {"turn", true, false}, {"session", true, true}, {"deny", false, false}} {
		t.Run(c.row, func(t *testing.T) {
			r := newRig(t)
			r.permit(c.row, "Bash", runs("touch a"))
			asked := r.asked()
			r.permit("deny", "Write", writes("b", "b"))
			if got := r.asked() == asked; got != c.next {
				t.Errorf("another write of the turn passed: %v", got)
			}
			asked = r.asked()
			r.permit("deny", "Bash", runs("git push"))
			r.permit("deny", "Bash", runs("touch c && git push"))
			r.permit("deny", "WebFetch", map[string]string{"url": "http://127.0.0.1/", "prompt": "p"})
			r.permit("deny", "mcp__db__drop", map[string]string{})
			r.permit("deny", "Write", writes("/etc/motd", "x"))
			r.permit("deny", "Write", writes(".git/hooks/pre-commit", "x"))
			if got := r.asked() - asked; got != 6 {
				t.Errorf("of 6 actions that no grant covers %d were asked", got)
			}
			r.next(2)
			asked = r.asked()
			r.permit("deny", "Bash", runs("touch d"))
			if got := r.asked() == asked; got != c.nextTurn {
				t.Errorf("a write of the next turn passed: %v", got)
			}
		})
	}
}

// What leaves the machine, and what no grant covers, cannot be allowed beyond this once, also by a surface that makes
// up an answer.
func TestExternalAndGuardedAreForOnce(t *testing.T) {
	r := newRig(t)
	for i, c := range []struct {
		tool  string
		input any
	}{{"Bash", runs("git push")}, {"WebFetch", map[string]string{"url": "http://x"}}, {"Write", writes("/nowhere/x", "x")}, {"Write", writes(".env", "x")}} {
		d := r.permit("session", c.tool, c.input)
		if d.Allow || strings.Contains(d.Message, made) || !slices.Equal(r.rows[i], []string{"action", "deny"}) || len(r.gate.Grants()) != 0 {
			t.Errorf("%s %v: %+v, rows %v, grants %v", c.tool, c.input, d, r.rows[i], r.gate.Grants())
		}
	}
}

func TestADenialStandsUntilTheTurnEnds(t *testing.T) {
	r := newRig(t)
	d := r.permit("!not on my machine", "Bash", runs("touch a"))
	if d.Allow || !strings.Contains(d.Message, "the operator denied it, saying: not on my machine") {
		t.Errorf("%+v", d)
	}
	again := map[string]string{"command": "touch a", "description": "something else entirely"}
	if d := r.permit("action", "Bash", again); d.Allow || r.asked() != 1 || !strings.Contains(d.Message, "denied exactly this before") {
		t.Errorf("in other words: %+v, asked %d times", d, r.asked())
	}
	if d := r.permit("turn", "Bash", runs("touch b")); !d.Allow {
		t.Errorf("something else: %+v", d)
	}
	if d := r.permit("action", "Bash", runs("touch a")); d.Allow {
		t.Error("a grant came before a denial")
	}
	if r.turn.Denials() != 3 {
		t.Errorf("%d denials", r.turn.Denials())
	}
	r.next(2)
	if d := r.permit("action", "Bash", runs("touch a")); !d.Allow || r.asked() != 3 {
		t.Errorf("in the next turn: %+v", d)
	}
}

func TestRevoked(t *testing.T) {
	r := newRig(t)
	r.permit("session", "Write", writes("a", "x"))
	r.permit("deny", "Write", writes("b", "x"))
	grants := r.gate.Grants()
	if len(grants) != 1 || grants[0].Uses != 1 || grants[0].Scope != host.ScopeSession || r.asked() != 1 {
		t.Fatalf("%+v, asked %d times", grants, r.asked())
	}
	if err := r.gate.Revoke(grants[0].ID); err != nil {
		t.Error(err)
	}
	if err := r.gate.Revoke(grants[0].ID); err == nil {
		t.Error("it was revoked twice")
	}
	if r.permit("deny", "Write", writes("c", "x")); r.asked() != 2 || r.file("c") != "-" {
		t.Error("a revoked grant covered a write")
	}
}

// waiting opens n proposals and returns when all are open. Each is answered with what comes out of the channel, or
// ends with its context.
func (r *rig) waiting(n int, input func(i int) any) (answers chan string, decisions chan askbridge.Decision) {
	answers, decisions = make(chan string), make(chan askbridge.Decision, n)
	open := make(chan struct{}, n)
	for i := range n {
		call := r.call("Bash", input(i))
		p := host.PrompterFunc(func(ctx context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
			open <- struct{}{}
			select {
			case row := <-answers:
				return map[string]any{qs[0].Question: row}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
		go func() { decisions <- r.turn.Permit(host.WithOperatorPrompter(context.Background(), p), call) }()
	}
	for range n {
		within(r.t, "a proposal", open)
	}
	return answers, decisions
}

func within[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("waited for %s in vain", what)
		panic("unreachable")
	}
}

func TestATurnGrantResolvesWhatWaits(t *testing.T) {
	r := newRig(t)
	answers, decisions := r.waiting(20, func(i int) any { return runs("touch f" + string(rune('a'+i))) })
	answers <- "turn"
	for range 20 {
		if d := within(t, "a decision", decisions); !d.Allow {
			t.Errorf("%+v", d)
		}
	}
	by := map[string]int{}
	for _, e := range r.events {
		by[e.By]++
		if !e.Granted || e.Question != "" {
			t.Errorf("%+v", e)
		}
	}
	if by["operator"] != 1 || by["grant 1"] != 19 || len(r.gate.Grants()) != 1 {
		t.Errorf("decided by %v; %+v", by, r.gate.Grants())
	}
}

// One yes to what leaves the machine is one, whatever else waits; one no to a command is a no to all that are the same.
func TestWhatWaitsBesideAnAnswer(t *testing.T) {
	r := newRig(t)
	answers, decisions := r.waiting(3, func(int) any { return runs("git push") })
	answers <- "deny"
	for range 3 {
		if d := within(t, "a decision", decisions); d.Allow {
			t.Errorf("%+v", d)
		}
	}
	answers, decisions = r.waiting(2, func(i int) any { return runs([]string{"git push a", "git push b"}[i]) })
	answers <- "action"
	if d := within(t, "a decision", decisions); !d.Allow {
		t.Errorf("%+v", d)
	}
	select {
	case d := <-decisions:
		t.Errorf("the other push was decided too: %+v", d)
	case answers <- "deny":
		if d := within(t, "a decision", decisions); d.Allow {
			t.Errorf("%+v", d)
		}
	}
}

// Whatever goes wrong is a denial, and nothing is granted or done by it.
func TestTheGateFailsClosed(t *testing.T) {
	type setup struct {
		name string
		ctx  func(r *rig) context.Context
		want string
	}
	prompter := func(f host.PrompterFunc) func(*rig) context.Context {
		return func(*rig) context.Context { return host.WithOperatorPrompter(context.Background(), f) }
	}
	answering := func(v any) func(*rig) context.Context {
		return prompter(func(_ context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
			return map[string]any{qs[0].Question: v}, nil
		})
	}
	ending := func(outcome host.Outcome) func(*rig) context.Context {
		return prompter(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
			return nil, &host.Unanswered{Outcome: outcome}
		})
	}
	for _, c := range []setup{
		{"no prompter", func(*rig) context.Context { return context.Background() }, "nobody can be asked"},
		{"nothing", prompter(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) { return nil, nil }), "denied"},
		{"empty", answering(""), "denied"},
		{"own words", answering("yes, please"), "denied"},
		{"a row in other letters", answering("Turn"), "denied"},
		{"a list of rows", answering([]string{"turn"}), "denied"},
		{"a number", answering(0), "denied"},
		{"another question's answer", prompter(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
			return map[string]any{"Allow?": "turn"}, nil
		}), "denied"},
		{"an error", prompter(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
			return nil, errors.New("the screen is gone")
		}), "could not be asked"},
		{"an answer with an error", prompter(func(_ context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
			return map[string]any{qs[0].Question: "turn"}, errors.New("not sent")
		}), "could not be asked"},
		{"panic", prompter(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) { panic("oh") }), "the gate failed"},
		{"timed out", ending(host.TimedOut), "did not answer in time"},
		{"cancelled", ending(host.Cancelled), "not asked to the end"},
		{"no operator", ending(host.NoOperator), "nobody is there"},
		{"asker gone", ending(host.AskerGone), "not asked to the end"},
		{"host closing", ending(host.HostClosing), "kitsoki is closing"},
		{"the agent is gone", func(r *rig) context.Context {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(&host.Unanswered{Outcome: host.AskerGone})
			return r.operator(ctx, func() string { return "session" })
		}, "not asked to the end (asker_gone)"},
		{"past a deadline of the context", func(r *rig) context.Context {
			ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
			cancel()
			return r.operator(ctx, func() string { return "session" })
		}, "could not be asked"},
		{"recorder fails", func(r *rig) context.Context {
			r.broken = errors.New("disk full")
			return r.operator(context.Background(), func() string { return "session" })
		}, "could not be written into the trace: disk full"},
		{"turn over", func(r *rig) context.Context { r.turn.End(); return context.Background() }, "the turn has ended"},
		{"turn over before the answer", func(r *rig) context.Context {
			return r.operator(context.Background(), func() string { r.turn.End(); return "turn" })
		}, "the turn has ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			d := r.turn.Permit(c.ctx(r), r.call("Write", writes("a", "x")))
			if d.Allow || !strings.Contains(d.Message, c.want) || strings.Contains(d.Message, made) || r.file("a") != "-" {
				t.Errorf("%+v; the file: %q", d, r.file("a"))
			}
			r.broken = nil
			if granted := r.gate.Grants(); r.turn.Denials() != 1 || len(granted) != 0 || len(r.ran) != 0 {
				t.Errorf("%d denials, granted %+v, ran %v", r.turn.Denials(), granted, r.ran)
			}
		})
	}
}

// A bridge to which nobody gave a gate permits and runs nothing.
func TestABridgeWithoutAGate(t *testing.T) {
	b := host.NewBridge(host.BridgeOptions{})
	if d := b.Permission(t.Context(), &askbridge.PermissionCall{ID: "p", Tool: "Bash"}); d.Allow || !strings.Contains(d.Message, "no gate") {
		t.Errorf("%+v", d)
	}
	if _, err := b.Run(t.Context(), askbridge.RunCall{Token: "t"}); err == nil {
		t.Error("it ran")
	}
}

// A prompter that panics on another goroutine's behalf leaves the gate in order.
func TestTheGateGoesOnAfterAPanic(t *testing.T) {
	r := newRig(t)
	p := host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) { panic("oh") })
	r.turn.Permit(host.WithOperatorPrompter(t.Context(), p), r.call("Bash", runs("touch a")))
	if d := r.permit("turn", "Bash", runs("touch b")); !d.Allow {
		t.Errorf("%+v", d)
	}
}

// A grant that cannot be recorded is none: neither of the action, nor of those that it would have covered.
func TestAGrantThatCannotBeRecordedIsNone(t *testing.T) {
	r := newRig(t)
	r.broken = errors.New("disk full")
	r.permit("session", "Write", writes("a", "x"))
	r.broken = nil
	if r.permit("deny", "Write", writes("b", "x")); r.asked() != 2 || r.file("a") != "-" || r.file("b") != "-" {
		t.Errorf("asked %d times; %+v", r.asked(), r.gate.Grants())
	}
	r.permit("turn", "Write", writes("c", "x"))
	r.broken = errors.New("disk full")
	if d := r.permit("deny", "Write", writes("d", "x")); strings.Contains(d.Message, made) || r.file("d") != "-" {
		t.Errorf("covered and not recorded: %+v", d)
	}
}

// Without a wall the agent does itself what was allowed.
func TestWithoutAWallTheAgentDoesIt(t *testing.T) {
	r := newRig(t)
	r.gate.opt.Level = wall.None
	input := `{"command":"touch a","description":"d"}`
	if d := r.permit("action", "Bash", input); !d.Allow || string(d.Input) != input {
		t.Errorf("%+v", d)
	}
	if d := r.permit("action", "Write", writes("a", "x")); !d.Allow || r.file("a") != "-" {
		t.Errorf("%+v; the file: %q", d, r.file("a"))
	}
	if d := r.permit("deny", "Write", writes("b", "x")); d.Allow {
		t.Errorf("%+v", d)
	}
	if held := r.last().Held; held != "asked only, not enforced" {
		t.Errorf("it is held by %q", held)
	}
}

func TestManyAtOnce(t *testing.T) {
	r := newRig(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			row := []string{"turn", "action", "deny", "session"}[i%4]
			r.turn.Permit(r.operator(context.Background(), func() string { return row }), r.call("Bash", runs("touch f"+string(rune('a'+i)))))
			r.gate.Grants()
			r.turn.Denials()
		})
	}
	all.Wait()
	if len(r.events) != 16 {
		t.Errorf("%d verdicts", len(r.events))
	}
}
