package mcpstdio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"
)

// gate is a standard output that lets a line with a certain text pass only when it is told to, or never.
type gate struct {
	out   io.Writer
	text  []byte
	at    chan struct{} // closed when the line is there
	open  chan error    // how it goes on
	once  sync.Once
	after error // the end of it all, after that
}

func (g *gate) Write(p []byte) (int, error) {
	if !bytes.Contains(p, g.text) {
		return g.out.Write(p)
	}
	g.once.Do(func() { close(g.at); g.after = <-g.open })
	if g.after != nil {
		return 0, g.after
	}
	return g.out.Write(p)
}

// gated is a server behind such an output.
func gated(h *host, g *gate) serving {
	return func(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
		g.out = stdout
		return serve(h.dir.Socket())(ctx, stdin, g)
	}
}

func newGate(text string) *gate {
	return &gate{text: []byte(text), at: make(chan struct{}), open: make(chan error, 1)}
}

// Sent is not taken: the host is told after the agent's line was written, not before.
func TestDeliveredIsSaidAfterTheResultWasWritten(t *testing.T) {
	h, g := newHost(t), newGate("answers")
	c := start(t.Context(), t, gated(h, g))
	c.initialize()
	c.call("1", simple)
	delivered := receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
	select {
	case <-g.at:
	case <-time.After(soon):
		t.Fatal("the result was never written")
	}
	select {
	case <-delivered:
		t.Error("the host was told before the result was written")
	case <-time.After(100 * time.Millisecond):
	}
	g.open <- nil
	if !receive(t, "the word of delivery", delivered) {
		t.Error("the result was written, but is not delivered")
	}
	receive(t, "the result", c.lines)
}

func TestAResultThatCannotBeWrittenIsNotDelivered(t *testing.T) {
	h, g := newHost(t), newGate("answers")
	g.open <- errors.New("broken pipe")
	c := start(t.Context(), t, gated(h, g))
	c.initialize()
	c.call("1", simple)
	delivered := receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
	began := time.Now()
	if receive(t, "the word of delivery", delivered) {
		t.Error("delivered, though nothing was written")
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the host learned it after %v", took)
	}
}

// Whatever a client takes for an id, its answer is told from others.
func TestDeliveryUnderEveryKindOfID(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	for _, id := range []string{`0`, `-1`, `1.5`, `9007199254740993`, `1152921504606846976`, `1e21`, `"1"`, `""`, `"a<b>&"`, `"é\u2028\n"`} {
		c.call(id, simple)
		delivered := receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
		receive(t, "the result", c.lines).toolResult(t)
		began := time.Now()
		if !receive(t, "the word of delivery for "+id, delivered) || time.Since(began) > 3*time.Second {
			t.Errorf("the answer to call %s was not delivered", id)
		}
	}
}

// Progress and other messages under way are not taken for the result, nor is a text that looks like one.
func TestOnlyTheResultIsTheReceipt(t *testing.T) {
	h, g := newHost(t), newGate(`{\"id\":1`)
	c := start(t.Context(), t, gated(h, g))
	c.initialize()
	c.call("1", simple)
	c.call("2", `{"question":"Q?"}`)
	first, second := receive(t, "an ask", h.asks), receive(t, "an ask", h.asks)
	a := first.answer(map[string]any{"Q?": `{"id":1,"result":{}}`})
	select {
	case <-g.at:
	case <-time.After(soon):
		t.Fatal("the result was never written")
	}
	b := second.answer(map[string]any{"Q?": "b"})
	g.open <- nil
	for range 2 {
		receive(t, "the results", c.lines)
	}
	if !receive(t, "the first word", a) || !receive(t, "the second word", b) {
		t.Error("not delivered")
	}
}

// lingering is a standard output whose first line with a certain text is out before whoever wrote it goes on.
type lingering struct {
	out  io.Writer
	text []byte
	open chan struct{} // closed when it goes on
}

func (l *lingering) Write(p []byte) (int, error) {
	n, err := l.out.Write(p)
	if bytes.Contains(p, l.text) {
		<-l.open
	}
	return n, err
}

// A client may use an id again as soon as it has read the result: the word of delivery is still the first call's.
func TestAnIDThatIsUsedAgainAtOnce(t *testing.T) {
	h, l := newHost(t), &lingering{text: []byte("first"), open: make(chan struct{})}
	c := start(t.Context(), t, func(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
		l.out = stdout
		return serve(h.dir.Socket())(ctx, stdin, l)
	})
	c.initialize()
	c.call("1", simple)
	first := receive(t, "the first ask", h.asks).answer(map[string]any{"Q?": "first"})
	receive(t, "the first result", c.lines)
	c.call("1", simple)
	second := receive(t, "the second ask", h.asks).answer(map[string]any{"Q?": "second"})
	select {
	case <-second:
		t.Error("the second answer was said to be delivered before it was written")
	case <-time.After(100 * time.Millisecond):
	}
	close(l.open)
	if !receive(t, "the first word", first) {
		t.Error("the first answer was not said to be delivered")
	}
	receive(t, "the second result", c.lines)
	if !receive(t, "the second word", second) {
		t.Error("the second answer was not said to be delivered")
	}
}
