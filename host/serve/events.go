package serve

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// eventMethod is the notification that tells of a call.
const eventMethod = "agent.event"

// event is what a caller is told while its call waits and runs. Texts are safe for display.
type event struct {
	Call string          `json:"call"` // as agent.list names it
	ID   json.RawMessage `json:"id"`   // of the request
	Kind session.Kind    `json:"kind"` // queued, opened, resync, or a session's

	Position int    `json:"position,omitempty"` // of queued: in the line, from 1
	Session  string `json:"session,omitempty"`  // of opened
	Missed   int    `json:"missed,omitempty"`   // of resync: how many events were left out here; 0: it is not known

	Seq     uint64     `json:"seq,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Turn    int        `json:"turn,omitempty"`
	Key     string     `json:"key,omitempty"`
	Tool    string     `json:"tool,omitempty"`
	Text    string     `json:"text,omitempty"`
	Path    []string   `json:"path,omitempty"` // of the sub-agent that it comes from
	Failed  bool       `json:"failed,omitempty"`
	Stopped bool       `json:"stopped,omitempty"`
}

// maxText is what of one event's text is sent, in bytes; the result has all of it.
const maxText = 64 << 10

// reporter tells a caller of its call. It never waits for one that does not read: what it has not told, it counts.
type reporter struct {
	call *call
	on   bool
	work sync.WaitGroup
	stop context.CancelFunc // nil: it follows nothing

	missed int // by the goroutine that sends
	gap    bool
}

// follow tells what happens in the session from now on, until it is closed.
func (r *reporter) follow(s *session.Session) {
	if !r.on {
		return
	}
	snap, err := s.Snapshot(context.Background())
	if err != nil {
		return // a local session always has one
	}
	r.send(event{Kind: "opened", Session: snap.ID})
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.work.Go(func() {
		for after := snap.Last; ; {
			batch, err := s.Events(ctx, after)
			if err != nil {
				break // it is closed, or could not be
			}
			r.gap = r.gap || batch.Resync
			for _, e := range batch.Events {
				after = e.Seq
				r.tell(e)
			}
		}
		r.resync(true)
	})
}

// wait waits for the last event of a session that was closed; of one that was not, for none.
func (r *reporter) wait(closed bool) {
	if r.stop == nil {
		return
	}
	if !closed {
		r.stop()
	}
	r.work.Wait()
	r.stop()
}

func (r *reporter) tell(e session.Event) {
	if e.Kind == session.Changed {
		return
	}
	r.send(event{
		Kind: e.Kind, Seq: e.Seq, Time: &e.Time, Turn: e.Turn, Key: e.Key, Tool: e.Tool, Text: cutText(e.Text), Path: e.Path,
		Failed: e.Failed, Stopped: e.Stopped,
	})
}

func (r *reporter) send(e event) {
	if !r.on {
		return
	}
	if !r.resync(false) || !r.notify(e, false) {
		r.missed++
	}
}

// resync tells of what was left out, and reports whether nothing is untold any more. must tells it in any case.
func (r *reporter) resync(must bool) bool {
	if r.missed == 0 && !r.gap {
		return true
	}
	if !r.notify(event{Kind: "resync", Missed: r.missed}, must) {
		return false
	}
	r.missed, r.gap = 0, false
	return true
}

func (r *reporter) notify(e event, must bool) bool {
	e.Call, e.ID = r.call.name(), r.call.request.ID
	return !errors.Is(r.call.request.Conn.Notify(eventMethod, e, must), rpc.ErrBehind)
}

// cutText keeps whole characters.
func cutText(s string) string {
	if len(s) <= maxText {
		return s
	}
	at := maxText
	for !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + "…"
}
