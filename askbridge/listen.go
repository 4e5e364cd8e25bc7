package askbridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"example.com/kitsoki/askbridge/frame"
)

var (
	// ErrCancelled is the cause of a call whose client cancelled it.
	ErrCancelled = errors.New("the client cancelled the call")
	// ErrAskerGone is the cause of a call whose connection ended.
	ErrAskerGone = errors.New("the asker is gone")
)

// Call is one call of the ask tool. Texts are as the agent sent them.
type Call struct {
	ID        string // made by the grandchild; the ask's id everywhere
	ToolUseID string // the agent's id of the tool call; may be empty
	Questions []Question
	Notes     []Note

	deadlines
}

// NewCall makes a call that came by another way than a Listener. deadline is told until when its asker has to wait.
func NewCall(id, toolUseID string, qs []Question, notes []Note, deadline func(time.Time) error) *Call {
	return &Call{
		ID: id, ToolUseID: toolUseID, Questions: qs, Notes: notes,
		deadlines: deadlines{tell: func(t time.Time, _ bool) error { return deadline(t) }},
	}
}

// Final is the end of a call: Answers, with Notes when there are any, or an Error in words for the agent.
type Final struct {
	Answers map[string]any
	Notes   map[string]string
	Outcome string
	Error   string

	// Done, when set, is called exactly once, when it is known whether the grandchild passed the answers on.
	Done func(delivered bool)
}

// ToolsListed says that an agent asked the grandchild for its tools.
type ToolsListed struct {
	Client string // the agent's name and version as it says
	Tools  []string
}

// Refusal is a connection that was turned away.
type Refusal struct {
	Reason string
	PID    int // of the peer; 0 when it is not known
	UID    int
}

// Handler serves what comes over a dispatch's socket. Its methods are called from several goroutines.
type Handler interface {
	// ToolsListed is acknowledged to the grandchild when it returns nil.
	ToolsListed(ctx context.Context, info ToolsListed) error
	// Ask blocks until the ask is over. ctx ends with the cause ErrCancelled or ErrAskerGone.
	Ask(ctx context.Context, call *Call) Final
	// Refused is told of strangers and of what could not be understood.
	Refused(ctx context.Context, r Refusal)
}

// ListenOptions are the limits of a listener; the zero value stands for the defaults.
type ListenOptions struct {
	Limits Limits

	bounds bounds
}

// Listener is the host's end of a dispatch's socket.
type Listener struct {
	dir     *Dir
	handler Handler
	limits  Limits
	bounds  bounds
	socket  net.Listener
	rate    *rate.Limiter
	work    sync.WaitGroup
	stop    chan struct{} // closed by Close

	mu       sync.Mutex // guards all below
	closed   bool
	conns    map[net.Conn]context.CancelCauseFunc
	live     map[string]bool // ids of the open asks
	failures map[string]int  // how often the same fault was answered

	permissions int // open ones
}

// Listen binds the directory's socket, mode 0600, and serves it until Close.
func Listen(d *Dir, h Handler, o ListenOptions) (*Listener, error) {
	if o.Limits == (Limits{}) {
		o.Limits = DefaultLimits()
	}
	if o.Limits.PerMinute <= 0 {
		o.Limits.PerMinute = DefaultLimits().PerMinute
	}
	if o.bounds == (bounds{}) {
		o.bounds = defaultBounds()
	}
	socket, err := frame.Listen(d.Socket())
	if err != nil {
		return nil, fmt.Errorf("the ask socket: %w", err)
	}
	l := &Listener{
		dir: d, handler: h, limits: o.Limits, bounds: o.bounds, socket: socket,
		rate:  rate.NewLimiter(rate.Every(time.Minute/time.Duration(o.Limits.PerMinute)), o.Limits.PerMinute),
		stop:  make(chan struct{}),
		conns: map[net.Conn]context.CancelCauseFunc{}, live: map[string]bool{}, failures: map[string]int{},
	}
	l.work.Go(l.accept)
	return l, nil
}

// Close ends every connection, withdraws what is open, and waits for all goroutines.
func (l *Listener) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	for conn, cancel := range l.conns {
		cancel(ErrAskerGone)
		_ = conn.Close()
	}
	l.mu.Unlock()
	err := l.socket.Close()
	l.work.Wait()
	return err
}

// retryAccept is the pause after an accept that failed.
const retryAccept = 50 * time.Millisecond

func (l *Listener) accept() {
	for {
		conn, err := l.socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Out of descriptors, most likely: the connection waits in the backlog until some are free.
			l.handler.Refused(context.Background(), Refusal{Reason: err.Error()})
			select {
			case <-l.stop:
				return
			case <-time.After(retryAccept):
			}
			continue
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		if !l.keep(conn, cancel) {
			cancel(nil)
			_ = conn.Close()
			return
		}
		l.work.Go(func() {
			defer l.drop(conn)
			defer cancel(nil)
			l.serve(ctx, cancel, conn)
		})
	}
}

func (l *Listener) keep(conn net.Conn, cancel context.CancelCauseFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns[conn] = cancel
	return true
}

func (l *Listener) drop(conn net.Conn) {
	_ = conn.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, conn)
}
