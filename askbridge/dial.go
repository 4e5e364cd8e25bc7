package askbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Client is the grandchild's end of a dispatch's socket. Every exchange has a connection of its own.
type Client struct {
	socket string
	token  string
	bounds bounds
}

// Dial finds the token beside the socket. It does not connect yet.
func Dial(socket string) (*Client, error) {
	token, err := os.ReadFile(filepath.Join(filepath.Dir(socket), tokenName))
	if err != nil {
		return nil, fmt.Errorf("the operator's socket has no token: %w", err)
	}
	return &Client{socket: socket, token: string(token), bounds: defaultBounds()}, nil
}

func (c *Client) open(ctx context.Context, first request) (*wire, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", c.socket)
	if err != nil {
		return nil, fmt.Errorf("the operator's socket: %w", err)
	}
	first.V, first.Token = wireVersion, c.token
	w := newWire(conn, DefaultLimits().Frame+frameMargin, c.bounds)
	if err := w.write(first); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

// ToolsListed tells the host that the tools are being listed and waits until it knows, some seconds at most.
func (c *Client) ToolsListed(ctx context.Context, info ToolsListed) error {
	w, err := c.open(ctx, request{Type: typeToolsListed, Client: info.Client, Tools: info.Tools})
	if err != nil {
		return err
	}
	defer func() { _ = w.conn.Close() }()
	_ = w.conn.SetReadDeadline(time.Now().Add(c.bounds.first)) // fails on closed connections only
	var r reply
	if err := w.read(&r); err != nil {
		return fmt.Errorf("the host did not acknowledge: %w", err)
	}
	if !r.OK {
		return errors.New("the host did not acknowledge")
	}
	return nil
}

// AskParams is one call of the tool. Arguments are sent as they are, and must be valid JSON.
type AskParams struct {
	ID        string
	ToolUseID string
	Arguments json.RawMessage
}

// Exchange is one ask that was sent.
type Exchange struct{ w *wire }

// Ask sends an ask. Close the exchange in any case. Arguments that are too long to be sent are a *Faults.
func (c *Client) Ask(ctx context.Context, p AskParams) (*Exchange, error) {
	if err := checkFrame(p.Arguments, DefaultLimits()); err != nil {
		return nil, err
	}
	w, err := c.open(ctx, request{Type: typeAsk, ID: p.ID, ToolUseID: p.ToolUseID, Arguments: p.Arguments})
	if err != nil {
		return nil, err
	}
	return &Exchange{w: w}, nil
}

// Wait waits for the end of the ask. It gives up some seconds after the last deadline that it was told, so that
// a host that hangs does not keep the agent for ever. When ctx ends the ask is withdrawn: as cancelled by the
// client, unless the cause is ErrAskerGone.
func (e *Exchange) Wait(ctx context.Context) (Final, error) {
	r, err := e.final(ctx)
	if err != nil {
		return Final{}, err
	}
	if r.Error == "" && !answered(r.Answers) {
		return Final{}, errors.New("the host gave no answer")
	}
	return Final{Answers: r.Answers, Notes: r.Notes, Outcome: r.Outcome, Error: r.Error}, nil
}

// final waits for the last line.
func (e *Exchange) final(ctx context.Context) (reply, error) {
	withdrawn := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(withdrawn)
		if !errors.Is(context.Cause(ctx), ErrAskerGone) {
			_ = e.w.write(request{Type: typeCancel}) // a host that is gone needs no word
		}
		_ = e.w.conn.Close()
	})
	defer func() {
		if !stop() {
			<-withdrawn // or the caller's Close could overtake the cancel
		}
	}()
	last := time.Now()
	for {
		if err := e.w.conn.SetReadDeadline(last.Add(e.w.bounds.grace)); err != nil {
			return reply{}, e.failed(ctx, err)
		}
		var r reply
		if err := e.w.read(&r); err != nil {
			return reply{}, e.failed(ctx, err)
		}
		if ctx.Err() != nil {
			return reply{}, context.Cause(ctx) // withdrawn: whatever crossed that comes too late
		}
		switch {
		case r.Accepted != nil:
			last = r.Accepted.Deadline
		case r.Deadline != nil:
			last = *r.Deadline
		case r.Error != "" || answered(r.Answers) || r.Decision != nil:
			return r, nil
		}
	}
}

func (e *Exchange) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("the host went silent after the deadline")
	}
	return fmt.Errorf("the host is gone: %w", err)
}

// Delivered tells the host that the answer was written to the agent.
func (e *Exchange) Delivered() error { return e.w.write(request{Delivered: true}) }

// Close ends the exchange; an ask that is open is withdrawn.
func (e *Exchange) Close() error { return e.w.conn.Close() }
