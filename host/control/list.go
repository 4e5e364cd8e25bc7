package control

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
)

// Ended is an ask that was settled lately.
type Ended struct {
	ID        string       `json:"question_id"`
	SessionID string       `json:"session_id"`
	Outcome   host.Outcome `json:"outcome"`
	Surface   string       `json:"surface,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	At        time.Time    `json:"at"`
}

// keptEnds is how many ends a process remembers, to tell those who come later how an ask ended.
const keptEnds = 256

func (f *Feed) keepLocked(id, sessionID string, end host.Resolution) {
	if len(f.past) == keptEnds {
		f.past = slices.Delete(f.past, 0, 1)
	}
	f.past = append(f.past, Ended{ID: id, SessionID: sessionID, Outcome: end.Outcome, Surface: surface(end.Surface), Reason: end.Reason, At: time.Now()})
}

// ended says how an ask ended, if that was lately.
func (f *Feed) ended(id string) (Ended, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range slices.Backward(f.past) {
		if e.ID == id {
			return e, true
		}
	}
	return Ended{}, false
}

// Row is the ask as a piece of work.
func (q *Question) Row(now time.Time) Row {
	row := Row{
		Kind: RowQuestion, SessionID: q.SessionID, Title: q.Title, Who: who(q.Asker), Dir: q.Asker.Dir, PID: q.PID, ID: q.ID, Ask: q.Kind,
		AgeMS: now.Sub(q.Opened).Milliseconds(), Deadline: &q.Deadline, Guest: q.Guest,
	}
	for _, one := range q.Questions {
		row.Headers, row.Questions = append(row.Headers, one.Header), append(row.Questions, one.Question)
	}
	return row
}

// Info is the ask as surfaces know it.
func (q *Question) Info() host.AskInfo { return q.info() }

// Asks are those of a process.
type Asks struct {
	Questions []*Question `json:"questions"` // open, oldest first
	Ended     []Ended     `json:"ended"`     // lately; only those that were asked for by the beginning of an id
}

// list answers with the open asks and, where an id or the beginning of one is given, those that ended lately.
func (s *Server) list(raw json.RawMessage) (any, error) {
	var sessionID, prefix string
	if err := rpc.Params(raw,
		rpc.Field{Name: "session_id", Want: "a string; left out: all", Into: &sessionID},
		rpc.Field{Name: "prefix", Want: "the beginning of a question_id", Into: &prefix},
	).Err(); err != nil {
		return nil, err
	}
	of := func(id string) bool { return sessionID == "" || id == sessionID }
	out := Asks{Questions: s.opt.Feed.questions(of), Ended: []Ended{}}
	if prefix == "" {
		return out, nil
	}
	out.Questions = slices.DeleteFunc(out.Questions, func(q *Question) bool { return !strings.HasPrefix(q.ID, prefix) })
	s.opt.Feed.mu.Lock()
	defer s.opt.Feed.mu.Unlock()
	for _, e := range s.opt.Feed.past {
		if of(e.SessionID) && strings.HasPrefix(e.ID, prefix) {
			out.Ended = append(out.Ended, e)
		}
	}
	return out, nil
}

// Asks lists the open asks whose id begins like this, and those that ended lately; of an empty prefix all that are open.
func (c *Client) Asks(ctx context.Context, prefix string) (Asks, error) {
	var got Asks
	return got, c.call(ctx, methodList, struct {
		Prefix string `json:"prefix,omitempty"`
	}{prefix}, &got)
}

// Ask is a handle on an ask of the process at the other end, for a surface of that name. It does not follow what happens
// to the ask: its Info stays as q is.
func (c *Client) Ask(q *Question, surface string) host.Ask {
	return newRemoteAsk(c, *q, surface, func(error) {})
}
