package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is a context within which everything that is not a hang is over.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kr") //nolint:usetesting // sockets need a short path; that of t.TempDir carries the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// listen serves methods until the test ends, and checks that nothing is left then.
func listen(t *testing.T, methods Methods) (*Server, string) {
	t.Helper()
	path := socketPath(t)
	s, err := Listen(soon(t), path, methods, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(soon(t)); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	return s, path
}

func dial(t *testing.T, path string, methods Methods) *Conn {
	t.Helper()
	c, err := Dial(soon(t), path, methods)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(soon(t)) })
	return c
}

// line is a peer that writes and reads lines as they are.
type line struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func open(t *testing.T, path string) *line {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return &line{t: t, conn: conn, in: bufio.NewReader(conn)}
}

func (l *line) send(text string) {
	l.t.Helper()
	if _, err := l.conn.Write([]byte(text)); err != nil {
		l.t.Fatal(err)
	}
}

// answer is what a test looks at in what comes back.
type answer struct {
	Version string
	ID      json.RawMessage
	Method  string
	Params  json.RawMessage
	Result  json.RawMessage
	Error   *Error
}

func (l *line) receive(into any) {
	l.t.Helper()
	text, err := l.in.ReadBytes('\n')
	if err != nil {
		l.t.Fatalf("nothing came: %v", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		l.t.Fatalf("%.200q: %v", text, err)
	}
}

func (l *line) ask(text string) answer {
	l.t.Helper()
	l.send(text + "\n")
	var a answer
	l.receive(&a)
	return a
}

// echo answers with its params.
func echo(_ context.Context, r *Request) Work {
	return func() (any, error) { return r.Params, nil }
}

// waiter is a method that waits until it is told to end, or cancelled.
type waiter struct {
	begun chan string // ids
	ended chan error  // the cause; nil: it was told to
	goOn  chan struct{}
}

func newWaiter() *waiter {
	return &waiter{begun: make(chan string, 5000), ended: make(chan error, 5000), goOn: make(chan struct{})}
}

func (w *waiter) method(ctx context.Context, r *Request) Work {
	w.begun <- string(r.ID)
	return func() (any, error) {
		select {
		case <-w.goOn:
			w.ended <- nil
			return "done", nil
		case <-ctx.Done():
			w.ended <- context.Cause(ctx)
			return nil, Errorf(3, "stopped: %v", context.Cause(ctx))
		}
	}
}

func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not come", what)
		panic("not reached")
	}
}

// asError is the error of a peer.
func asError(t *testing.T, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no error of a peer", err)
	}
	return e
}

func request(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}
