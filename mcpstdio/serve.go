package mcpstdio

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"example.com/kitsoki/askbridge"
)

// workers is how many calls mcp-go serves at once. Its default of 5 would let five open asks starve the rest and
// lose the cancel of a queued one; 100 is its maximum.
const workers = 100

// progressEvery is how often a client that asked for progress is told that the ask still waits: some give up
// after 60 s without.
const progressEvery = 10 * time.Second

// unanswered is what the agent reads when the ask could not even be brought to the host.
const unanswered = "operator did not answer; proceed without this input (outcome: %s; reason: %s)"

// Options say what a server serves.
type Options struct {
	// Socket is that of a dispatch, over which asks go. With an empty path, or a host that is gone, the tool is there and
	// every call of it fails with the outcome no_operator.
	Socket string
	// Gate adds the tool through which the agent's own permissions go to the host; without a host it denies.
	Gate bool
	// Alone leaves out the tool to ask with: nobody can be asked.
	Alone bool
	// Guest serves the asks of an agent that no kitsoki started, in place of a socket. A guest asks and does nothing
	// else: with it there is no gate.
	Guest   Guest
	Version string
}

// Serve serves MCP on stdin and stdout until stdin or ctx ends. Diagnostics of the protocol go to stderr.
func Serve(ctx context.Context, opt Options, stdin io.Reader, stdout, stderr io.Writer) error {
	g := newGrandchild(opt.Socket, stdout)
	g.guest, g.gate, g.alone = opt.Guest, opt.Gate && opt.Guest == nil, opt.Alone
	return g.serve(ctx, stdin, stderr, opt.Version)
}

// grandchild is one server.
type grandchild struct {
	server        *server.MCPServer
	client        *askbridge.Client
	lost          error // why there is no client
	guest         Guest // in place of both
	gate, alone   bool
	receipts      *receipts
	clientGone    func() bool // set by serve: whether standard input has ended, or the server was told to stop
	progressEvery time.Duration
}

func newGrandchild(socket string, stdout io.Writer) *grandchild {
	g := &grandchild{receipts: newReceipts(stdout), progressEvery: progressEvery}
	if socket == "" {
		g.lost = errors.New("no operator takes part in this run")
	} else {
		g.client, g.lost = askbridge.Dial(socket)
	}
	return g
}

func (g *grandchild) serve(ctx context.Context, stdin io.Reader, stderr io.Writer, version string) error {
	var ended flag
	stopped := ctx
	g.clientGone = func() bool { return ended.isSet() || stopped.Err() != nil }
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hooks := &server.Hooks{}
	hooks.AddBeforeListTools(g.listing)
	hooks.AddAfterCallTool(func(_ context.Context, id any, _ *mcp.CallToolRequest, result any) { g.receipts.name(result, id) })
	g.server = server.NewMCPServer(serverName, version, server.WithRecovery(), server.WithHooks(hooks), server.WithToolCapabilities(false))
	if !g.alone {
		g.server.AddTool(tool(), g.ask)
	}
	if g.gate {
		g.server.AddTool(permitTool(), g.permit)
	}

	stdio := server.NewStdioServer(g.server)
	server.WithWorkerPoolSize(workers)(stdio)
	server.WithErrorLogger(log.New(stderr, "kitsoki mcp-operator-ask: ", 0))(stdio)
	err := stdio.Listen(ctx, &ending{in: stdin, end: ended.set}, g.receipts)
	g.receipts.close()
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the MCP connection failed: %w", err)
	}
	return nil
}

// listing tells the host, before the answer goes out, that the agent learns of the tool now.
func (g *grandchild) listing(ctx context.Context, _ any, _ *mcp.ListToolsRequest) {
	if g.client == nil {
		return
	}
	info := askbridge.ToolsListed{Client: clientOf(ctx)}
	if !g.alone {
		info.Tools = append(info.Tools, toolName)
	}
	if g.gate {
		info.Tools = append(info.Tools, permitName)
	}
	_ = g.client.ToolsListed(ctx, info) // a host that is gone is said at the first call
}

