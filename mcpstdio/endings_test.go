package mcpstdio_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

func wantCause(t *testing.T, a *hostAsk, want error) {
	t.Helper()
	if got := receive(t, "the end of the ask", a.cause); !errors.Is(got, want) {
		t.Errorf("the host was told %v, want %v", got, want)
	}
}

// Whoever ends a call, the host learns who it was.
func TestACancelReachesTheHost(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	for _, id := range []string{`7`, `"a<b"`} {
		c.call(`"other`+strings.Trim(id, `"`)+`"`, simple)
		other := receive(t, "the other ask", h.asks)
		c.call(id, simple)
		ask := receive(t, "the ask", h.asks)
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"timed out"}}`, id)
		wantCause(t, ask, askbridge.ErrCancelled)
		if m := receive(t, "the result", c.lines); string(m.ID) == id || m.Result != nil {
			if r := m.toolResult(t); !r.IsError || !strings.Contains(r.Content[0].Text, "outcome: cancelled") {
				t.Errorf("the cancelled call was answered %s", m.raw)
			}
		}
		other.answer(map[string]any{"Q?": "a"})
		if r := receive(t, "the other result", c.lines).toolResult(t); r.IsError {
			t.Errorf("the other call was answered %+v", r)
		}
	}
}

// opencode cancels after every call.
func TestACancelAfterTheResultIsNoMatter(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	for range 3 {
		c.call("7", simple)
		delivered := receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
		receive(t, "the result", c.lines).toolResult(t)
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		if !receive(t, "the word of delivery", delivered) {
			t.Error("not delivered")
		}
	}
}

// claude killed is the end of its child's standard input.
func TestTheEndOfStandardInputIsTheEndOfTheAsker(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	c.call("1", simple)
	c.call("2", simple)
	first, second := receive(t, "an ask", h.asks), receive(t, "an ask", h.asks)
	_ = c.stdin.Close()
	wantCause(t, first, askbridge.ErrAskerGone)
	wantCause(t, second, askbridge.ErrAskerGone)
	if err := receive(t, "the end of the server", c.served); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// A server that is told to stop was told so because its agent stops; no client cancelled anything.
func TestTheEndOfTheServerIsTheEndOfTheAsker(t *testing.T) {
	h := newHost(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := start(ctx, t, serve(h.dir.Socket()))
	c.initialize()
	c.call("1", simple)
	ask := receive(t, "the ask", h.asks)
	cancel()
	wantCause(t, ask, askbridge.ErrAskerGone)
	if err := receive(t, "the end of the server", c.served); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

func TestAHostThatGoesIsSaidAtOnce(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	c.call("1", simple)
	receive(t, "the ask", h.asks)
	began := time.Now()
	closed := make(chan error, 1)
	go func() { closed <- h.listener.Close() }()
	if r := receive(t, "the result", c.lines).toolResult(t); !r.IsError || !strings.HasPrefix(r.Content[0].Text, "operator did not answer") {
		t.Errorf("the call was answered %+v", r) // in the host's last words, or in those for a host that is gone
	}
	if err := receive(t, "the end of the host", closed); err != nil {
		t.Error(err)
	}
	c.call("2", simple)
	noOperator(t, receive(t, "the next result", c.lines))
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestWithoutASocketNobodyIsThere(t *testing.T) {
	for name, socket := range map[string]string{"none": "", "one that is gone": "/nowhere/ask.sock"} {
		t.Run(name, func(t *testing.T) {
			c := start(t.Context(), t, serve(socket))
			c.initialize()
			c.call("1", simple)
			noOperator(t, receive(t, "the result", c.lines))
		})
	}
}

func noOperator(t *testing.T, m message) {
	t.Helper()
	r := m.toolResult(t)
	if !r.IsError || r.Structured != nil || !strings.HasPrefix(r.Content[0].Text, "operator did not answer; proceed without this input (outcome: no_operator; reason: ") {
		t.Errorf("the call was answered %s", m.raw)
	}
}

// Standard output carries the protocol alone, and a bad line does not end it.
func TestALineThatIsNoMessage(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	for _, line := range []string{`{"jsonrpc":`, `[]`, `7`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"nothing/such"}`} {
		c.send("%s", line)
		if m := receive(t, "the refusal", c.lines); m.Error == nil {
			t.Errorf("%s was answered %s", line, m.raw)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"other","arguments":{}}}`)
	if m := receive(t, "the refusal", c.lines); m.Error == nil {
		t.Errorf("a tool that is not there was answered %s", m.raw)
	}
	c.call("3", simple)
	receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
	if m := receive(t, "the result", c.lines); string(m.ID) != "3" || !json.Valid(m.Result) {
		t.Errorf("the call was answered %s", m.raw)
	}
}
