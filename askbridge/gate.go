package askbridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// PermissionCall is a tool call of the agent that needs a permission. Tool and Input are the agent's own: what it
// means to do, byte for byte but for spaces between the parts of the JSON.
type PermissionCall struct {
	ID        string // made by the grandchild
	ToolUseID string
	Tool      string
	Input     json.RawMessage

	deadlines
}

// Decision is what came of a PermissionCall. The zero value denies.
type Decision struct {
	Allow   bool
	Input   json.RawMessage // what the tool is called with in place of what was proposed; nil: as proposed
	Message string          // of a denial, for the agent
}

// RunCall is an approved command that is to be run on the host's side of the wall. Its token is good once.
type RunCall struct {
	Token  string
	Dir    string // in which the agent's shell is
	Stdout io.Writer
	Stderr io.Writer
}

// Gatekeeper is a Handler that decides about permissions too. Without one every permission is denied and nothing is run.
type Gatekeeper interface {
	// Permission blocks until it is decided. ctx ends as with Handler.Ask.
	Permission(ctx context.Context, call *PermissionCall) Decision
	// Run runs a command and returns its exit code. An error means that it was not run, in words for the agent. When
	// ctx ends, whoever wanted the command is gone.
	Run(ctx context.Context, call RunCall) (exit int, err error)
}

// maxPermissions bounds the open permissions of a dispatch: sub-agents work side by side, and each waits for its own.
const maxPermissions = 64

// denied is the answer when something of our own went wrong: the gate fails closed.
const denied = "kitsoki could not bring this to the operator, so it is denied: "

// permission serves one permission.
func (l *Listener) permission(ctx context.Context, cancel context.CancelCauseFunc, w *wire, r request) {
	keeper, ok := l.handler.(Gatekeeper)
	var deny string
	switch {
	case !ok:
		deny = "this run has no gate"
	case r.ID == "" || len(r.ID) > 128:
		deny = "it has no usable id"
	case !json.Valid(r.Arguments):
		deny = "its input is no JSON"
	case r.Tool == "":
		deny = "it names no tool"
	case !l.enter():
		deny = fmt.Sprintf("%d others wait already", maxPermissions)
	default:
		defer l.leave()
	}
	if deny != "" {
		_ = w.write(reply{Decision: &decision{Message: denied + deny}}) // a peer that is gone needs none
		return
	}
	call := &PermissionCall{ID: r.ID, ToolUseID: r.ToolUseID, Tool: r.Tool, Input: r.Arguments, deadlines: tellOn(w)}
	got := &receipt{delivered: make(chan struct{})}
	l.work.Go(func() { watch(w, cancel, got) })
	d := keeper.Permission(ctx, call)
	got.sent.Store(true)
	_ = w.write(reply{Decision: &decision{Allow: d.Allow, Input: d.Input, Message: d.Message}}) // likewise
}

func (l *Listener) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.permissions >= maxPermissions {
		return false
	}
	l.permissions++
	return true
}

func (l *Listener) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.permissions--
}

// run serves the run of one approved command.
func (l *Listener) run(ctx context.Context, cancel context.CancelCauseFunc, w *wire, r request) {
	keeper, ok := l.handler.(Gatekeeper)
	if !ok {
		_ = w.write(reply{Error: "this run has no gate"}) // a peer that is gone needs none
		return
	}
	got := &receipt{delivered: make(chan struct{})}
	l.work.Go(func() { watch(w, cancel, got) })
	exit, err := keeper.Run(ctx, RunCall{Token: r.Run, Dir: r.Dir, Stdout: output{w, false}, Stderr: output{w, true}})
	got.sent.Store(true)
	if err != nil {
		_ = w.write(reply{Error: err.Error()}) // likewise
		return
	}
	_ = w.write(reply{Exit: &exit})
}

// output sends what a command prints.
type output struct {
	w   *wire
	err bool
}

func (o output) Write(p []byte) (int, error) {
	for sent := 0; sent < len(p); {
		piece := p[sent:min(len(p), sent+outputPiece)]
		r := reply{Stdout: piece}
		if o.err {
			r = reply{Stderr: piece}
		}
		if err := o.w.write(r); err != nil {
			return sent, err
		}
		sent += len(piece)
	}
	return len(p), nil
}

// outputPiece bounds the bytes of output in a line.
const outputPiece = 32 << 10

// PermissionParams is one permission to bring to the host. Input is sent as it is, and must be valid JSON.
type PermissionParams struct {
	ID        string
	ToolUseID string
	Tool      string
	Input     json.RawMessage
}

// Permit brings a permission to the host and waits for the decision. It denies, with a message that says why, whenever
// it does not come: a host that is gone or goes silent, a cancelled call, an input that is too long.
func (c *Client) Permit(ctx context.Context, p PermissionParams) Decision {
	if err := checkFrame(p.Input, DefaultLimits()); err != nil {
		return Decision{Message: denied + "its input is too long to be shown"}
	}
	w, err := c.open(ctx, request{Type: typePermission, ID: p.ID, ToolUseID: p.ToolUseID, Tool: p.Tool, Arguments: p.Input})
	if err != nil {
		return Decision{Message: denied + err.Error()}
	}
	e := &Exchange{w: w}
	defer func() { _ = e.Close() }()
	r, err := e.final(ctx)
	switch {
	case err != nil:
		return Decision{Message: denied + err.Error()}
	case r.Decision == nil:
		return Decision{Message: denied + "the host gave no decision"}
	case r.Decision.Allow && r.Decision.Input != nil && !json.Valid(r.Decision.Input):
		return Decision{Message: denied + "the host's decision makes no sense"}
	}
	return Decision{Allow: r.Decision.Allow, Input: r.Decision.Input, Message: r.Decision.Message}
}

// Run has the host run an approved command, copies what it prints, and returns its exit code. It waits as long as the
// command takes; closing the connection, which the end of ctx does, ends the command.
func (c *Client) Run(ctx context.Context, token, dir string, stdout, stderr io.Writer) (int, error) {
	w, err := c.open(ctx, request{Type: typeRun, Run: token, Dir: dir})
	if err != nil {
		return 0, err
	}
	defer func() { _ = w.conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = w.conn.Close() })
	defer stop()
	for {
		var r reply
		switch err := w.read(&r); {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case err != nil:
			return 0, fmt.Errorf("the host is gone: %w", err)
		case r.Error != "":
			return 0, errors.New(r.Error)
		case r.Exit != nil:
			return *r.Exit, nil
		}
		_, outErr := io.Copy(stdout, bytes.NewReader(r.Stdout))
		_, errErr := io.Copy(stderr, bytes.NewReader(r.Stderr))
		if err := errors.Join(outErr, errErr); err != nil {
			return 0, err // nobody reads it any more, as in a pipe
		}
	}
}

// deadlines tells the grandchild until when it has to wait.
type deadlines struct {
	tell     func(t time.Time, first bool) error
	accepted bool
}

// Deadline tells the grandchild until when it has to wait: the first call that the ask was accepted, later ones
// that it moved. It is called by one goroutine at a time.
func (d *deadlines) Deadline(t time.Time) error {
	first := !d.accepted
	d.accepted = true
	return d.tell(t, first)
}

func tellOn(w *wire) deadlines {
	return deadlines{tell: func(t time.Time, first bool) error {
		if first {
			return w.write(reply{Accepted: &deadline{t}})
		}
		return w.write(reply{Deadline: &t})
	}}
}
