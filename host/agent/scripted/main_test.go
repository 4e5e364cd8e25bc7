package scripted_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"example.com/kitsoki/host/agent/scripted"
)

// The test binary plays other programs too, by this variable.
const envRole = "SCRIPTED_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "agent":
		os.Exit(scripted.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	case "operator":
		serveOperator()
	case "mute": // a server that never says a word
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "stubborn": // a server that ends by SIGKILL alone
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		serveOperator()
		select {}
	default:
		goleak.VerifyTestMain(m)
	}
}

// serveOperator is an MCP server called operator whose ask does what TEST_ASK says: "answer JSON", "fail TEXT",
// "block", "pair" (answers when two asks are open), "die" (ends the process), "dieonce" (the first process only).
// Its pid and everything it reads go to the file TEST_LOG, then "eof" when its stdin ended.
func serveOperator() {
	record := func(text string) {
		f, err := os.OpenFile(os.Getenv("TEST_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			panic(err)
		}
	}
	record(fmt.Sprintf("start %d\n", os.Getpid()))
	mode, arg, _ := strings.Cut(os.Getenv("TEST_ASK"), " ")
	ask := asking{mode: mode, arg: arg, first: logged("start") == 1, both: make(chan struct{})}
	s := server.NewMCPServer("operator", "1")
	open := []byte(`{"type":"object"}`)
	tool := mcp.NewToolWithRawSchema("ask", "asks", open)
	tool.Annotations.ReadOnlyHint = mcp.ToBoolPtr(os.Getenv("TEST_WRITES") == "")
	s.AddTool(tool, ask.handle)
	s.AddTool(mcp.NewToolWithRawSchema("other", "does nothing", open), ask.handle)
	_ = server.NewStdioServer(s).Listen(context.Background(), readerFunc(func(p []byte) (int, error) {
		n, err := os.Stdin.Read(p)
		record(string(p[:n]))
		if err != nil { // at once: writing to an agent that is gone ends the process
			record("eof\n")
		}
		return n, err
	}), os.Stdout)
}

type asking struct {
	mode, arg string
	first     bool
	mu        sync.Mutex
	open      int
	both      chan struct{}
}

func (a *asking) handle(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch {
	case a.mode == "block":
		<-ctx.Done()
		return nil, ctx.Err()
	case a.mode == "die", a.mode == "dieonce" && a.first:
		os.Exit(3)
	case a.mode == "fail":
		return mcp.NewToolResultError(a.arg), nil
	case a.mode == "pair":
		a.mu.Lock()
		a.open++
		if a.open == 2 {
			close(a.both)
		}
		a.mu.Unlock()
		select {
		case <-a.both:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	res := mcp.NewToolResultText(a.arg)
	res.StructuredContent = jsonRaw(a.arg)
	return res, nil
}

func logged(what string) int {
	raw, err := os.ReadFile(os.Getenv("TEST_LOG"))
	if err != nil {
		return 0
	}
	return strings.Count(string(raw), what)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
