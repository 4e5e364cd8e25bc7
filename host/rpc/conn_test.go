package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCallsAndTheirAnswers(t *testing.T) {
	_, path := listen(t, Methods{
		"echo":  echo,
		"fail":  func(context.Context, *Request) Work { return Fail(Errorf(7, "no").With(map[string]int{"n": 1})) },
		"plain": func(context.Context, *Request) Work { return Fail(errors.New("broken")) },
		"none":  func(context.Context, *Request) Work { return nil },
		"panic": func(context.Context, *Request) Work { return func() (any, error) { panic("oh") } },
		"early": func(context.Context, *Request) Work { panic("oh") },
		"unfit": func(context.Context, *Request) Work { return func() (any, error) { return make(chan int), nil } },
		"huge": func(context.Context, *Request) Work {
			return func() (any, error) { return strings.Repeat("x", maxAnswer), nil }
		},
	})
	c := dial(t, path, nil)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			var got map[string]string
			want := fmt.Sprintf("<%d> \u2028 ‹", i)
			if err := c.Call(soon(t), "echo", map[string]string{"v": want}, &got); err != nil || got["v"] != want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if err := c.Call(soon(t), "none", nil, nil); err != nil {
		t.Error(err)
	}
	for method, code := range map[string]int{
		"fail": 7, "plain": InternalError, "panic": InternalError, "early": InternalError, "unfit": InternalError,
		"huge": InternalError, "nope": MethodNotFound,
	} {
		e := asError(t, c.Call(soon(t), method, nil, nil))
		if e.Code != code || e.Message == "" || (string(e.Data) == `{"n":1}`) != (method == "fail") {
			t.Errorf("%s: %+v", method, e)
		}
	}
}

// What goes wrong is told, with the id where there is one, and the connection goes on.
func TestGarbageIsRefusedAndTheConnectionGoesOn(t *testing.T) {
	_, path := listen(t, Methods{"echo": echo})
	l := open(t, path)
	deep := strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)
	for _, c := range []struct {
		line, id string
		code     int
		words    string
	}{
		{`garbage`, "null", ParseError, "no JSON"},
		{`{"jsonrpc":"2.0","id":1,"method":"echo"`, "null", ParseError, "no JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "null", ParseError, "UTF-8"},
		{`{"jsonrpc":"2.0"} {"jsonrpc":"2.0"}`, "null", ParseError, "no JSON"},
		{deep, "null", ParseError, "depth"},
		{`{"jsonrpc":"2.0","id":1,"method":"echo","params":` + deep + `}`, "null", ParseError, "depth"},
		{`5`, "null", InvalidRequest, "object"},
		{`null`, "null", InvalidRequest, "object"},
		{`{}`, "null", InvalidRequest, "jsonrpc"},
		{`{"id":4,"method":"echo"}`, "4", InvalidRequest, "jsonrpc"},
		{`{"jsonrpc":"2.0","id":"a","Method":"echo"}`, `"a"`, InvalidRequest, "method"},
		{`{"jsonrpc":"2.0","id":"a","method":5}`, `"a"`, InvalidRequest, "method"},
		{`{"jsonrpc":"2.0","id":null,"method":"echo"}`, "null", InvalidRequest, "null is none"},
		{`{"jsonrpc":"2.0","id":{},"method":"echo"}`, "null", InvalidRequest, "id"},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 200) + `","method":"echo"}`, "null", InvalidRequest, "128 bytes"},
		{`{"jsonrpc":"2.0","id":1,"method":"nope"}`, "1", MethodNotFound, "there are echo"},
		{`[]`, "null", InvalidRequest, "empty"},
		{"[" + strings.Repeat("1,", 100) + "1]", "null", InvalidRequest, "101"},
	} {
		a := l.ask(c.line)
		if a.Error == nil || a.Error.Code != c.code || string(a.ID) != c.id || !strings.Contains(a.Error.Message, c.words) {
			t.Errorf("%.80q: %s %+v", c.line, a.ID, a.Error)
		}
	}
	// No answer is due to these.
	l.send("\n  \r\n" + `{"jsonrpc":"2.0","method":"nope"}` + "\n" + `{"jsonrpc":"2.0","id":9,"result":1}` + "\n" +
		`[{"jsonrpc":"2.0","method":"nope"}]` + "\n" + `{"jsonrpc":"2.0","method":"$/cancelRequest","params":7}` + "\n")
	if a := l.ask(request(10, "echo", `{"a":1}`)); string(a.ID) != "10" || string(a.Result) != `{"a":1}` {
		t.Errorf("after all: %s %s", a.ID, a.Result)
	}
}

func TestBatchesAreAnsweredAsOne(t *testing.T) {
	_, path := listen(t, Methods{"echo": echo})
	l := open(t, path)
	l.send("[" + request(1, "echo", "[1]") + `,5,{"jsonrpc":"2.0","method":"echo"},` + request(2, "nope", "[]") + "]\n")
	var got []answer
	l.receive(&got)
	codes := map[string]int{}
	for _, a := range got {
		if a.Error != nil {
			codes[string(a.ID)] = a.Error.Code
		} else {
			codes[string(a.ID)] = len(a.Result)
		}
	}
	if len(got) != 3 || codes["1"] != 3 || codes["null"] != InvalidRequest || codes["2"] != MethodNotFound {
		t.Errorf("got %+v", got)
	}
}