// clientOf is the agent's name and version as it says, by whichever era of the protocol.
func clientOf(ctx context.Context) string {
	if s, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return strings.TrimSpace(s.GetClientInfo().Name + " " + s.GetClientInfo().Version)
	}
	return ""
}

// ask serves one call of the tool.
func (g *grandchild) ask(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	arguments := req.Params.RawArguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}") // what is missing is named by the host
	}
	if g.guest != nil {
		return g.askAsGuest(ctx, req, arguments)
	}
	if g.client == nil {
		return failure(unanswered, "no_operator", g.lost), nil
	}
	ctx, stop := g.withCause(ctx)
	defer stop()
	ex, err := g.client.Ask(ctx, askbridge.AskParams{ID: newID(), ToolUseID: toolUseID(req), Arguments: arguments})
	var faults *askbridge.Faults
	switch {
	case errors.As(err, &faults):
		return failure("%s", faults), nil
	case err != nil:
		return failure(unanswered, "no_operator", err), nil
	}
	stopProgress := g.progress(ctx, req)
	final, err := ex.Wait(ctx)
	stopProgress()
	return g.result(final, err, ex), nil
}

// result is what the client reads of the end of a call. An answer is on its way with it, and p is told how that ended.
func (g *grandchild) result(final askbridge.Final, err error, p passing) *mcp.CallToolResult {
	switch {
	case err != nil:
		_ = p.Close()
		return failure(unanswered, outcomeOf(err), err)
	case final.Error != "":
		_ = p.Close()
		return failure("%s", final.Error)
	}
	result, err := success(final)
	if err != nil {
		_ = p.Close()
		return failure(unanswered, "cancelled", err)
	}
	g.receipts.expect(result, p)
	return result
}

// withCause gives a call's context an end that says whether the client cancelled the call or went away.
func (g *grandchild) withCause(ctx context.Context) (context.Context, func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if g.clientGone() {
			cancel(askbridge.ErrAskerGone)
		} else {
			cancel(askbridge.ErrCancelled)
		}
	})
	return out, func() { stop(); cancel(nil) }
}

func outcomeOf(err error) string {
	if errors.Is(err, askbridge.ErrCancelled) {
		return "cancelled"
	}
	return "no_operator"
}

// success is the tool's result. Clients read either the text or the structured content, so both are the same.
func success(f askbridge.Final) (*mcp.CallToolResult, error) {
	body := struct {
		Answers map[string]any    `json:"answers"`
		Notes   map[string]string `json:"notes,omitempty"`
	}{f.Answers, f.Notes}
	text, err := marshal(body)
	if err != nil {
		return nil, fmt.Errorf("the answer could not be encoded: %w", err)
	}
	return mcp.NewToolResultStructured(json.RawMessage(text), string(text)), nil
}

func failure(format string, args ...any) *mcp.CallToolResult {
	return mcp.NewToolResultError(fmt.Sprintf(format, args...))
}

// progress tells a client that asked for it, by a token, that the ask still waits. stop waits for the teller.
func (g *grandchild) progress(ctx context.Context, req mcp.CallToolRequest) (stop func()) {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(g.progressEvery)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-quit:
				return
			case <-ticker.C:
				_ = g.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
					"progressToken": req.Params.Meta.ProgressToken, "progress": n, "message": "waiting for the operator",
				}) // a client that is gone cancels the call anyway
			}
		}
	}()
	return func() { close(quit); <-done }
}

// toolUseID is the agent's own id of the call, which Claude Code sends along.
func toolUseID(req mcp.CallToolRequest) string {
	if req.Params.Meta == nil {
		return ""
	}
	id, _ := req.Params.Meta.AdditionalFields["claudecode/toolUseId"].(string)
	return id
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // crypto/rand.Read never fails
	return hex.EncodeToString(b[:])
}
