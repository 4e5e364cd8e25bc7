package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// Limits of guests. Whoever names another parent gets further places, hence the one for all.
const (
	guestOpen      = 8  // asks of one parent at once
	guestPerMinute = 20 // of one parent
	guestOpenAll   = 64 // asks of all guests at once
	guestParents   = 512
	guestDelivers  = 10 * time.Second // from an answer to the word that it was passed on
)

// guests are those who ask and were not started by this process.
type guests struct {
	work sync.WaitGroup // answers whose word of delivery is awaited

	mu        sync.Mutex // guards all below
	open      int
	parents   map[string]*guestParent
	delivered map[string]chan bool // by question_id
}

// guestParent is what one parent has used up.
type guestParent struct {
	open int
	rate *rate.Limiter
}

// guestFinal is the answer to a guest.
type guestFinal struct {
	Answers map[string]any    `json:"answers"`
	Notes   map[string]string `json:"notes,omitempty"`
	ID      string            `json:"question_id"`
	Mended  []askbridge.Note  `json:"mended,omitempty"` // in the arguments
}

// guestEnd is the data of a guest's ask that was not answered.
type guestEnd struct {
	Outcome string `json:"outcome"`
}

// guestNews tells a guest until when its ask waits.
type guestNews struct {
	ID       string    `json:"question_id"`
	Deadline time.Time `json:"deadline"`
}

// guestCall is a guest's ask as it came.
type guestCall struct {
	id, agent, dir, parent, toolUse string
	questions, arguments            json.RawMessage
	wait                            float64
}

func (g *guestCall) read(raw json.RawMessage) error {
	f := rpc.Params(raw,
		rpc.Field{Name: "question_id", Want: "a string; left out: one is made", Into: &g.id},
		rpc.Field{Name: "agent", Want: "a string, who asks", Into: &g.agent},
		rpc.Field{Name: "dir", Want: "a string, where it works", Into: &g.dir},
		rpc.Field{Name: "parent", Want: "a string, the program that it runs under", Into: &g.parent},
		rpc.Field{Name: "tool_use_id", Want: "a string", Into: &g.toolUse},
		rpc.Field{Name: "questions", Want: "a list of questions", Into: &g.questions},
		rpc.Field{Name: "arguments", Want: "the arguments of the tool as they came", Into: &g.arguments},
		rpc.Field{Name: "wait_seconds", Want: "a number above 0", Into: &g.wait},
	)
	if g.id == "" {
		g.id = host.NewID()
	}
	if !plainID(g.id) {
		f.Add("question_id", "expected at most %d letters, digits, - and _", maxGuestID)
	}
	for name, text := range map[string]string{"agent": g.agent, "dir": g.dir, "parent": g.parent, "tool_use_id": g.toolUse} {
		if len(text) > maxGuestText {
			f.Add(name, "has %d bytes, %d can be shown", len(text), maxGuestText)
		}
	}
	if g.agent == "" {
		f.Add("agent", "expected a string, who asks")
	}
	if (g.questions == nil) == (g.arguments == nil) {
		f.Add("questions", "expected either questions or arguments")
	}
	if !(g.wait >= 0 && g.wait <= longest.Seconds()) {
		f.Add("wait_seconds", "expected a number above 0, at most %v", longest.Seconds())
	}
	if g.arguments == nil {
		g.arguments = json.RawMessage(fmt.Sprintf(`{"questions":%s}`, g.questions))
	}
	return f.Err()
}

const (
	maxGuestID   = 64
	maxGuestText = 4 << 10
)

func plainID(id string) bool {
	for _, r := range id {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_' {
			return false
		}
	}
	return id != "" && len(id) <= maxGuestID
}

// asker is who asks, as surfaces are told. A guest's words make it nothing but a guest.
func (g *guestCall) asker(string) host.Asker {
	a := host.Asker{Agent: g.agent, Dir: g.dir, Guest: true}
	if g.parent != "" {
		a.Path = []string{g.parent}
	}
	return a
}

// guestAsk puts the question of somebody who was not started by a kitsoki to this process's operator, and waits.
func (s *Server) guestAsk(ctx context.Context, r *rpc.Request) rpc.Work {
	return func() (any, error) {
		var g guestCall
		if err := g.read(r.Params); err != nil {
			return nil, err
		}
		release, err := s.guests.admit(g.parent, s.opt.now())
		if err != nil {
			return nil, err
		}
		defer release()
		if !s.opt.Manager.GuestsPresent() { // no session is opened for nothing
			return nil, guestFailed(codeNotAnswered, string(host.NoOperator), "nobody is at this kitsoki's terminal; proceed without this input, and say what you assumed")
		}
		qs, mended, err := askbridge.Decode(g.arguments, askbridge.DefaultLimits())
		if err != nil {
			return nil, guestFailed(codeInvalid, "invalid", err.Error())
		}
		one, done, err := s.opt.Manager.Guests()
		if err != nil {
			return nil, guestFailed(codeNotAnswered, string(host.HostClosing), err.Error())
		}
		final := s.guestBridge(one, &g).Ask(guestCause(ctx), askbridge.NewCall(g.id, g.toolUse, qs, mended, func(t time.Time) error {
			return r.Conn.Notify(methodGuestNews, guestNews{g.id, t}, true)
		}))
		if final.Error != "" {
			done()
			return nil, guestFailed(codeNotAnswered, final.Outcome, final.Error)
		}
		s.awaitDelivery(r.Conn, g.id, func(ok bool) {
			defer done()
			if final.Done != nil {
				final.Done(ok)
			}
		})
		return guestFinal{Answers: final.Answers, Notes: final.Notes, ID: g.id, Mended: mended}, nil
	}
}

