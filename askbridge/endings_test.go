package askbridge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// open is a handler whose asks stay open until they are withdrawn or given an end.
func open() (h *handler, arrived chan string, causes chan error, end chan askbridge.Final) {
	arrived, causes, end = make(chan string, 128), make(chan error, 128), make(chan askbridge.Final)
	return &handler{ask: func(ctx context.Context, c *askbridge.Call) askbridge.Final {
		_ = c.Deadline(time.Now().Add(time.Hour))
		arrived <- c.ID
		select {
		case f := <-end:
			return f
		case <-ctx.Done():
			causes <- context.Cause(ctx)
			return askbridge.Final{Error: "operator did not answer"}
		}
	}}, arrived, causes, end
}

// claude-code and every client: how an ask ends tells who ended it.
func TestHowAnAskIsWithdrawn(t *testing.T) {
	for name, c := range map[string]struct {
		cause error // what the client's context ends with; nil: the connection is closed
		want  error
	}{
		"the client cancels":                {errors.New("whatever"), askbridge.ErrCancelled},
		"the client cancels in those words": {askbridge.ErrCancelled, askbridge.ErrCancelled},
		"the asker goes":                    {askbridge.ErrAskerGone, askbridge.ErrAskerGone},
		"the connection ends":               {nil, askbridge.ErrAskerGone},
	} {
		t.Run(name, func(t *testing.T) {
			h, arrived, causes, _ := open()
			b := listen(t, h, askbridge.ListenOptions{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ex := b.ask(t, "id", simple)
			waited := make(chan error, 1)
			go func() {
				_, err := ex.Wait(ctx)
				waited <- err
			}()
			receive(t, "the ask", arrived)
			if c.cause != nil {
				cancel(c.cause)
			} else {
				_ = ex.Close()
			}
			if got := receive(t, "the end of the ask", causes); !errors.Is(got, c.want) {
				t.Errorf("the host was told %v, want %v", got, c.want)
			}
			if err := receive(t, "the end of the wait", waited); err == nil || c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("the asker was told %v", err)
			}
		})
	}
}

func TestDelivery(t *testing.T) {
	for name, c := range map[string]struct {
		after func(p *peer)
		want  bool
	}{
		"the word comes":                     {func(p *peer) { p.send(`{"delivered":true}` + "\n") }, true},
		"the word comes, then the end":       {func(p *peer) { p.send(`{"delivered":true}` + "\n"); _ = p.conn.Close() }, true},
		"a late cancel, then the word":       {func(p *peer) { p.send(`{"type":"cancel"}` + "\n" + `{"delivered":true}` + "\n") }, true}, // opencode cancels after every call
		"the connection dies":                {func(p *peer) { _ = p.conn.Close() }, false},
		"the connection dies in half a word": {func(p *peer) { p.send(`{"deliver`); _ = p.conn.Close() }, false},
		"another word":                       {func(p *peer) { p.send(`{"delivered":false}` + "\n"); _ = p.conn.Close() }, false},
		"garbage":                            {func(p *peer) { p.send("what\n") }, false},
		"silence":                            {func(*peer) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f, done := answer("a")
			b := listen(t, &handler{ask: func(context.Context, *askbridge.Call) askbridge.Final { return f }},
				askbridge.ListenOptions{}.WithBounds(askbridge.Bounds{Deliver: 200 * time.Millisecond}))
			p := b.peer(t)
			p.send(b.askFrame("id", simple))
			if got := p.line(); got != `{"answers":{"Q?":"a"}}` {
				t.Fatalf("got %s", got)
			}
			c.after(p)
			if got := receive(t, "the end of the call", done); got != c.want {
				t.Errorf("delivered is %t, want %t", got, c.want)
			}
			if err := b.listener.Close(); err != nil {
				t.Error(err)
			}
			select {
			case <-done:
				t.Error("the end was told twice")
			default:
			}
		})
	}
}

// The word of delivery is worth nothing before there is an answer, and must not stop the host from seeing the
// asker go.
func TestDeliveredBeforeTheAnswerIsNoWord(t *testing.T) {
	h, arrived, causes, end := open()
	b := listen(t, h, askbridge.ListenOptions{}.WithBounds(askbridge.Bounds{Deliver: 200 * time.Millisecond}))
	p := b.peer(t)
	p.send(b.askFrame("one", simple) + `{"delivered":true}` + "\n")
	receive(t, "the ask", arrived)
	_ = p.conn.Close()
	if got := receive(t, "the end of the ask", causes); !errors.Is(got, askbridge.ErrAskerGone) {
		t.Errorf("the host was told %v", got)
	}
	p = b.peer(t)
	p.send(b.askFrame("two", simple) + `{"delivered":true}` + "\n")
	receive(t, "the ask", arrived)
	// More than the kernel keeps: when it is sent, what came before it was read.
	p.send(strings.Repeat(`{"type":"`+strings.Repeat("x", 400<<10)+`"}`+"\n", 2))
	f, done := answer("a")
	end <- f
	if receive(t, "the end of the call", done) {
		t.Error("an answer counts as delivered that nobody had yet")
	}
}

func TestCloseWithdrawsWhatIsOpen(t *testing.T) {
	h, arrived, causes, _ := open()
	b := listen(t, h, askbridge.ListenOptions{})
	ex := b.ask(t, "id", simple)
	idle := b.peer(t)
	receive(t, "the ask", arrived)
	for range 2 {
		if err := b.listener.Close(); err != nil && !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	}
	if got := receive(t, "the end of the ask", causes); !errors.Is(got, askbridge.ErrAskerGone) {
		t.Errorf("the host was told %v", got)
	}
	if got, err := ex.Wait(bounded(t)); err == nil && got.Error == "" || got.Answers != nil {
		t.Errorf("the asker got %+v, %v", got, err)
	}
	if got := idle.line(); got != "" {
		t.Errorf("a silent peer got %q", got)
	}
	if exists(b.dir.Socket()) {
		t.Error("the socket is still there")
	}
}
