package agent

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// permitting is a gate that allows everything it is asked for.
type permitting struct {
	mu    sync.Mutex
	calls []string
	paths [][]string
	asked []bool // whether there was a prompter
}

func (p *permitting) Permit(ctx context.Context, call *askbridge.PermissionCall) askbridge.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := host.OperatorPrompterFrom(ctx)
	p.calls = append(p.calls, call.ToolUseID)
	p.paths = append(p.paths, host.AskRequestFrom(ctx).Asker.Path)
	p.asked = append(p.asked, ok)
	return askbridge.Decision{Allow: true}
}

func (*permitting) Run(context.Context, askbridge.RunCall) (int, error) { return 0, nil }
func (*permitting) Denials() int                                        { return 0 }
func (*permitting) Enclose(_ context.Context, l Launch) (Launch, func() error, error) {
	return l, func() error { return nil }, nil
}

func gatedRun() (*run, *permitting) {
	gate := &permitting{}
	r := &run{req: Request{Access: Gated, Gate: gate}, askers: newAskers(host.Asker{Agent: "claude"})}
	r.askers.gated = true
	return r, gate
}

func wanted(id, tool, input string) *askbridge.PermissionCall {
	return &askbridge.PermissionCall{ID: "p", ToolUseID: id, Tool: tool, Input: json.RawMessage(input)}
}

// at ends as a call does whose agent went away: waiting for the stream takes seconds else.
func at(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// Whoever writes to the socket can make up a permission, but not what the model said: only a call that the stream has
// shown, with the same tool and input, and once, is brought to the gate.
func TestPermissionsThatTheStreamDidNotShow(t *testing.T) {
	r, gate := gatedRun()
	touch := json.RawMessage(`{"command":"touch x","description":"d"}`)
	for _, id := range []string{"a", "b", "c", "d"} {
		r.askers.saw(ToolUse{ID: id, Name: "Bash", Input: touch})
	}
	r.askers.saw(ToolUse{ID: "own", Name: PermitTool, Input: json.RawMessage(`{"tool_name":"Bash"}`)})
	for _, forged := range []struct {
		call *askbridge.PermissionCall
		want string
	}{
		{wanted("unknown", "Bash", `{"command":"touch x"}`), "did not see this call"},
		{wanted("", "Bash", `{"command":"touch x"}`), "did not see this call"},
		{wanted("a", "Write", `{"command":"touch x"}`), "not the call that kitsoki saw"},
		{wanted("b", "Bash", `{"command":"touch y"}`), "not the call that kitsoki saw"},
		{wanted("b", "Bash", `{"command":"touch x"}`), "did not see this call"}, // one that was used up by a forgery
		{wanted("c", "Bash", `{"command":"touch x","run_in_background":true}`), "not the call that kitsoki saw"},
		{wanted("d", "Bash", `no JSON`), "not the call that kitsoki saw"},
		{wanted("own", PermitTool, `{"tool_name":"Bash"}`), "for the agent's own program"},
	} {
		if d := r.permit(at(t), forged.call); d.Allow || !strings.Contains(d.Message, forged.want) {
			t.Errorf("%s %s: %+v", forged.call.ToolUseID, forged.call.Input, d)
		}
	}
	if len(gate.calls) != 0 {
		t.Errorf("the gate was asked for %v", gate.calls)
	}
}

func TestAPermissionIsGoodOnce(t *testing.T) {
	r, gate := gatedRun()
	r.askers.saw(ToolUse{ID: "a", Name: "Bash", Input: json.RawMessage(`{"command":"touch x","description":"d"}`)})
	if d := r.permit(t.Context(), wanted("a", "Bash", `{"description":"d","command":"touch x"}`)); !d.Allow {
		t.Errorf("the call itself: %+v", d)
	}
	if d := r.permit(at(t), wanted("a", "Bash", `{"description":"d","command":"touch x"}`)); d.Allow {
		t.Error("the same call was permitted twice")
	}
	if !reflect.DeepEqual(gate.calls, []string{"a"}) || gate.asked[0] {
		t.Errorf("the gate was asked for %v, with a prompter: %v", gate.calls, gate.asked)
	}
}

// The permission can be ahead of the stream. It names the sub-agent once that is known.
func TestAPermissionThatIsAheadOfTheStream(t *testing.T) {
	r, gate := gatedRun()
	r.operator = host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) { return nil, nil })
	r.askers.saw(ToolUse{ID: "sub", Name: "Agent", Input: json.RawMessage(`{"subagent_type":"tester"}`)})
	done := make(chan askbridge.Decision)
	go func() { done <- r.permit(t.Context(), wanted("late", "Bash", `{"command":"touch x"}`)) }()
	r.askers.saw(ToolUse{ID: "other", Name: "Bash", Parent: "sub", Input: json.RawMessage(`{"command":"ls"}`)})
	r.askers.saw(ToolUse{ID: "late", Name: "Bash", Parent: "sub", Input: json.RawMessage(`{"command":"touch x"}`)})
	select {
	case d := <-done:
		if !d.Allow {
			t.Errorf("%+v", d)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it was not decided")
	}
	if !slices.Equal(gate.paths[0], []string{"tester"}) || !gate.asked[0] {
		t.Errorf("asked by %v, with a prompter: %v", gate.paths, gate.asked)
	}
	if n := r.askers.unbrought([]string{"late", "other", "unknown"}); n != 1 {
		t.Errorf("%d calls were never brought to the gate", n)
	}
}

