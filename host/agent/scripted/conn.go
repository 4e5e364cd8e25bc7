package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// conn is one MCP server process with its connection. It is closed once, by whoever started it.
type conn struct {
	client *client.Client
	cmd    *exec.Cmd
	out    *io.PipeReader
	exited chan struct{} // closed when the process has ended
}

// How a server is ended: its stdin is closed, then it is signalled as claude does it (measured: SIGINT, about
// 100 ms later SIGTERM, then SIGKILL). All of it stays below the 2 s that kitsoki gives an agent after SIGTERM.
const (
	graceEOF  = 100 * time.Millisecond
	graceINT  = 100 * time.Millisecond
	graceTERM = 400 * time.Millisecond
	graceKILL = 500 * time.Millisecond

	// graceOutput is how long a dead server's pipe may be held open by a child of its own.
	graceOutput = 200 * time.Millisecond
)

// startConn starts a server, greets it, and lists its tools. When ctx ends first the server is ended.
func startConn(ctx context.Context, cfg serverConfig) (*conn, []mcp.Tool, error) {
	if cfg.Type != "" && cfg.Type != "stdio" {
		return nil, nil, fmt.Errorf("servers of type %q are not supported", cfg.Type)
	}
	if cfg.Command == "" {
		return nil, nil, errors.New("the entry has no command")
	}
	c, err := spawn(cfg)
	if err != nil {
		return nil, nil, err
	}
	tools, err := c.greet(ctx)
	if err != nil {
		c.close()
		return nil, nil, err
	}
	return c, tools, nil
}

func spawn(cfg serverConfig) (*conn, error) {
	cmd := exec.Command(cfg.Command, cfg.Args...)
	cmd.Env = os.Environ()
	for key, value := range cfg.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Through a pipe of ours, so that Wait returns only when all output was read, and the reader then sees its
	// end even if something else still holds the server's stdout.
	out, into := io.Pipe()
	cmd.Stdout = into
	cmd.WaitDelay = graceOutput
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &conn{cmd: cmd, out: out, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()  // how a server ends says nothing that the connection does not say
		close(c.exited) // first: who sees the output end finds the server dead
		_ = into.Close()
	}()
	c.client = client.NewClient(&wire{Stdio: transport.NewIO(out, stdin, nil)})
	return c, nil
}

func (c *conn) greet(ctx context.Context) ([]mcp.Tool, error) {
	if err := c.client.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "kitsoki-scripted", Version: "1"}
	if _, err := c.client.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	list, err := c.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, err
	}
	return list.Tools, nil
}

func (c *conn) dead() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// close ends the server and waits for it, a little over a second at the most.
func (c *conn) close() {
	_ = c.client.Close() // closes the server's stdin; open calls return
	// Its output is read to the end: a server that cannot print cannot end either.
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, c.out)
	}()
	if !c.await() {
		_ = c.out.Close()
	}
	<-drained
}

// await reports whether the server has ended.
func (c *conn) await() bool {
	steps := []struct {
		grace time.Duration
		then  os.Signal
	}{{graceEOF, syscall.SIGINT}, {graceINT, syscall.SIGTERM}, {graceTERM, syscall.SIGKILL}, {graceKILL, nil}}
	for _, step := range steps {
		timer := time.NewTimer(step.grace)
		select {
		case <-c.exited:
			timer.Stop()
			return true
		case <-timer.C:
			if step.then != nil {
				_ = c.cmd.Process.Signal(step.then) // it may have ended just now
			}
		}
	}
	return false
}
