package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"example.com/kitsoki/askbridge/frame"
)

// MaxConns is how many connections a server has at once.
const MaxConns = 256

// Options of a server; the zero value stands for the defaults.
type Options struct {
	// Refused is told, in a sentence, of connections that were turned away; nil: nobody is.
	Refused func(reason string)

	ours func(uid int) bool // for tests; nil: frame.Ours
}

// Server listens on a socket and serves methods on every connection, until Close.
type Server struct {
	methods Methods
	opt     Options
	place   *place
	socket  net.Listener
	accepts sync.WaitGroup
	stop    chan struct{} // closed by Close

	mu    sync.Mutex         // guards all below
	conns map[*Conn]struct{} // nil: closing
}

// Listen makes a socket at a path, mode 0600 in a directory that nobody else can enter, and serves the methods there.
// A directory that is missing is made; a socket that a killed server left is removed. The error is ErrInUse when a
// server listens there, also when several are started at once, and ErrPath when none can.
func Listen(ctx context.Context, path string, methods Methods, opt Options) (*Server, error) {
	if opt.ours == nil {
		opt.ours = frame.Ours
	}
	if opt.Refused == nil {
		opt.Refused = func(string) {}
	}
	p, err := takePlace(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", path, err)
	}
	socket, err := p.bind()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s: %w", path, err), p.leave())
	}
	s := &Server{methods: methods, opt: opt, place: p, socket: socket, stop: make(chan struct{}), conns: map[*Conn]struct{}{}}
	s.accepts.Go(s.accept)
	return s, nil
}

// Close begins no further request, cancels those in hand with ErrClosing, waits for them and sends their answers,
// until ctx ends at the longest; then the socket is removed.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	conns := s.conns
	s.conns = nil
	s.mu.Unlock()
	if conns == nil {
		return nil
	}
	close(s.stop)
	err := s.socket.Close()
	s.accepts.Wait()
	var closing sync.WaitGroup
	errs := make(chan error, len(conns))
	for c := range conns {
		closing.Go(func() { errs <- c.Close(ctx) })
	}
	closing.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return errors.Join(err, s.place.leave())
}

// retryAccept is the pause after an accept that failed: out of descriptors, most likely.
const retryAccept = 50 * time.Millisecond

func (s *Server) accept() {
	for {
		raw, err := s.socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			s.opt.Refused(err.Error())
			select {
			case <-s.stop:
				return
			case <-time.After(retryAccept):
			}
			continue
		}
		s.serve(raw)
	}
}

// serve starts a connection, or turns it away.
func (s *Server) serve(raw net.Conn) {
	pid, uid, err := frame.Peer(raw)
	if err != nil || !s.opt.ours(uid) {
		_ = raw.Close()
		s.opt.Refused(fmt.Sprintf("process %d of user %d connected, and was turned away", pid, uid))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == nil {
		_ = raw.Close()
		return
	}
	if len(s.conns) >= MaxConns {
		full := answerTo(nil, nil, Errorf(Unavailable, "there are %d connections, which is as many as there can be", MaxConns))
		_ = raw.SetWriteDeadline(time.Now().Add(flushWithin)) // nothing was written to it yet, so there is room
		_, _ = raw.Write(append(full, '\n'))
		_ = raw.Close()
		return
	}
	c := newConn(raw, MaxLine, s.methods)
	s.conns[c] = struct{}{}
	s.accepts.Go(func() { // ends before the connection does, when the server is closed
		select {
		case <-c.done:
			s.mu.Lock()
			delete(s.conns, c) // of a nil map that is nothing
			s.mu.Unlock()
		case <-s.stop:
		}
	})
}

// Dial connects to a server of this user's. methods are those that the server can call or, most of all, notify; nil:
// none. Close the connection.
func Dial(ctx context.Context, path string, methods Methods) (*Conn, error) {
	if len(path) > frame.MaxSocketPath {
		return nil, fmt.Errorf("socket %s: the path has %d bytes, a socket's can have %d", path, len(path), frame.MaxSocketPath)
	}
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("no server answers: %w", err)
	}
	if _, uid, err := frame.Peer(raw); err != nil || !frame.Ours(uid) {
		return nil, errors.Join(fmt.Errorf("the server on %s is one of user %d, not of yours", path, uid), raw.Close())
	}
	return newConn(raw, maxAnswer+maxID, methods), nil
}