func TestSameInput(t *testing.T) {
	for _, c := range []struct {
		seen, call string
		same       bool
	}{
		{`{"a":1,"b":"x"}`, `{"b":"x","a":1}`, true},
		{`{"file_path":"a.txt","content":"x"}`, `{"file_path":"/w/a.txt","content":"x"}`, true},
		{`{"file_path":"../a.txt"}`, `{"file_path":"/w/a.txt"}`, true},
		{`{"file_path":"~/a.txt"}`, `{"file_path":"/home/o/a.txt"}`, true},
		{`{"path":"./d"}`, `{"path":"/w/d"}`, true},
		{`{"command":"ls","description":"d"}`, `{"command":"ls"}`, true},
		{`{"old_string":"a"}`, `{"old_string":"a","replace_all":false}`, true},
		{`{"command":"ls"}`, `{"command":"ls "}`, false},
		{`{"command":"ls"}`, `{}`, false},
		{`{}`, `{"command":"ls"}`, false},
		{`{"old_string":"a"}`, `{"old_string":"a","replace_all":true}`, false},
		{`{"file_path":"a.txt","content":"x"}`, `{"file_path":"/w/a.txt","content":"y"}`, false},
		{`{"file_path":"a.txt"}`, `{"file_path":"/w/b.txt"}`, false},
		{`{"file_path":"a.txt"}`, `{"file_path":"/w/ba.txt"}`, false},
		{`{"file_path":"/w/a.txt"}`, `{"file_path":"/v/a.txt"}`, false},
		{`{"file_path":"a.txt"}`, `{"file_path":"b/a.txt"}`, false},
		{`{"content":"x"}`, `{"content":["x"]}`, false},
		{`[]`, `[]`, false},
		{`{"a":1}`, `{"a":1`, false},
	} {
		if got := sameInput(json.RawMessage(c.seen), json.RawMessage(c.call)); got != c.same {
			t.Errorf("%s and %s: %v", c.seen, c.call, got)
		}
	}
}

// With an operator the agent is given both tools of our server, without one the gate's alone, of which its model hears
// nothing; and what reads comes to the gate too, beside what the operator's own rules say.
func TestWhatAGatedRunIsGiven(t *testing.T) {
	for _, asks := range []bool{true, false} {
		s := operatorServerFor([]string{"/bin/kitsoki"}, "/run/sock", asks, true)
		entry, ok := s.entry.(askedServer)
		if !ok || (entry.Env[EnvGate] == GateAlone) == asks || entry.Env[EnvGate] == "" || slices.Contains(s.tools, AskTool) != asks {
			t.Errorf("with an operator %v: %+v", asks, s)
		}
		args := argv(Command{}, Request{Verb: Task, Access: Gated}, setup{asks: asks, gate: true, servers: []server{s}, config: "/run/mcp.json"})
		if flag(args, "--permission-prompt-tool") != PermitTool || flag(args, "--allowedTools") != strings.Join(s.tools, ",") || flag(args, "--permission-mode") != "default" {
			t.Errorf("with an operator %v: %v", asks, args)
		}
	}
	own := carried{settings: map[string]any{"model": "m", "permissions": map[string][]string{"ask": {"WebFetch"}, "deny": {"Read(/x)"}}}}
	own.ask(Request{Access: Gated})
	want := map[string]any{"model": "m", "permissions": map[string][]string{"ask": {"WebFetch", "Bash", "Read", "Grep", "Glob"}, "deny": {"Read(/x)"}}}
	if !reflect.DeepEqual(own.settings, want) {
		t.Errorf("the settings are %v", own.settings)
	}
	for _, req := range []Request{{Access: Edit}, {Access: Full}, {Access: Read}, {Access: Gated, Verb: Ask}} {
		var none carried
		if none.ask(req); none.settings != nil {
			t.Errorf("%+v: %v", req, none.settings)
		}
	}
	var bare carried
	if bare.ask(Request{Access: Gated}); bare.settings["permissions"] == nil || !bare.needsDir() {
		t.Errorf("without settings of the operator: %v", bare.settings)
	}
}

// A surrounding dispatch's gate is not that of an agent which is started inside of it.
func TestAGateIsNotInherited(t *testing.T) {
	env := environ([]string{EnvGate + "=" + GateAlone, EnvAskSocket + "=/x", "A=b"}, Command{}, setup{})
	if i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, EnvGate) || strings.HasPrefix(kv, EnvAskSocket) }); i >= 0 {
		t.Errorf("%v", env)
	}
}
