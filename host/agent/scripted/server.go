package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// server is one MCP server of a run. One that died is started again by the next call, as claude does, so a run
// can have several connections to it.
type server struct {
	cfg    serverConfig
	limits limits
	tools  []mcp.Tool // as it listed them first; empty when it failed

	mu     sync.Mutex // guards all below; held while the server is started again
	conn   *conn
	closed bool
	calls  int // progress tokens given out
}

var (
	errClosed      = errors.New("the run has ended")
	errCallTimeout = errors.New("the tool timed out")
)

// connect starts all servers at once and returns when each has listed its tools or failed.
func connect(ctx context.Context, cfgs []serverConfig, l limits) []*server {
	servers := make([]*server, len(cfgs))
	var wg sync.WaitGroup
	for i, cfg := range cfgs {
		s := &server{cfg: cfg, limits: l}
		if cfg.Timeout > 0 {
			s.limits.call = time.Duration(cfg.Timeout) * time.Millisecond
		}
		servers[i] = s
		wg.Go(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.tools, _ = s.startLocked(ctx) // claude keeps the reason to itself too
		})
	}
	wg.Wait()
	return servers
}

func (s *server) startLocked(ctx context.Context) ([]mcp.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.start)
	defer cancel()
	c, tools, err := startConn(ctx, s.cfg)
	if err != nil {
		return nil, err
	}
	s.conn = c
	return tools, nil
}

// status is what system/init says of the server.
func (s *server) status() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return "failed"
	}
	return "connected"
}

// alone reports whether calls of a tool wait for those beside them: claude runs only read-only ones at once.
func (s *server) alone(name string) bool {
	for _, t := range s.tools {
		if t.Name == name {
			return t.Annotations.ReadOnlyHint == nil || !*t.Annotations.ReadOnlyHint
		}
	}
	return true
}

// call calls a tool and waits for its result. The use id lets the server tell which tool_use of the stream it is.
func (s *server) call(ctx context.Context, name, useID string, input json.RawMessage) toolResult {
	c, token, err := s.live(ctx)
	if err != nil {
		return errorResult("Connection closed")
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	res, err := c.client.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{
		Name: name, Arguments: input,
		Meta: &mcp.Meta{ProgressToken: token, AdditionalFields: map[string]any{"claudecode/toolUseId": useID}},
	}})
	var rpc *rpcError
	switch {
	case err == nil:
		return fromMCP("mcp__"+s.cfg.name+"__"+name, res)
	case errors.Is(context.Cause(ctx), errCallTimeout):
		return errorResult(fmt.Sprintf("MCP server %q tool %q timed out after %ds", s.cfg.name, name, int(s.limits.call.Seconds())))
	case errors.As(err, &rpc):
		return errorResult(rpc.message)
	case c.dead(), errors.Is(err, transport.ErrTransportClosed):
		return errorResult("Connection closed")
	}
	return errorResult(err.Error())
}

func (s *server) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.limits.call == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, s.limits.call, errCallTimeout)
}

// live returns a connection for one call.
func (s *server) live(ctx context.Context) (c *conn, token int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, 0, errClosed
	}
	if s.conn != nil && s.conn.dead() {
		s.conn.close()
		s.conn = nil
	}
	if s.conn == nil {
		if _, err := s.startLocked(ctx); err != nil {
			return nil, 0, err
		}
	}
	s.calls++
	return s.conn, s.calls, nil
}

// close ends the server; open calls return. A later call finds the connection closed.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn != nil {
		s.conn.close()
	}
}

// close ends all servers at once.
func (t *toolbox) close() {
	var wg sync.WaitGroup
	for _, s := range t.servers {
		wg.Go(s.close)
	}
	wg.Wait()
}

// fromMCP turns a result into what claude makes of it: of a structured one the model reads that JSON alone, of an
// error the text alone.
func fromMCP(tool string, res *mcp.CallToolResult) toolResult {
	var text []string
	for _, c := range res.Content {
		if t, ok := c.(mcp.TextContent); ok {
			text = append(text, t.Text)
		}
	}
	joined := strings.Join(text, "\n")
	switch {
	case res.IsError:
		return errorResult(joined)
	case len(res.RawStructuredContent) > 0:
		var compact bytes.Buffer
		if json.Compact(&compact, res.RawStructuredContent) == nil {
			joined = compact.String()
		}
		return toolResult{
			content: joined, text: joined,
			detail: event{"content": joined, "structuredContent": res.RawStructuredContent},
		}
	case len(res.Content) == 0:
		joined = "(" + tool + " completed with no output)"
		return toolResult{content: joined, detail: []any{}, text: joined}
	}
	return toolResult{content: res.Content, detail: res.Content, text: joined}
}
