package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/askbridge/frame"
)

// Limits of a connection.
const (
	MaxLine   = 4 << 20 // of what a server reads, in bytes, with the newline
	MaxInHand = 2048    // requests of a connection that have no answer yet

	maxAnswer = 16 << 20 // of one answer
	maxBatch  = 100
	maxID     = 128
	maxSkip   = 16 * MaxLine // of a line that is too long, before its connection is closed
)

// Causes of the context of a request, beside those that [Conn.Cancel] was given.
var (
	ErrCancelled = errors.New("the caller cancelled the call")
	ErrGone      = errors.New("the caller is gone")
	ErrClosing   = errors.New("the server is ending")
)

// cancelMethod is the notification by which a caller takes a request back: {"id": of the request}. The name is that of
// the Language Server Protocol, JSON-RPC itself has none.
const cancelMethod = "$/cancelRequest"

// Request is a request or, without an ID, a notification.
type Request struct {
	Conn   *Conn
	ID     json.RawMessage // as it came; nil: a notification
	Method string
	Params json.RawMessage // nil: none
}

// Work does what a request asks for, on a goroutine of its own, and returns its answer: a value that is fit for JSON,
// or an error, an *Error where it has a code.
type Work func() (any, error)

// Handler begins a request. Handlers of a connection are called one at a time, in the order in which the requests
// came, and must not block; what takes time is in the Work that they return. nil is no work: a request is answered
// with null. Notifications have no work. ctx ends with a cause when the request is cancelled, or its caller is gone.
type Handler func(ctx context.Context, r *Request) Work

// Fail is the work of a request that cannot be begun.
func Fail(err error) Work { return func() (any, error) { return nil, err } }

// Methods are handlers by name.
type Methods map[string]Handler

// Conn is one end of a connection. It is safe for concurrent use.
type Conn struct {
	raw     net.Conn
	in      *frame.Reader
	out     *outbox
	methods Methods
	stop    context.CancelCauseFunc // of the context of every request

	work    sync.WaitGroup // requests in hand
	written chan struct{}  // closed when the writer has ended
	gone    chan struct{}  // closed when nothing can be read any more
	done    chan struct{}  // closed when all goroutines have ended

	mu       sync.Mutex // guards all below
	ending   bool       // no further requests are begun
	inHand   map[string]context.CancelCauseFunc
	calls    map[string]chan incoming // our own, by id
	lastCall uint64
}

// newConn starts a connection, which reads lines up to a limit.
func newConn(raw net.Conn, limit int, methods Methods) *Conn {
	ctx, stop := context.WithCancelCause(context.Background())
	c := &Conn{
		raw: raw, in: frame.NewReader(raw, limit), out: newOutbox(), methods: methods, stop: stop,
		written: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{}),
		inHand: map[string]context.CancelCauseFunc{}, calls: map[string]chan incoming{},
	}
	go func() {
		defer close(c.written)
		c.out.writeTo(raw)
	}()
	go c.run(ctx)
	return c
}

// run reads to the end of the connection, and then ends what there is of it.
func (c *Conn) run(ctx context.Context) {
	defer close(c.done)
	c.read(ctx)
	close(c.gone)
	c.stop(ErrGone)
	c.end()
	c.work.Wait()
	c.flush()
}

// end lets no further request begin.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = true
}

// flush writes what waits, within a bound, and closes the connection.
func (c *Conn) flush() {
	c.out.close()
	_ = c.raw.SetWriteDeadline(time.Now().Add(flushWithin)) // fails on closed connections only
	<-c.written
	_ = c.raw.Close()
}

// Close ends the connection: requests in hand end with ErrClosing, are waited for, and have their answers sent, until
// ctx ends at the longest.
func (c *Conn) Close(ctx context.Context) error {
	c.end()
	c.stop(ErrClosing)
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		c.work.Wait()
		c.flush()
		<-c.done
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		_ = c.raw.Close()
		return fmt.Errorf("a connection did not end in time: %w", context.Cause(ctx))
	}
}

// Gone is closed when the peer has closed the connection, or it was lost.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

func (c *Conn) read(ctx context.Context) {
	for {
		line, err := c.in.ReadLine()
		switch {
		case errors.Is(err, frame.ErrTooLong):
			c.send(answerTo(nil, nil, Errorf(ParseError, "the line is longer than %d bytes", MaxLine)))
			if c.in.Skip(maxSkip) != nil {
				return
			}
		case err != nil:
			return
		case len(bytes.TrimSpace(line)) > 0:
			c.take(ctx, line)
		}
	}
}

