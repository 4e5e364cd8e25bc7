package mcpstdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/mcpstdio"
)

// soon bounds every wait of a test.
const soon = 10 * time.Second

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-c:
		if !ok {
			t.Fatalf("waited for %s, and there is no more", what)
		}
		return v
	case <-time.After(soon):
		t.Fatalf("waited for %s in vain", what)
		panic("unreachable")
	}
}

// host is the host's end of a dispatch. Its asks stay open until they are answered or withdrawn.
type host struct {
	dir      *askbridge.Dir
	listener *askbridge.Listener
	asks     chan *hostAsk
	listed   chan askbridge.ToolsListed
	hold     chan struct{} // a list is acknowledged when it is closed
}

type hostAsk struct {
	*askbridge.Call
	end   chan askbridge.Final
	cause chan error
}

func (h *host) Ask(ctx context.Context, c *askbridge.Call) askbridge.Final {
	a := &hostAsk{Call: c, end: make(chan askbridge.Final, 1), cause: make(chan error, 1)}
	_ = c.Deadline(time.Now().Add(time.Hour))
	h.asks <- a
	select {
	case f := <-a.end:
		return f
	case <-ctx.Done():
		a.cause <- context.Cause(ctx)
		return askbridge.Final{Error: "operator did not answer"}
	}
}

func (h *host) ToolsListed(_ context.Context, info askbridge.ToolsListed) error {
	h.listed <- info
	<-h.hold
	return nil
}

func (h *host) Refused(context.Context, askbridge.Refusal) {}

func newHost(t *testing.T) *host {
	t.Helper()
	scratch, err := os.MkdirTemp("", "kt") //nolint:usetesting // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	h := &host{asks: make(chan *hostAsk, 64), listed: make(chan askbridge.ToolsListed, 64), hold: make(chan struct{})}
	close(h.hold)
	if h.dir, err = askbridge.NewDir(scratch); err != nil {
		t.Fatal(err)
	}
	lim := askbridge.DefaultLimits()
	lim.OpenAsks = 16
	if h.listener, err = askbridge.Listen(h.dir, h, askbridge.ListenOptions{Limits: lim}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.listener.Close(); _ = h.dir.Remove() })
	return h
}

// answer ends an ask with an answer, and tells whether it was delivered.
func (a *hostAsk) answer(answers map[string]any) (delivered chan bool) {
	delivered = make(chan bool, 2)
	a.end <- askbridge.Final{Answers: answers, Outcome: "answered", Done: func(ok bool) { delivered <- ok }}
	return delivered
}

// rpc is a client that writes and reads lines as they are.
type rpc struct {
	t      *testing.T
	stdin  io.WriteCloser
	lines  chan message // closed at the end of standard output
	served chan error
}

type message struct {
	raw    string
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// serving is Serve, or something with its shape.
type serving func(ctx context.Context, stdin io.Reader, stdout io.Writer) error

func serve(socket string) serving {
	return func(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
		return mcpstdio.Serve(ctx, mcpstdio.Options{Socket: socket, Version: "test"}, stdin, stdout, io.Discard)
	}
}

// start runs a server and connects a client to it.
func start(ctx context.Context, t *testing.T, run serving) *rpc {
	t.Helper()
	c, out := pipes(ctx, t, run)
	c.lines = make(chan message, 256)
	go c.read(out)
	t.Cleanup(func() {
		_ = c.stdin.Close()
		for range c.lines {
		}
	})
	return c
}

// pipes runs a server on pipes in this process.
func pipes(ctx context.Context, t *testing.T, run serving) (c *rpc, out io.Reader) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c = &rpc{t: t, stdin: inW, served: make(chan error, 1)}
	go func() {
		err := run(ctx, inR, outW)
		_ = outW.Close()
		_ = inR.Close()
		c.served <- err
	}()
	return c, outR
}

func (c *rpc) read(out io.Reader) {
	defer close(c.lines)
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		m := message{raw: line}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.t.Errorf("standard output has a line that is no JSON: %q", line)
		}
		c.lines <- m
	}
}

func (c *rpc) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.stdin, format+"\n", args...); err != nil {
		c.t.Error(err)
	}
}

// call sends a tools/call of the tool. The id is JSON.
func (c *rpc) call(id, arguments string) {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"ask","arguments":%s}}`, id, arguments)
}

// initialize makes the handshake of the older era.
func (c *rpc) initialize() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	m := receive(c.t, "the handshake", c.lines)
	for m.Method != "" { // progress that another server of this process was about to tell: mcp-go has one queue for all
		m = receive(c.t, "the handshake", c.lines)
	}
	if string(m.ID) != `"init"` || m.Result == nil {
		c.t.Fatalf("the handshake was answered %s", m.raw)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// result is a tool's result as it stands on the line.
type result struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (m message) toolResult(t *testing.T) result {
	t.Helper()
	var r result
	if err := json.Unmarshal(m.Result, &r); err != nil || m.Error != nil || len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("the call was answered %s", m.raw)
	}
	return r
}

// simple are arguments with one question.
const simple = `{"questions":[{"question":"Q?","header":"H","options":[{"label":"a","description":"A"}],"multiSelect":false}]}`
