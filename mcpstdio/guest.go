package mcpstdio

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"example.com/kitsoki/askbridge"
)

// GuestAsk is one call of the tool by an agent that no kitsoki started.
type GuestAsk struct {
	Client    string // the agent's name and version as it says; may be empty
	ToolUseID string
	Arguments json.RawMessage // bytes as they came
}

// Guest brings an ask to whichever operator there is, and blocks until it has ended. When ctx ends, with the cause
// askbridge.ErrCancelled or askbridge.ErrAskerGone, the ask is withdrawn. An error means that no operator could be
// reached, or none any more, and is worded for an agent. It is called from several goroutines.
type Guest func(ctx context.Context, ask GuestAsk) (askbridge.Final, error)

// askAsGuest serves one call of the tool without a dispatch. Who is there is looked for with each call: operators come
// and go while an agent of their own works.
func (g *grandchild) askAsGuest(ctx context.Context, req mcp.CallToolRequest, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	client := clientOf(ctx)
	ctx, stop := g.withCause(ctx)
	defer stop()
	stopProgress := g.progress(ctx, req)
	final, err := g.guest(ctx, GuestAsk{Client: client, ToolUseID: toolUseID(req), Arguments: arguments})
	stopProgress()
	return g.result(final, err, &guestAnswer{done: final.Done}), nil
}

// guestAnswer is an answer to a guest on its way to the client.
type guestAnswer struct{ done func(delivered bool) }

// Delivered implements passing.
func (a *guestAnswer) Delivered() error {
	a.tell(true)
	return nil
}

// Close implements passing. After Delivered it tells nothing.
func (a *guestAnswer) Close() error {
	a.tell(false)
	return nil
}

func (a *guestAnswer) tell(delivered bool) {
	if done := a.done; done != nil {
		a.done = nil
		done(delivered)
	}
}
