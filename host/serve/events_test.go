package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
)

// endings are the ends of turns in a trace.
func endings(t *testing.T, path string) (out []trace.TurnEnded) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for rd := trace.NewReader(f); ; {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, err := rec.Decode(); err == nil {
			if end, ok := e.(trace.TurnEnded); ok {
				out = append(out, end)
			}
		}
	}
}

// A caller that wants events is told of its call alone, from the first to the last, before the result; the texts are
// safe. One that does not want them is told nothing.
func TestEventsOfACall(t *testing.T) {
	r := serving(t, 0, func(_ context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		obs.Event(agent.Text{MessageID: "m", Text: "\x1b[31m" + req.Prompt}, nil)
		obs.Event(agent.Text{MessageID: "n", Text: strings.Repeat("é", maxText)}, nil)
		return agent.Result{Text: "end"}, nil
	})
	c := r.dial()
	if _, err := c.call("ask", params1{"prompt": "quiet"}); err != nil || len(c.events) > 0 {
		t.Errorf("%d events, %v", len(c.events), err)
	}
	for turn := 1; turn <= 2; turn++ {
		p := params1{"prompt": "loud", "events": true}
		if turn == 2 { // what was before is not told again
			p["session"] = "last"
		}
		got, err := c.call("ask", p)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []session.Kind
		for len(c.events) > 0 {
			e := <-c.events
			kinds = append(kinds, e.Kind)
			if e.Call == "" || string(e.ID) != fmt.Sprint(turn+1) || strings.Contains(e.Text, "\x1b") || len(e.Text) > maxText+len("…") {
				t.Errorf("got %.300v", e)
			}
			if e.Kind == "opened" && e.Session != got.Session || e.Kind == session.Said && e.Key == "m" && e.Text != "‹ESC›[31mloud" {
				t.Errorf("got %+v", e)
			}
		}
		if want := []session.Kind{"opened", session.TurnStarted, session.Said, session.Said, session.TurnEnded}; !slices.Equal(kinds, want) {
			t.Errorf("turn %d: %v", turn, kinds)
		}
	}
}

// A caller that does not read holds no agent up, is told later that it missed something, and gets its result.
func TestACallerThatDoesNotReadItsEvents(t *testing.T) {
	const lines = 5000
	finished := make(chan struct{})
	r := serving(t, 0, func(_ context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
		if req.Prompt == "flood" {
			defer close(finished)
			for i := range lines {
				obs.Event(agent.Text{MessageID: fmt.Sprint(i), Text: strings.Repeat("x", 1000)}, nil)
			}
		}
		return agent.Result{Text: "end"}, nil
	})
	conn, err := net.Dial("unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, `{"jsonrpc":"2.0","id":"f","method":"agent.task","params":{"prompt":"flood","events":true}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	receive(t, "the end of the agent", finished)
	if got, err := r.dial().call("ask", params1{"prompt": "p"}); err != nil || got.Text != "end" {
		t.Errorf("another caller got %+v, %v", got, err)
	}
	told, missed, last := 0, 0, ""
	for in := bufio.NewReader(conn); last != "result"; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     string
			Params event
			Result *session.Report
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		switch {
		case m.ID == "f":
			if m.Result == nil || m.Result.Text != "end" || last != "resync" && last != string(session.TurnEnded) {
				t.Errorf("after %s: %.300s", last, line)
			}
			last = "result"
			continue
		case m.Params.Kind == "resync":
			missed += m.Params.Missed
		case m.Params.Kind != "opened":
			told++
		}
		last = string(m.Params.Kind)
	}
	if missed == 0 || told+missed != lines+2 { // and how the turn began and ended
		t.Errorf("%d events were told, %d missed", told, missed)
	}
}