// take begins what a line asks for.
func (c *Conn) take(ctx context.Context, line []byte) {
	raws, batch, fault := split(line)
	if fault != nil {
		c.send(answerTo(nil, nil, fault))
		return
	}
	reply := c.send
	if batch {
		all := newBatch(len(raws), c.send)
		defer all.done() // holds it open until each was begun
		reply = all.add
		for _, raw := range raws {
			all.expect()
			c.begin(ctx, raw, func(answer []byte) { reply(answer); all.done() }, all.done)
		}
		return
	}
	c.begin(ctx, raws[0], reply, func() {})
}

// begin begins one message. Either reply is called, once, or none, when it has no answer.
func (c *Conn) begin(ctx context.Context, raw json.RawMessage, reply func([]byte), none func()) {
	in, fault := parse(raw)
	switch {
	case fault != nil:
		reply(answerTo(in.id, nil, fault))
	case in.method == "":
		c.answered(in)
		none()
	case in.id == nil:
		c.notified(ctx, in)
		none()
	default:
		c.request(ctx, in, reply)
	}
}

func (c *Conn) notified(ctx context.Context, in incoming) {
	if in.method == cancelMethod {
		var id json.RawMessage
		if Params(in.params, Field{"id", "the id of a request", &id}).Err() == nil {
			c.Cancel(id, ErrCancelled)
		}
		return
	}
	if handler := c.methods[in.method]; handler != nil {
		handler(ctx, &Request{Conn: c, Method: in.method, Params: in.params})
	}
}

func (c *Conn) request(ctx context.Context, in incoming, reply func([]byte)) {
	id := string(in.id)
	ctx, cancel := context.WithCancelCause(ctx)
	if err := c.admit(id, in.method, cancel); err != nil {
		cancel(nil)
		reply(answerTo(in.id, nil, err))
		return
	}
	work := c.start(ctx, in)
	go func() {
		defer c.work.Done()
		result, err := do(work)
		c.mu.Lock()
		delete(c.inHand, id)
		c.mu.Unlock()
		cancel(nil)
		reply(answerTo(in.id, result, err))
	}()
}

// start calls the handler of a request. A panic would end every other caller's work too, so it fails the request
// instead, here and in do.
func (c *Conn) start(ctx context.Context, in incoming) (work Work) {
	defer func() {
		if p := recover(); p != nil {
			work = Fail(panicked(p))
		}
	}()
	return c.methods[in.method](ctx, &Request{Conn: c, ID: in.id, Method: in.method, Params: in.params})
}

func panicked(p any) error {
	return Errorf(InternalError, "kitsoki itself failed: %v\n%s", p, debug.Stack())
}

// do works a request off.
func do(work Work) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	if work == nil {
		return nil, nil
	}
	return work()
}

// admit takes a request in hand, or says why that cannot be.
func (c *Conn) admit(id, method string, cancel context.CancelCauseFunc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ending:
		return Errorf(Unavailable, "%v", ErrClosing)
	case c.methods[method] == nil:
		return Errorf(MethodNotFound, "there is no method %q; there are %s", cut(method), strings.Join(slices.Sorted(maps.Keys(c.methods)), ", "))
	case c.inHand[id] != nil:
		return Errorf(InvalidRequest, "a request with the id %s is in hand", id)
	case len(c.inHand) >= MaxInHand:
		return Errorf(Unavailable, "%d requests of this connection are in hand, which is as many as there can be", MaxInHand)
	}
	c.inHand[id] = cancel
	c.work.Add(1)
	return nil
}

// Cancel ends the context of a request of this connection that is in hand, with a cause; false when there is none.
func (c *Conn) Cancel(id json.RawMessage, cause error) bool {
	c.mu.Lock()
	cancel := c.inHand[string(id)]
	c.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	return cancel != nil
}

// send sends an answer. A peer that reads none of them is cut off.
func (c *Conn) send(answer []byte) {
	if errors.Is(c.out.put(append(answer, '\n'), true), ErrBehind) {
		_ = c.raw.Close()
	}
}

// Notify sends a notification. It never waits: to a peer that does not read it is not sent, ErrBehind. must sends it
// all the same, as answers are.
func (c *Conn) Notify(method string, params any, must bool) error {
	raw, err := encode(params)
	if err != nil {
		return err
	}
	line, err := encode(message{Version: version, Method: method, Params: raw})
	if err != nil {
		return err
	}
	return c.out.put(append(line, '\n'), must)
}