func (s *Server) guestBridge(one *session.Session, g *guestCall) *host.Bridge {
	return host.NewBridge(host.BridgeOptions{
		Prompter: s.opt.Manager.Board(), SessionID: one.ID(), Wait: time.Duration(g.wait * float64(time.Second)),
		Asker: g.asker, Normalised: one.Normalised,
	})
}

func guestFailed(code int, outcome, words string) error {
	return rpc.Errorf(code, "%s", words).With(guestEnd{outcome})
}

// guestCause says in the words of the bridge how a caller went away.
func guestCause(ctx context.Context) context.Context {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { // which the end of the request brings about at the latest
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, rpc.ErrGone):
			cancel(askbridge.ErrAskerGone)
		case errors.Is(cause, rpc.ErrClosing):
			cancel(&host.Unanswered{Outcome: host.HostClosing, Reason: "kitsoki is closing"})
		default:
			cancel(askbridge.ErrCancelled)
		}
	})
	return out
}

// admit reserves a place for an ask of a parent, or says why there is none.
func (g *guests) admit(parent string, now time.Time) (release func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.parents[parent]
	if p == nil {
		g.forget(now)
		p = &guestParent{rate: rate.NewLimiter(rate.Every(time.Minute/guestPerMinute), guestPerMinute)}
	}
	switch {
	case g.open >= guestOpenAll, len(g.parents) >= guestParents:
		return nil, guestFailed(codeLimit, "limit", fmt.Sprintf("%d asks of guests are waiting for the operator already; try again later", g.open))
	case p.open >= guestOpen:
		return nil, guestFailed(codeLimit, "limit", fmt.Sprintf("%d asks of this program are waiting for the operator already; wait for their answers before asking more", p.open))
	case !p.rate.AllowN(now, 1):
		return nil, guestFailed(codeLimit, "limit", fmt.Sprintf("this program asks more than %d times a minute; put questions that belong together into one ask, and wait a minute", guestPerMinute))
	}
	if g.parents == nil {
		g.parents = map[string]*guestParent{}
	}
	g.parents[parent] = p
	p.open++
	g.open++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		p.open--
		g.open--
	}, nil
}

// forget drops parents that have used nothing up.
func (g *guests) forget(now time.Time) {
	for name, p := range g.parents {
		if p.open == 0 && p.rate.TokensAt(now) >= guestPerMinute {
			delete(g.parents, name)
		}
	}
}

// awaitDelivery waits beside the request for the word that its answer was passed on.
func (s *Server) awaitDelivery(conn *rpc.Conn, id string, told func(ok bool)) {
	word := make(chan bool, 1)
	s.guests.mu.Lock()
	if s.guests.delivered == nil {
		s.guests.delivered = map[string]chan bool{}
	}
	s.guests.delivered[id] = word
	s.guests.mu.Unlock()
	s.guests.work.Go(func() {
		timer := time.NewTimer(guestDelivers)
		defer timer.Stop()
		ok := false
		select {
		case ok = <-word:
		case <-conn.Gone():
			select { // both at once: the word came just before the end
			case ok = <-word:
			default:
			}
		case <-timer.C:
		}
		s.guests.mu.Lock()
		delete(s.guests.delivered, id)
		s.guests.mu.Unlock()
		told(ok)
	})
}

// guestDelivered takes the word of a guest that it has passed an answer on, or could not.
func (s *Server) guestDelivered(raw json.RawMessage) (any, error) {
	var id string
	var ok bool
	if err := rpc.Params(raw,
		rpc.Field{Name: "question_id", Want: "a string", Into: &id}, rpc.Field{Name: "delivered", Want: "true or false", Into: &ok},
	).Err(); err != nil {
		return nil, err
	}
	s.guests.mu.Lock()
	word := s.guests.delivered[id]
	delete(s.guests.delivered, id)
	s.guests.mu.Unlock()
	if word == nil {
		return nil, rpc.Errorf(codeUnknown, "no answer to %q is on its way", askbridge.Safe(id))
	}
	word <- ok // it holds one, and who took it out of the map alone sends
	return nil, nil
}
