package mcpstdio_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/mcpstdio"
)

// desk is where the asks of a guest come to.
type desk struct {
	asks chan mcpstdio.GuestAsk
	ends chan guestEnd
	left chan error // why an ask was withdrawn
}

type guestEnd struct {
	final askbridge.Final
	err   error
}

func newDesk() *desk {
	return &desk{make(chan mcpstdio.GuestAsk, 8), make(chan guestEnd), make(chan error, 8)}
}

func (d *desk) guest(ctx context.Context, ask mcpstdio.GuestAsk) (askbridge.Final, error) {
	d.asks <- ask
	select {
	case end := <-d.ends:
		return end.final, end.err
	case <-ctx.Done():
		d.left <- context.Cause(ctx)
		return askbridge.Final{}, context.Cause(ctx)
	}
}

func (d *desk) serve(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	return mcpstdio.Serve(ctx, mcpstdio.Options{Guest: d.guest, Gate: true, Version: "test"}, stdin, stdout, io.Discard)
}

func TestAGuestAsks(t *testing.T) {
	d := newDesk()
	c := start(t.Context(), t, d.serve)
	c.initialize()
	c.call("1", simple)
	if ask := receive(t, "the ask", d.asks); ask.Client != "raw 1" || string(ask.Arguments) != simple {
		t.Errorf("asked is %+v", ask)
	}
	delivered := make(chan bool, 2)
	d.ends <- guestEnd{final: askbridge.Final{
		Answers: map[string]any{"Q?": "a"}, Notes: map[string]string{"Q?": "<soon>"}, Done: func(ok bool) { delivered <- ok },
	}}
	if r := receive(t, "the result", c.lines).toolResult(t); r.IsError || r.Content[0].Text != `{"answers":{"Q?":"a"},"notes":{"Q?":"<soon>"}}` {
		t.Errorf("the call was answered %+v", r)
	}
	if !receive(t, "the word of delivery", delivered) {
		t.Error("it counts as not delivered")
	}
	if len(delivered) > 0 {
		t.Error("it was told twice")
	}
}

func TestAGuestIsNotAnswered(t *testing.T) {
	d := newDesk()
	c := start(t.Context(), t, d.serve)
	c.initialize()
	for _, end := range []struct {
		guestEnd
		want string
	}{
		{guestEnd{err: errors.New("nobody can be asked")}, "operator did not answer; proceed without this input (outcome: no_operator; reason: nobody can be asked)"},
		{guestEnd{final: askbridge.Final{Error: "in its own words", Outcome: "declined"}}, "in its own words"},
	} {
		c.call("1", simple)
		receive(t, "the ask", d.asks)
		d.ends <- end.guestEnd
		if r := receive(t, "the result", c.lines).toolResult(t); !r.IsError || r.Content[0].Text != end.want || r.Structured != nil {
			t.Errorf("the call was answered %+v", r)
		}
	}
}

// Whoever ends a call, the operator's side learns who it was.
func TestAGuestWithdraws(t *testing.T) {
	d := newDesk()
	c := start(t.Context(), t, d.serve)
	c.initialize()
	c.call("1", simple)
	receive(t, "the ask", d.asks)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if err := receive(t, "the end of the ask", d.left); !errors.Is(err, askbridge.ErrCancelled) {
		t.Errorf("it was withdrawn for %v", err)
	}
	c.call("2", simple)
	receive(t, "the ask", d.asks)
	_ = c.stdin.Close()
	if err := receive(t, "the end of the ask", d.left); !errors.Is(err, askbridge.ErrAskerGone) {
		t.Errorf("it was withdrawn for %v", err)
	}
}

// An answer that was not written is told of as such.
func TestAGuestsAnswerIsLost(t *testing.T) {
	d := newDesk()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- d.serve(t.Context(), inR, outW) }()
	c := &rpc{t: t, stdin: inW}
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":%s,%s}}`, simple, meta(""))
	receive(t, "the ask", d.asks)
	_ = outR.Close()
	delivered := make(chan bool, 2)
	d.ends <- guestEnd{final: askbridge.Final{Answers: map[string]any{"Q?": "a"}, Done: func(ok bool) { delivered <- ok }}}
	if receive(t, "the word of delivery", delivered) {
		t.Error("it counts as delivered")
	}
	_ = inW.Close()
	if err := receive(t, "the end of the server", served); err != nil {
		t.Logf("the server ended with %v", err) // it cannot write
	}
}

// A guest has the tool that asks, and none that permits.
func TestAGuestHasNoGate(t *testing.T) {
	c := start(t.Context(), t, newDesk().serve)
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if m := receive(t, "the list", c.lines); !strings.Contains(string(m.Result), `"name":"ask"`) || strings.Contains(string(m.Result), "permit") {
		t.Errorf("the list is %s", m.raw)
	}
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"permit","arguments":{"tool_name":"Bash","input":{}}}}`)
	if m := receive(t, "the refusal", c.lines); m.Error == nil {
		t.Errorf("a permission was answered %s", m.raw)
	}
}
