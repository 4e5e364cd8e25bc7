package control

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
)

// GuestParams is what a program that no kitsoki started asks the operator of one.
type GuestParams struct {
	Agent     string          // who asks, such as "shell"
	Dir       string          // where it works
	Parent    string          // the program that it runs under, such as "deploy.sh (4711)"
	ToolUseID string          // of an agent's tool call; empty: none
	Arguments json.RawMessage // as of the tool: {"questions":[…]}, read by askbridge.Decode
	Wait      time.Duration   // 0: the default of who is asked

	// Deadline is told until when the ask waits, first and whenever that moves; nil: nobody is. It must not block,
	// nor call the client.
	Deadline func(time.Time)
}

// A guest gives up by itself when the other end is silent: from the request to the word that it was accepted, and after
// the last deadline that it was told.
const (
	guestAccepted = 20 * time.Second
	guestGrace    = 10 * time.Second
)

// GuestAnswer is an operator's answer.
type GuestAnswer struct {
	ID      string            // question_id
	Answers map[string]any    // by question text: a string, or a list of strings
	Notes   map[string]string // likewise; nil: none
	Mended  []askbridge.Note  // in the arguments
}

// GuestRefused is the error of an ask that was not answered. Outcome is that of a host.Outcome, "invalid" for arguments
// that cannot be shown, or "limit"; the words are fit for a model.
type GuestRefused struct{ Outcome, Words string }

func (e *GuestRefused) Error() string { return e.Words }

// Never reports that the operator was not asked: there was nobody, or the ask was refused on arrival.
func (e *GuestRefused) Never() bool {
	return e.Outcome == "invalid" || e.Outcome == "limit" || e.Outcome == string(host.NoOperator)
}

// GuestAsk asks the operator of the process at the other end and waits for the answer. When ctx ends first, the ask is
// withdrawn as cancelled; a lost connection withdraws it as asker_gone. What is not an answer is a *GuestRefused, or the
// error of a connection. Say with Delivered what became of an answer.
func (c *Client) GuestAsk(ctx context.Context, p GuestParams) (GuestAnswer, error) {
	id := host.NewID()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	silent := time.AfterFunc(guestAccepted, func() {
		giveUp(&GuestRefused{Outcome: string(host.NoOperator), Words: "the kitsoki that was asked does not reply; proceed without this input"})
	})
	defer silent.Stop()
	var last *time.Timer // set by the one goroutine that reads
	c.mu.Lock()
	c.deadlines[id] = func(d time.Time) {
		silent.Stop()
		if last != nil {
			last.Stop()
		}
		last = time.AfterFunc(time.Until(d)+guestGrace, func() {
			giveUp(&GuestRefused{Outcome: string(host.TimedOut), Words: "operator did not answer; proceed without this input (outcome: timed_out; reason: the kitsoki that was asked does not reply)"})
		})
		if p.Deadline != nil {
			p.Deadline(d)
		}
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.deadlines, id)
		if last != nil { // nobody sets it any more: news are told under the lock
			last.Stop()
		}
	}()
	var got guestFinal
	err := c.conn.Call(ctx, methodGuest, struct {
		ID        string          `json:"question_id"`
		Agent     string          `json:"agent"`
		Dir       string          `json:"dir,omitempty"`
		Parent    string          `json:"parent,omitempty"`
		ToolUseID string          `json:"tool_use_id,omitempty"`
		Arguments json.RawMessage `json:"arguments"`
		Wait      float64         `json:"wait_seconds,omitempty"`
	}{id, p.Agent, p.Dir, p.Parent, p.ToolUseID, p.Arguments, p.Wait.Seconds()}, &got)
	var e *rpc.Error
	var end guestEnd
	var gaveUp *GuestRefused
	switch {
	case errors.As(err, &gaveUp):
		return GuestAnswer{}, gaveUp
	case errors.As(err, &e) && json.Unmarshal(e.Data, &end) == nil && end.Outcome != "":
		return GuestAnswer{}, &GuestRefused{Outcome: end.Outcome, Words: e.Message}
	case err != nil:
		return GuestAnswer{}, err
	}
	return GuestAnswer{ID: got.ID, Answers: got.Answers, Notes: got.Notes, Mended: got.Mended}, nil
}

// Delivered says whether an answer was passed on to who needs it. An answer of which nobody says so in ten seconds, or
// before the connection ends, counts as lost.
func (c *Client) Delivered(ctx context.Context, a GuestAnswer, ok bool) error {
	return c.call(ctx, methodGuestDelivered, struct {
		ID string `json:"question_id"`
		OK bool   `json:"delivered"`
	}{a.ID, ok}, nil)
}

// guestNews takes a notification.
func (c *Client) guestNews(_ context.Context, r *rpc.Request) rpc.Work {
	var news guestNews
	if json.Unmarshal(r.Params, &news) != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if tell := c.deadlines[news.ID]; tell != nil {
		tell(news.Deadline)
	}
	return nil
}
