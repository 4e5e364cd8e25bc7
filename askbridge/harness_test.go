package askbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// soon bounds every wait of a test.
const soon = 10 * time.Second

// receive waits for a value.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(soon):
		t.Fatalf("waited for %s in vain", what)
		panic("unreachable")
	}
}

// bounded is a context that ends soon, so that a wait in vain is a failure.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

// handler is a host in a few functions; what is not set is never to be called.
type handler struct {
	ask     func(context.Context, *askbridge.Call) askbridge.Final
	listed  func(context.Context, askbridge.ToolsListed) error
	refused chan askbridge.Refusal
}

func (h *handler) Ask(ctx context.Context, c *askbridge.Call) askbridge.Final {
	if h.ask == nil {
		return askbridge.Final{Error: "this test expects no ask"}
	}
	return h.ask(ctx, c)
}

func (h *handler) ToolsListed(ctx context.Context, info askbridge.ToolsListed) error {
	return h.listed(ctx, info)
}

func (h *handler) Refused(_ context.Context, r askbridge.Refusal) {
	if h.refused != nil {
		h.refused <- r
	}
}

// bridge is a listener with its directory.
type bridge struct {
	dir      *askbridge.Dir
	listener *askbridge.Listener
}

func listen(t *testing.T, h *handler, o askbridge.ListenOptions) *bridge {
	t.Helper()
	if h.refused == nil {
		h.refused = make(chan askbridge.Refusal, 128)
	}
	dir := newDir(t, runtimeDir(t))
	l, err := askbridge.Listen(dir, h, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &bridge{dir: dir, listener: l}
}

func (b *bridge) client(t *testing.T) *askbridge.Client {
	t.Helper()
	c, err := askbridge.Dial(b.dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask sends an ask with the client.
func (b *bridge) ask(t *testing.T, id, arguments string) *askbridge.Exchange {
	t.Helper()
	ex, err := b.client(t).Ask(t.Context(), askbridge.AskParams{ID: id, ToolUseID: "toolu_" + id, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ex.Close() })
	return ex
}

// peer is a process that speaks to the socket without the client.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (b *bridge) peer(t *testing.T) *peer {
	t.Helper()
	conn, err := net.Dial("unix", b.dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(soon)); err != nil {
		t.Fatal(err)
	}
	return &peer{t: t, conn: conn, in: bufio.NewReader(conn)}
}

func (p *peer) send(raw string) {
	p.t.Helper()
	if _, err := p.conn.Write([]byte(raw)); err != nil {
		p.t.Fatal(err)
	}
}

// askFrame is an ask as the grandchild sends it.
func (b *bridge) askFrame(id, arguments string) string {
	return fmt.Sprintf(`{"v":1,"type":"ask","id":%q,"token":%q,"arguments":%s}`+"\n", id, b.dir.Token(), arguments)
}

// line reads one line; at the end of the connection it is empty.
func (p *peer) line() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil && line != "" {
		p.t.Errorf("half a line came: %q", line)
	}
	if err != nil && strings.Contains(err.Error(), "timeout") {
		p.t.Error("no line came, and no end")
	}
	return strings.TrimSpace(line)
}

// simple are arguments with one question.
const simple = `{"questions":[{"question":"Q?","options":[{"label":"a"},{"label":"b"}]}]}`

// answer is a Final that picks a label, and a channel that gets whether it was delivered.
func answer(label string) (askbridge.Final, chan bool) {
	done := make(chan bool, 2)
	return askbridge.Final{Answers: map[string]any{"Q?": label}, Outcome: "answered", Done: func(ok bool) { done <- ok }}, done
}
