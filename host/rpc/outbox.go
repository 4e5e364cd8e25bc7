package rpc

import (
	"errors"
	"net"
	"sync"
	"time"

	"example.com/kitsoki/askbridge/frame"
)

// ErrBehind means that the peer has not read for so long that what was to be sent was left out.
var ErrBehind = errors.New("the peer does not read")

// What waits to be written to a peer that does not read: notifications up to the one, answers up to the other, in
// bytes. Beyond that the connection ends.
const (
	maxBehind = 1 << 20
	maxQueued = 2 * maxAnswer
)

// outbox is what waits to be written. Nobody who puts something in waits for the peer.
type outbox struct {
	mu     sync.Mutex // guards all below
	lines  [][]byte
	bytes  int // of the lines, and of the one that is being written
	closed bool
	more   chan struct{} // holds one
}

func newOutbox() *outbox { return &outbox{more: make(chan struct{}, 1)} }

// put adds a line, with its newline. must lets it in where a notification would be left out.
func (o *outbox) put(line []byte, must bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	most := maxBehind
	if must {
		most = maxQueued
	}
	switch {
	case o.closed:
		return ErrGone
	case o.bytes > 0 && o.bytes+len(line) > most:
		return ErrBehind
	}
	o.lines = append(o.lines, line)
	o.bytes += len(line)
	o.wake()
	return nil
}

// close lets nothing in any more; what is in is still written.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.more <- struct{}{}:
	default:
	}
}

// next waits for a line; false when the last one was written.
func (o *outbox) next(written int) ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= written
	for len(o.lines) == 0 {
		if o.closed {
			return nil, false
		}
		o.mu.Unlock()
		<-o.more
		o.mu.Lock()
	}
	line := o.lines[0]
	o.lines[0] = nil
	o.lines = o.lines[1:]
	return line, true
}

// writeTo writes until the outbox is closed and empty, or the connection has ended. Nothing bounds a write but the
// end of the connection: a peer that was suspended goes on where it was.
func (o *outbox) writeTo(conn net.Conn) {
	w := frame.NewWriter(conn, 0)
	for written := 0; ; {
		line, ok := o.next(written)
		if !ok {
			return
		}
		if err := w.WriteLine(line); err != nil {
			o.close()
			_ = conn.Close() // and its reader sees that it has ended
			return
		}
		written = len(line)
	}
}

// flushWithin is how long the last answers may take.
const flushWithin = time.Second
