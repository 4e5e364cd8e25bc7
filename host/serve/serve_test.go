package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
)

// What a call says reaches the agent, what it leaves out is the server's or the agent's own, and nobody can be asked.
func TestWhatACallSaysReachesTheAgent(t *testing.T) {
	got := make(chan agent.Request, 1)
	r := serving(t, 0, func(ctx context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
		if _, ok := host.OperatorPrompterFrom(ctx); ok {
			t.Error("somebody can be asked")
		}
		got <- req
		return agent.Result{
			Text: "said", Conversation: "c1", CostUSD: 0.5, Usage: agent.Usage{Input: 3}, Attempts: 1, Files: []string{"/a"},
			Structured: json.RawMessage(`{"a":1}`),
		}, nil
	})
	c := r.dial()
	other := t.TempDir()
	report, err := c.call("decide", params1{
		"prompt": "p", "dir": other, "model": "x", "access": "edit", "effort": "low", "system_prompt": "s", "tools": []string{"Read"},
		"schema": map[string]any{"type": "object"}, "budget_usd": 1.5, "limit_seconds": 0.5, "max_turns": 3, "retries": 0,
	})
	want := session.Report{
		Session: report.Session, Turn: 1, Verb: agent.Decide, Outcome: "done", Text: "said", Value: json.RawMessage(`{"a":1}`), Files: []string{"/a"},
		Conversation: "c1", CostUSD: 0.5, Tokens: 3, Attempts: 1, DurationMS: report.DurationMS,
	}
	if err != nil || !reflect.DeepEqual(report, want) {
		t.Errorf("got %+v, %v", report, err)
	}
	if req := <-got; !reflect.DeepEqual(req, agent.Request{
		Verb: agent.Decide, Prompt: "p", SessionID: report.Session, Model: "x", Dir: other, Access: agent.Edit, Effort: "low",
		SystemPrompt: "s", Tools: []string{"Read"}, BudgetUSD: 1.5, MaxTurns: 3, Limit: 500 * time.Millisecond,
		Schema: json.RawMessage(`{"type":"object"}`), Retries: -1,
	}) {
		t.Errorf("the agent got %+v", req)
	}
	if _, err := c.call("converse", params1{"prompt": "p"}); err != nil {
		t.Error(err)
	}
	if req := <-got; req.Verb != agent.Converse || req.Model != "m" || req.Dir != r.dir || req.Access != agent.Read || req.Tools != nil || req.Retries != 0 || req.Limit != 0 {
		t.Errorf("the agent got %+v", req)
	}
	// A session goes on where it was, as it was.
	again, err := c.call("ask", params1{"prompt": "and now", "session": report.Session})
	if err != nil || again.Session != report.Session || again.Turn != 2 {
		t.Errorf("got %+v, %v", again, err)
	}
	if req := <-got; req.Conversation != "c1" || req.Dir != other || req.Model != "x" || req.Access != agent.Edit || req.Verb != agent.Ask {
		t.Errorf("the agent got %+v", req)
	}
}

