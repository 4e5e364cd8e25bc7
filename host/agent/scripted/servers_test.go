package scripted_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/kitsoki/host/agent/scripted"
)

func TestTheRunGoesOnWithoutAServerThatFails(t *testing.T) {
	b := newBench(t).operator("answer " + postgres)
	b.servers["broken"] = map[string]any{"command": "/does/not/exist"}
	b.servers["remote"] = map[string]any{"type": "http", "url": "http://127.0.0.1:9"}
	b.server("mute", "mute")
	b.env["MCP_TIMEOUT"] = "2000"
	o := b.with("--allowedTools", "mcp__broken").run()
	if last := o.succeeded(); !strings.Contains(last, "Postgres") {
		t.Errorf("the last words are %q", last)
	}
	got := map[string]string{}
	for _, s := range o.init().Servers {
		got[s.Name] = s.Status
	}
	for name, want := range map[string]string{"broken": "failed", "mute": "failed", "operator": "connected", "remote": "failed"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

func TestAskWithAServerThatFailedIsLikeNoOperator(t *testing.T) {
	b := newBench(t)
	b.servers["operator"] = map[string]any{"command": "/does/not/exist"}
	o := b.with("--allowedTools", askTool).run()
	if last := o.succeeded(); !strings.Contains(last, "Nobody can be asked") || slices.Contains(o.init().Tools, askTool) {
		t.Errorf("the last words are %q, the tools %q", last, o.init().Tools)
	}
}

// As measured with claude: without a permission the tool is listed and its call is denied; a disallowed one is not
// there at all.
func TestToolsThatMayNotBeCalled(t *testing.T) {
	for _, tt := range []struct {
		name    string
		args    []string
		listed  bool
		called  bool
		denials int
	}{
		{"not allowed", nil, true, false, 1},
		{"another allowed", []string{"--allowedTools", "mcp__operator__other, Bash(git *)"}, true, false, 1},
		{"allowed by name", []string{"--allowedTools", "Read", askTool}, true, true, 0},
		{"allowed by server", []string{"--allowed-tools", "mcp__operator"}, true, true, 0},
		{"allowed by pattern", []string{"--allowedTools", "mcp__operator__*"}, true, true, 0},
		{"everything allowed", []string{"--permission-mode", "bypassPermissions"}, true, true, 0},
		{"disallowed", []string{"--allowedTools", askTool, "--disallowedTools", "AskUserQuestion", askTool}, false, false, 0},
		{"server disallowed", []string{"--allowedTools", askTool, "--disallowedTools", "mcp__operator"}, false, false, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newBench(t).server("operator", "operator", "TEST_ASK=answer "+postgres).with(tt.args...).run()
			last := o.succeeded()
			if got := slices.Contains(o.init().Tools, askTool); got != tt.listed {
				t.Errorf("listed: %v", got)
			}
			if got := len(o.requests("tools/call")) == 1; got != tt.called || strings.Contains(last, "Postgres") != tt.called {
				t.Errorf("called: %v, last words %q", got, last)
			}
			if got := len(o.result().Denials); got != tt.denials {
				t.Errorf("%d denials", got)
			}
			if tt.denials > 0 && !strings.Contains(last, "haven't granted it yet") {
				t.Errorf("the last words are %q", last)
			}
		})
	}
}

func TestABuiltInToolThatWasTakenAwayIsAnError(t *testing.T) {
	const scenario = "name: n\ndescription: d\nsteps:\n  - tool: {id: w, name: Write, result: done}\n  - on: {call: w, answered: [{say: written}], error: [{say: '{{error \"w\"}}'}]}\n"
	for _, tt := range []struct{ args, want string }{
		{"", "written"},
		{"--tools default", "written"},
		{"--tools Read,Grep", "Error: No such tool available: Write"},
		{"--disallowedTools Write", "Error: No such tool available: Write"},
	} {
		o := newBench(t).plays(scenario).with(strings.Fields(tt.args)...).run()
		if last := o.succeeded(); last != tt.want {
			t.Errorf("%s: the last words are %q", tt.args, last)
		}
		res := o.toolResult(o.uses("Write")[0].ID)
		if res.IsError == nil || *res.IsError != strings.HasPrefix(tt.want, "Error") {
			t.Errorf("%s: is_error is %v", tt.args, res.IsError)
		}
	}
}

func TestADeadServerIsStartedAgainByTheNextCall(t *testing.T) {
	const scenario = "name: n\ndescription: d\nwithout_operator: w\nsteps:\n" +
		"  - ask: {id: a, questions: [{question: Q?}]}\n  - ask: {id: b, questions: [{question: Q?}]}\n" +
		"  - say: '{{error \"a\"}}, then {{answer \"b\" \"Q?\"}}'\n"
	o := newBench(t).operator(`dieonce {"answers":{"Q?":"yes"}}`).plays(scenario).run()
	if last := o.succeeded(); last != "Connection closed, then yes" {
		t.Errorf("the last words are %q", last)
	}
}

func TestACallPastTheServersTimeoutIsCancelled(t *testing.T) {
	b := newBench(t).operator("block")
	b.env["MCP_TOOL_TIMEOUT"] = "1000"
	o := b.run()
	if last := o.succeeded(); !strings.Contains(last, `MCP server "operator" tool "ask" timed out after 1s`) {
		t.Errorf("the last words are %q", last)
	}
	wantCancelled(t, o)
}

func wantCancelled(t *testing.T, o *outcome) {
	t.Helper()
	calls, cancels := o.requests("tools/call"), o.requests("notifications/cancelled")
	if len(calls) != 1 || len(cancels) != 1 || string(cancels[0].Params.RequestID) != string(calls[0].ID) {
		t.Errorf("the server read the calls %+v and the cancels %+v", calls, cancels)
	}
}

func TestSIGTERMDuringAnAsk(t *testing.T) {
	b := newBench(t).operator("block")
	p := b.start()
	b.eventually(`"tools/call"`)
	p.signal(syscall.SIGTERM)
	o, took := p.wait()
	if o.code != 143 || len(o.results()) != 0 || o.stderr != "" || took > longAfter {
		t.Errorf("exit code %d after %s, %d results, stderr %q", o.code, took, len(o.results()), o.stderr)
	}
	if len(o.uses(askTool)) != 1 {
		t.Error("the stream does not show the ask")
	}
	wantCancelled(t, o)
	b.eventually("eof")
}

func TestSIGINTDuringAnAskIsAFailureWithExitCode0(t *testing.T) {
	b := newBench(t).operator("block")
	p := b.start()
	b.eventually(`"tools/call"`)
	p.signal(os.Interrupt)
	o, took := p.wait()
	r := o.result()
	if o.code != 0 || !r.IsError || r.Subtype != "error_during_execution" || r.Reason != "aborted_tools" || took > longAfter {
		t.Errorf("exit code %d after %s, result %+v", o.code, took, r)
	}
	if res := o.toolResult(o.uses(askTool)[0].ID); res.IsError == nil || !*res.IsError {
		t.Errorf("the open call has the result %s", res.Content)
	}
	wantCancelled(t, o)
	b.eventually("eof")
}

func TestSIGKILLDuringAnAskEndsTheServersStdin(t *testing.T) {
	b := newBench(t).operator("block")
	p := b.start()
	b.eventually(`"tools/call"`)
	p.signal(os.Kill)
	if o, _ := p.wait(); len(o.results()) != 0 {
		t.Errorf("results: %+v", o.results())
	}
	b.eventually("eof")
}

// The agent has 2 s after SIGTERM; a server that ignores everything must not cost more.
func TestAServerThatIgnoresItsEndIsKilled(t *testing.T) {
	b := newBench(t).server("operator", "stubborn", "TEST_ASK=block").with("--allowedTools", askTool)
	p := b.start()
	b.eventually(`"tools/call"`)
	p.signal(syscall.SIGTERM)
	o, took := p.wait()
	if o.code != 143 || took > longAfter {
		t.Errorf("exit code %d after %s", o.code, took)
	}
	for _, pid := range o.serverPIDs() {
		// Its parent is gone, so it may be a zombie until the machine's init has seen to it.
		if state := processState(pid); state != "" && state != "Z" {
			t.Errorf("the server is still there, in state %s", state)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestTheEndOfTheContextIsLikeSIGTERM(t *testing.T) {
	b := newBench(t).operator("block")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *outcome, 1)
	go func() { done <- b.runUnder(ctx) }()
	b.eventually(`"tools/call"`)
	cancel()
	select {
	case o := <-done:
		if o.code != 143 || len(o.results()) != 0 {
			t.Errorf("exit code %d, %d results", o.code, len(o.results()))
		}
		wantCancelled(t, o)
	case <-time.After(bound):
		t.Fatal("the run did not end")
	}
	b.env[scripted.EnvScenario] = "one-question"
	if o := b.runUnder(ctx); o.code != 143 || o.raw != "" {
		t.Errorf("with a context that has ended: exit code %d, stdout %q", o.code, o.raw)
	}
}

func TestAStreamThatNobodyReadsDoesNotHoldTheAgent(t *testing.T) {
	b := newBench(t).plays("name: n\ndescription: d\nsteps:\n  - flood: {lines: 100000}\n").with("--include-partial-messages")
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 1)
	go func() {
		done <- scripted.Run(ctx, b.argv(), strings.NewReader("go"), w, w, func(key string) string { return b.env[key] })
	}()
	if _, err := r.Read(make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	cancel()
	select {
	case code := <-done:
		if code != 143 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(bound):
		t.Fatal("the run did not end")
	}
	if err := r.Close(); err != nil { // lets the writer go
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
