package scripted

import (
	"context"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// wire is mcp-go's stdio transport, with two things told at once that mcp-go tells later or in other words.
type wire struct{ *transport.Stdio }

// rpcError is a JSON-RPC error as the server worded it; mcp-go puts a class in front.
type rpcError struct{ message string }

func (e *rpcError) Error() string { return e.message }

// SendRequest also sends notifications/cancelled for a call whose context has ended, before it returns. mcp-go
// does so from a goroutine that nobody waits for, and a connection that is closed next would lose it.
func (w *wire) SendRequest(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := w.Stdio.SendRequest(ctx, req)
	if req.Method != string(mcp.MethodToolsCall) {
		return resp, err
	}
	if err != nil && ctx.Err() != nil {
		w.cancel(ctx, req)
	}
	if err == nil && resp.Error != nil {
		return nil, &rpcError{message: resp.Error.Message}
	}
	return resp, err
}

func (w *wire) cancel(ctx context.Context, req transport.JSONRPCRequest) {
	_ = w.Stdio.SendNotification(context.WithoutCancel(ctx), mcp.JSONRPCNotification{ // a closed connection cancels too
		JSONRPC: mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{
			Method: string(mcp.MethodNotificationCancelled),
			Params: mcp.NotificationParams{AdditionalFields: map[string]any{
				"requestId": req.ID, "reason": context.Cause(ctx).Error(),
			}},
		},
	})
}

// SendNotification leaves out mcp-go's own notifications/cancelled, which would be the second.
func (w *wire) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	if n.Method == string(mcp.MethodNotificationCancelled) {
		return nil
	}
	return w.Stdio.SendNotification(ctx, n)
}