// Every fault of the params is named by its field, and nothing is begun.
func TestWrongParams(t *testing.T) {
	r := serving(t, 0, func(context.Context, agent.Request, agent.Observer) (agent.Result, error) {
		t.Error("an agent was started")
		return agent.Result{}, nil
	})
	c := r.dial()
	for field, p := range map[string]params1{
		"prompt":         {"prompt": " \n"},
		"prompt ":        {},
		"session":        {"session": 5},
		"agent":          {"agent": "nobody"},
		"model":          {"model": "a\x00b"},
		"dir":            {"dir": "relative"},
		"dir ":           {"dir": "/does/not/exist"},
		"dir  ":          {"dir": r.dir, "session": "20"},
		"access":         {"access": "all"},
		"effort":         {"effort": "little"},
		"tools":          {"tools": []string{"Bash(git *)"}},
		"tools ":         {"tools": "Read"},
		"schema":         {"schema": map[string]any{"type": "object"}}, // of a converse
		"budget_usd":     {"budget_usd": 0},
		"limit_seconds":  {"limit_seconds": 1e12},
		"max_turns":      {"max_turns": 0},
		"max_turns ":     {"max_turns": 1.5},
		"retries":        {"retries": -1},
		"events":         {"events": "yes"},
		"system_prompt":  {"system_prompt": strings.Repeat("x", 200_000)},
		"promtp":         {"promtp": "x"},
		"system_prompt ": {"system_prompt": "\x00"},
	} {
		if _, given := p["prompt"]; !given && field != "prompt " {
			p["prompt"] = "p"
		}
		_, err := c.call("converse", p)
		checkParams(t, err, strings.TrimSpace(field))
	}
	deep := json.RawMessage(strings.Repeat(`{"not":`, 5000) + "{}" + strings.Repeat("}", 5000)) // would take minutes to compile
	for _, schema := range []any{deep, nil, "x", []int{1}, map[string]any{"type": "nonsense"}, map[string]any{"$ref": "http://127.0.0.1:9/x"}} {
		_, err := c.call("decide", params1{"prompt": "p", "schema": schema})
		checkParams(t, err, "schema")
	}
	_, err := c.call("decide", params1{"access": 1, "effort": "x", "unknown": 1})
	checkParams(t, err, "access", "effort", "prompt", "schema", "unknown")
	checkParams(t, c.Call(soon(t), "agent.cancel", params1{}, nil), "id")
	checkParams(t, c.Call(soon(t), "agent.cancel", params1{"id": 1, "call": "1"}, nil), "id")
	checkParams(t, c.Call(soon(t), "agent.list", []int{1}, nil), "params")
	if all, err := trace.Sessions(r.state); err != nil || len(all) > 0 {
		t.Errorf("sessions were opened: %v, %v", all, err)
	}
}

func checkParams(t *testing.T, err error, fields ...string) {
	t.Helper()
	var e *rpc.Error
	if !errors.As(err, &e) || e.Code != rpc.InvalidParams {
		t.Errorf("%v: %v", fields, err)
		return
	}
	var data struct{ Fields map[string]string }
	if err := json.Unmarshal(e.Data, &data); err != nil || len(data.Fields) != len(fields) {
		t.Errorf("%v: at fault are %v, %v", fields, data.Fields, err)
	}
	for _, f := range fields {
		if data.Fields[f] == "" || !strings.Contains(e.Message, f+": ") {
			t.Errorf("%s: %q, %v", f, e.Message, data.Fields)
		}
	}
}

// How a turn can end has a code each, and what the agent came to goes along.
func TestOutcomes(t *testing.T) {
	var fails error
	r := serving(t, 0, func(context.Context, agent.Request, agent.Observer) (agent.Result, error) {
		return agent.Result{Text: "so far", CostUSD: 0.25}, fails
	})
	c := r.dial()
	for outcome, err := range map[string]error{
		"failed": errors.New("it \x1b[31mbroke"), "timed_out": agent.ErrTime, "budget": agent.ErrBudget, "turns": agent.ErrTurns, "schema": agent.ErrSchema,
		"not_found": agent.ErrNotFound,
	} {
		fails = &agent.Failure{Sentence: "because " + err.Error(), Err: err}
		_, err := c.call("ask", params1{"prompt": "p"})
		data := checkFailure(t, err, outcome)
		if data.Result == nil || data.Result.Text != "so far" || data.Result.CostUSD != 0.25 || data.Result.Outcome != outcome || data.Result.Session == "" {
			t.Errorf("%s: the result is %+v", outcome, data.Result)
		}
		if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q is not safe", err)
		}
	}
	_, err := c.call("ask", params1{"prompt": "p", "agent": "claude"})
	checkFailure(t, err, "not_found")
	_, err = c.call("ask", params1{"prompt": "p", "session": "nope"})
	checkFailure(t, err, "not_found")
	checkFailure(t, c.Call(soon(t), "agent.cancel", params1{"call": "99"}, nil), "not_found")
	checkFailure(t, c.Call(soon(t), "agent.cancel", params1{"id": "x"}, nil), "not_found")
	codes := map[int]bool{}
	for _, outcome := range []string{"failed", "timed_out", "stopped", "budget", "turns", "schema", "busy", "not_found"} {
		codes[codeOf(outcome)] = true
	}
	if len(codes) != 8 {
		t.Errorf("outcomes share codes: %v", codes)
	}
}