// Requests are begun in the order in which they came, though each is worked off by itself.
func TestRequestsAreBegunInOrder(t *testing.T) {
	w := newWaiter()
	_, path := listen(t, Methods{"wait": w.method})
	l := open(t, path)
	var all strings.Builder
	for i := range 500 {
		all.WriteString(request(i, "wait", "{}") + "\n")
	}
	l.send(all.String())
	for i := range 500 {
		if id := receive(t, "a request", w.begun); id != fmt.Sprint(i) {
			t.Fatalf("request %s was begun as number %d", id, i)
		}
	}
	close(w.goOn)
}

// Why a request ends is told to what works it off.
func TestHowRequestsAreCancelled(t *testing.T) {
	w := newWaiter()
	s, path := listen(t, Methods{"wait": w.method})
	t.Run("by its caller", func(t *testing.T) {
		c := dial(t, path, nil)
		ctx, cancel := context.WithCancelCause(soon(t))
		done := make(chan error, 1)
		go func() { done <- c.Call(ctx, "wait", nil, nil) }()
		receive(t, "the request", w.begun)
		mine := errors.New("mine")
		cancel(mine)
		if err := receive(t, "the call's end", done); !errors.Is(err, mine) {
			t.Error(err)
		}
		if cause := receive(t, "the work's end", w.ended); !errors.Is(cause, ErrCancelled) {
			t.Error(cause)
		}
	})
	t.Run("by a line right behind it", func(t *testing.T) {
		l := open(t, path)
		a := l.ask(request(`"x"`, "wait", "{}") + "\n" + `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}`)
		if string(a.ID) != `"x"` || a.Error == nil || a.Error.Code != 3 {
			t.Errorf("got %+v", a)
		}
		receive(t, "the request", w.begun)
		if cause := receive(t, "the work's end", w.ended); !errors.Is(cause, ErrCancelled) {
			t.Error(cause)
		}
	})
	t.Run("by going away", func(t *testing.T) {
		l := open(t, path)
		l.send(request(1, "wait", "{}") + "\n")
		receive(t, "the request", w.begun)
		_ = l.conn.Close()
		if cause := receive(t, "the work's end", w.ended); !errors.Is(cause, ErrGone) {
			t.Error(cause)
		}
	})
	t.Run("by the server's end", func(t *testing.T) {
		l := open(t, path)
		l.send(request(1, "wait", "{}") + "\n")
		receive(t, "the request", w.begun)
		if err := s.Close(soon(t)); err != nil {
			t.Error(err)
		}
		if cause := receive(t, "the work's end", w.ended); !errors.Is(cause, ErrClosing) {
			t.Error(cause)
		}
		var a answer
		l.receive(&a)
		if a.Error == nil || a.Error.Code != 3 {
			t.Errorf("the caller was told %+v", a)
		}
		if _, err := Dial(soon(t), path, nil); err == nil {
			t.Error("somebody answers still")
		}
	})
}

// While a server ends it begins nothing; what does not end keeps it no longer than it was told.
func TestAServerThatIsEnding(t *testing.T) {
	hold, begun := make(chan struct{}), make(chan struct{}, 1)
	s, path := listen(t, Methods{
		"stubborn": func(context.Context, *Request) Work {
			return func() (any, error) { begun <- struct{}{}; <-hold; return nil, nil }
		},
		"echo": echo,
	})
	l := open(t, path)
	l.send(request(1, "stubborn", "{}") + "\n")
	receive(t, "the request", begun)
	ctx, cancel := context.WithCancelCause(context.Background())
	closed := make(chan error, 1)
	go func() { closed <- s.Close(ctx) }()
	for l.ask(request(2, "echo", "{}")).Error == nil { // until it has heard
		time.Sleep(time.Millisecond) //nolint:forbidigo // each try is a request
	}
	if a := l.ask(request(3, "echo", "{}")); a.Error == nil || a.Error.Code != Unavailable || !strings.Contains(a.Error.Message, "ending") {
		t.Errorf("got %+v", a.Error)
	}
	cancel(errors.New("long enough"))
	if err := receive(t, "the end", closed); err == nil || !strings.Contains(err.Error(), "long enough") {
		t.Error(err)
	}
	close(hold)
}

// There can be so many requests in hand, and a further one is told so; a cancel gets through.
func TestRequestsInHandAreBounded(t *testing.T) {
	w := newWaiter()
	_, path := listen(t, Methods{"wait": w.method})
	l := open(t, path)
	var all strings.Builder
	for i := range MaxInHand {
		all.WriteString(request(i, "wait", "{}") + "\n")
	}
	l.send(all.String())
	if a := l.ask(request(`"more"`, "wait", "{}")); string(a.ID) != `"more"` || a.Error == nil || a.Error.Code != Unavailable {
		t.Errorf("got %+v", a)
	}
	if a := l.ask(request(7, "wait", "{}")); a.Error == nil || a.Error.Code != InvalidRequest || !strings.Contains(a.Error.Message, "id 7") {
		t.Errorf("got %+v", a)
	}
	l.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}` + "\n")
	var a answer
	if l.receive(&a); string(a.ID) != "7" {
		t.Errorf("got %+v", a)
	}
}
