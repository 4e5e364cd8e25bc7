package rpc

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A line of a megabyte is served, one over the limit refused in words; the next line is read.
func TestLongLines(t *testing.T) {
	_, path := listen(t, Methods{
		"echo": echo,
		"size": func(_ context.Context, r *Request) Work { return func() (any, error) { return len(r.Params), nil } },
	})
	l := open(t, path)
	params := `{"p":"` + strings.Repeat("x", 1<<20) + `"}`
	if a := l.ask(request(1, "echo", params)); string(a.Result) != params {
		t.Errorf("a megabyte came back as %d bytes, %+v", len(a.Result), a.Error)
	}
	fit := request(2, "size", `{"p":"`+strings.Repeat("x", MaxLine-200)+`"}`)
	if a := l.ask(fit); a.Error != nil {
		t.Errorf("%d bytes: %+v", len(fit), a.Error)
	}
	if a := l.ask(request(3, "size", `{"p":"`+strings.Repeat("x", 2*MaxLine)+`"}`)); a.Error == nil || a.Error.Code != ParseError || !strings.Contains(a.Error.Message, "4194304 bytes") {
		t.Errorf("got %+v", a.Error)
	}
	if a := l.ask(request(4, "echo", `{}`)); string(a.ID) != "4" || a.Error != nil {
		t.Errorf("got %+v", a)
	}
}

// A line without an end ends its connection, and takes no memory meanwhile.
func TestALineWithoutAnEndEndsItsConnection(t *testing.T) {
	_, path := listen(t, Methods{"echo": echo})
	l := open(t, path)
	before := heap()
	chunk := []byte(strings.Repeat("x", 1<<20))
	sent := 0
	for ; sent < 200; sent++ {
		if _, err := l.conn.Write(chunk); err != nil {
			break
		}
	}
	if sent < MaxLine>>20 || sent > 2*(MaxLine+maxSkip)>>20 {
		t.Errorf("the connection ended after %d MiB", sent)
	}
	if now := heap(); now > before+32<<20 {
		t.Errorf("the heap grew from %d to %d", before, now)
	}
	if l := open(t, path); l.ask(request(1, "echo", "{}")).Error != nil {
		t.Error("another connection suffers")
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Who notifies a peer that does not read never waits, is told, and the rest comes in order once the peer reads.
func TestAPeerThatDoesNotRead(t *testing.T) {
	ready := make(chan *Conn, 1)
	_, path := listen(t, Methods{"hello": func(_ context.Context, r *Request) Work { ready <- r.Conn; return nil }})
	l := open(t, path)
	l.ask(request(1, "hello", "{}"))
	server := receive(t, "the connection", ready)
	before := heap()
	text := strings.Repeat("x", 1000)
	sent := 0
	for range 10_000 {
		err := server.Notify("n", map[string]any{"n": sent, "text": text}, false)
		if err == nil {
			sent++
		} else if !errors.Is(err, ErrBehind) {
			t.Fatal(err)
		}
	}
	if sent < 1000 || sent > 2000 {
		t.Errorf("%d notifications of a kilobyte were taken", sent)
	}
	if now := heap(); now > before+8<<20 {
		t.Errorf("the heap grew from %d to %d", before, now)
	}
	if err := server.Notify("last", nil, true); err != nil {
		t.Error(err)
	}
	for n := 0; ; n++ {
		var a answer
		l.receive(&a)
		if a.Method == "last" {
			if n != sent {
				t.Errorf("%d came, %d were taken", n, sent)
			}
			break
		}
	}
	if err := server.Notify("n", nil, false); err != nil {
		t.Errorf("after it has read: %v", err)
	}
}

// A peer that asks and asks and reads nothing is cut off.
func TestAPeerThatAsksAndDoesNotRead(t *testing.T) {
	big := strings.Repeat("x", 8<<20)
	_, path := listen(t, Methods{"big": func(context.Context, *Request) Work { return func() (any, error) { return big, nil } }})
	l := open(t, path)
	for i := range 7 { // 56 MiB of answers
		l.send(request(i, "big", "{}") + "\n")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		if _, err := l.conn.Write([]byte("\n")); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it was not cut off")
		}
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	_, path := listen(t, Methods{"echo": echo})
	for range MaxConns {
		if l := open(t, path); l.ask(request(1, "echo", "{}")).Error != nil {
			t.Fatal("a connection is not served")
		}
	}
	l := open(t, path)
	var a answer
	if l.receive(&a); a.Error == nil || a.Error.Code != Unavailable {
		t.Errorf("got %+v", a)
	}
	if _, err := l.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("it is open still: %v", err)
	}
}

// Only our own user is served: whoever else connects is turned away, and that is told.
func TestAProcessOfAnotherUserIsTurnedAway(t *testing.T) {
	refused := make(chan string, 1)
	s, err := Listen(soon(t), socketPath(t), Methods{"echo": echo}, Options{
		Refused: func(reason string) { refused <- reason }, ours: func(int) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, s.place.path)
	if _, err := l.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("it was served: %v", err)
	}
	if why := receive(t, "the refusal", refused); !strings.Contains(why, "of user") {
		t.Error(why)
	}
	if err := s.Close(soon(t)); err != nil {
		t.Error(err)
	}
}

// Notifications reach the handler of their name in their order; a server can call its client too.
func TestAClientThatIsNotified(t *testing.T) {
	_, path := listen(t, Methods{"start": func(_ context.Context, r *Request) Work {
		return func() (any, error) {
			for i := range 100 {
				if err := r.Conn.Notify("n", []int{i}, false); err != nil {
					return nil, err
				}
			}
			var back string
			err := r.Conn.Call(context.Background(), "back", nil, &back)
			return back, err
		}
	}})
	var got []string
	c := dial(t, path, Methods{
		"n":    func(_ context.Context, r *Request) Work { got = append(got, string(r.Params)); return nil },
		"back": func(context.Context, *Request) Work { return func() (any, error) { return "here", nil } },
	})
	var back string
	if err := c.Call(soon(t), "start", nil, &back); err != nil || back != "here" {
		t.Errorf("got %q, %v", back, err)
	}
	if len(got) != 100 || got[0] != "[0]" || got[99] != "[99]" {
		t.Errorf("%d came: %v", len(got), got)
	}
}

func TestAServerThatGoesAway(t *testing.T) {
	w := newWaiter()
	s, path := listen(t, Methods{"wait": func(ctx context.Context, r *Request) Work {
		return func() (any, error) {
			work := w.method(ctx, r)
			_ = r.Conn.raw.Close()
			return work()
		}
	}})
	_ = s
	c := dial(t, path, nil)
	if err := c.Call(soon(t), "wait", nil, nil); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	<-c.Gone()
	if err := c.Call(soon(t), "wait", nil, nil); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
}