// held is an agent that works until it is told to go on, or stopped.
func held() (run runner, begun chan string, goOn chan struct{}) {
	begun, goOn = make(chan string, 100), make(chan struct{})
	return func(ctx context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
		begun <- req.Prompt
		select {
		case <-goOn:
			return agent.Result{Text: req.Prompt}, nil
		case <-ctx.Done():
			return agent.Result{}, &agent.Failure{Sentence: "the turn was stopped", Err: context.Cause(ctx)}
		}
	}, begun, goOn
}

// Calls beyond what may run wait in the order in which they came; each can be taken back, by its caller or another.
func TestCallsWaitInTheirOrder(t *testing.T) {
	run, begun, goOn := held()
	r := serving(t, 1, run)
	c, other := r.dial(), r.dial()
	first := c.started(soon(t), "ask", params1{"prompt": "0"})
	receive(t, "the first call", begun)
	var done []<-chan error
	taken, take := context.WithCancelCause(soon(t))
	for i := 1; i <= 5; i++ {
		ctx := soon(t)
		if i == 2 {
			ctx = taken
		}
		done = append(done, c.started(ctx, "ask", params1{"prompt": fmt.Sprint(i), "events": true}))
		if e := c.await("queued"); e.Position != i {
			t.Errorf("call %d is told it waits as number %d", i, e.Position)
		}
	}
	var list struct{ Calls []Listed }
	if err := other.Call(soon(t), "agent.list", nil, &list); err != nil || len(list.Calls) != 6 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, l := range list.Calls {
		if (l.State == "running") != (i == 0) || l.Position != i || l.ID != nil || l.Call == "" || (l.Session != "") != (i == 0) {
			t.Errorf("call %d is listed as %+v", i, l)
		}
	}
	mine := errors.New("mine")
	take(mine)
	if err := receive(t, "the end of the call that was taken back", done[1]); !errors.Is(err, mine) {
		t.Error(err)
	}
	if err := other.Call(soon(t), "agent.cancel", params1{"call": list.Calls[4].Call}, nil); err != nil {
		t.Error(err)
	}
	checkFailure(t, receive(t, "the end of the call that was cancelled", done[3]), "stopped")
	close(goOn)
	for i, end := range []<-chan error{first, done[0], done[2], done[4]} {
		if err := receive(t, "an end", end); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	for _, want := range []string{"1", "3", "5"} {
		if got := receive(t, "an agent", begun); got != want {
			t.Errorf("agent %s was started, %s was due", got, want)
		}
	}
}

// A call can be taken back while its agent works; it ends as stopped, and its trace says by whom.
func TestRunningCallsAreStopped(t *testing.T) {
	for name, stop := range map[string]func(r *rig, c *caller){
		"the caller cancelled the call": func(_ *rig, c *caller) {
			if err := c.Call(soon(c.t), "agent.cancel", params1{"id": 1}, nil); err != nil {
				c.t.Error(err)
			}
		},
		"the caller is gone": func(r *rig, c *caller) {
			_ = c.Close(soon(c.t))
			r.empty()
		},
		"the server is ending": func(r *rig, _ *caller) { r.end() },
	} {
		t.Run(name, func(t *testing.T) {
			run, begun, _ := held()
			r := serving(t, 0, run)
			c := r.dial()
			done := c.started(soon(t), "task", params1{"prompt": "p"})
			receive(t, "the agent", begun)
			stop(r, c)
			err := receive(t, "the call's end", done)
			if strings.Contains(name, "gone") {
				if !errors.Is(err, rpc.ErrGone) {
					t.Error(err)
				}
			} else if data := checkFailure(t, err, "stopped"); data.Result == nil || data.Result.Outcome != "stopped" {
				t.Errorf("got %+v", data)
			}
			r.end()
			all, err := trace.Sessions(r.state)
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			turns := endings(t, all[0].Path)
			if len(turns) != 1 || turns[0].Outcome != "stopped" || turns[0].Error != name {
				t.Errorf("the trace says %+v", turns)
			}
		})
	}
}

// Two calls cannot go on with one session at once, whether it is named whole or in part.
func TestASessionIsBusyWithOneCall(t *testing.T) {
	run, begun, goOn := held()
	r := serving(t, 1, run)
	c := r.dial()
	done := c.started(soon(t), "converse", params1{"prompt": "one", "events": true})
	id := c.await("opened").Session
	receive(t, "the agent", begun)
	_, err := c.call("converse", params1{"prompt": "two", "session": id})
	if data := checkFailure(t, err, "busy"); data.Result != nil || !strings.Contains(err.Error(), "call 1") {
		t.Errorf("%v, %+v", err, data)
	}
	_, err = c.call("converse", params1{"prompt": "two", "session": "last"})
	checkFailure(t, err, "busy")
	close(goOn)
	if err := receive(t, "the end", done); err != nil {
		t.Error(err)
	}
	if got, err := c.call("converse", params1{"prompt": "three", "session": id}); err != nil || got.Turn != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	receive(t, "the agent", begun)
	// One that another process has open is busy too.
	m := session.NewManager(r.s.opt.Manager)
	if _, err := m.Resume(soon(t), id, session.Spec{}); err != nil {
		t.Fatal(err)
	}
	_, err = c.call("converse", params1{"prompt": "four", "session": id})
	checkFailure(t, err, "busy")
	if err := m.Close(soon(t), host.HostClosing); err != nil {
		t.Error(err)
	}
}

// The page names every method, field, outcome and limit as they are.
func TestThePageIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../docs/agent-serve.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	want := []string{
		fmt.Sprintf("(%d bytes)", rpc.MaxLine), fmt.Sprintf("%d requests of the connection", rpc.MaxInHand), fmt.Sprintf("%d connections", rpc.MaxConns),
		fmt.Sprintf("at once (%d)", DefaultParallel), fmt.Sprintf("up to %d |", MaxWaiting), fmt.Sprintf("0 to %d, else %d", maxRetries, agent.DefaultRetries),
		fmt.Sprintf("else %d |", int(agent.DefaultLimit.Seconds())), fmt.Sprintf("cut at %d KiB", maxText>>10),
	}
	r := serving(t, 0, nil)
	for method := range r.s.Methods() {
		want = append(want, "`"+method+"`")
	}
	_, err = r.s.read(agent.Ask, json.RawMessage(`{"nope":1}`))
	_, fields, _ := strings.Cut(err.Error(), "there are ")
	fields, _, _ = strings.Cut(fields, ";")
	for field := range strings.SplitSeq(fields, ", ") {
		want = append(want, "| `"+field+"` | ")
	}
	for _, outcome := range []string{"failed", "timed_out", "stopped", "budget", "turns", "schema", "busy", "not_found"} {
		want = append(want, fmt.Sprintf("| %d | `%s` | ", codeOf(outcome), outcome))
	}
	if len(want) < 30 {
		t.Errorf("only %d things are looked for", len(want))
	}
	for _, words := range want {
		if !strings.Contains(page, words) {
			t.Errorf("docs/agent-serve.md lacks %q", words)
		}
	}
}
