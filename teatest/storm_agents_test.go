package teatest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/tui/surface"
)

// agentTurn is a turn that runs until the storm, or the operator, ends it.
type agentTurn struct {
	ctx  context.Context //nolint:containedctx // asks of this turn are made from outside of it
	done chan struct{}
	err  error // why it ended; read after done
}

func (t *agentTurn) finish(err error) {
	select {
	case <-t.done:
	default:
		t.err = err
		close(t.done)
	}
}

// maxPending bounds the open asks, each of which is laid out anew at every new size.
const maxPending = 6

var errBroken = errors.New("the agent broke")

// Run implements session.Runner. An agent takes a moment to stop.
func (s *storm) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	obs.Event(agent.Init{Conversation: "conversation-1", Model: "scripted"}, nil)
	obs.Event(agent.Text{MessageID: "m1", Text: "Working on it."}, nil)
	t := &agentTurn{ctx: ctx, done: make(chan struct{})}
	s.mu.Lock()
	s.turns[req.SessionID] = t
	if s.stop {
		t.finish(nil)
	}
	s.mu.Unlock()
	select {
	case <-t.done:
	case <-ctx.Done():
		t.err = context.Cause(ctx)
		<-time.After(300 * time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.turns, req.SessionID)
	return agent.Result{Conversation: "conversation-1", CostUSD: 0.01, Usage: agent.Usage{Input: 1200, Output: 34}}, t.err
}

func (s *storm) turnOf(w *watched) *agentTurn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns[w.ID()]
}

func (s *storm) endTurn(n int, well bool) {
	open := s.openSessions()
	if t := s.turnOf(open[n%len(open)]); t != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if well {
			t.finish(nil)
		} else {
			t.finish(errBroken)
		}
	}
}

// newAsk is an ask to be made.
type newAsk struct {
	session, asker int
	questions      []newQuestion
	twin           bool // in the words of an ask that is open
	hostile        bool
	wait           time.Duration
	action         *newAction // instead of questions: the host proposes it
}

type newQuestion struct {
	options               int
	multi, previews, long bool
}

func (a newAsk) String() string {
	return fmt.Sprintf("in session %d of asker %d, twin %v, hostile %v, wait %v, questions %+v", a.session, a.asker, a.twin, a.hostile, a.wait, a.questions)
}

// stormAsk is one ask. Its name is in who asks, its words in all that it says; only twins have the same words.
type stormAsk struct {
	id, name, words string
	questions       []host.OperatorQuestion
	proposal        *host.Proposal // nil: it is a question
	cancel          context.CancelCauseFunc

	// guarded by storm.mu
	over    bool
	answers map[string]any
	err     error
	other   host.Ask // of the other surface
	ended   int      // how often that was told of the end
	settled int      // successful answers and declines, of all surfaces
}

// Signs that no operator of a storm ever types.
const nameSign, wordsSign = "§", "¤"

// ask makes an ask in the turn of a session, which it starts if need be.
func (s *storm) ask(n newAsk) {
	open := s.openSessions()
	w := open[n.session%len(open)]
	if s.turnOf(w) == nil {
		_ = w.Session.StartTurn(s.ctx, "by another surface") // not while it closes
		s.settle()
	}
	turn := s.turnOf(w)
	if turn == nil || len(s.pending()) >= maxPending {
		return
	}
	board, ok := host.OperatorPrompterFrom(turn.ctx)
	if !ok {
		return
	}
	number := len(s.asks) + 1
	a := &stormAsk{id: fmt.Sprintf("ask-%d", number), name: fmt.Sprintf("%s%d%s", nameSign, number, nameSign)}
	if n.action == nil {
		a.words, a.questions = s.wordsOf(n, number)
	} else {
		a.words, a.questions, a.proposal = n.action.make(number)
	}
	ctx, cancel := context.WithCancelCause(turn.ctx)
	a.cancel = cancel
	asker := host.Asker{Agent: a.name, Dir: fmt.Sprintf("/src/%d", n.asker)}
	if n.asker > 1 {
		asker.Path = []string{"tests"}
	}
	req := host.AskRequest{ID: a.id, Asker: asker, Wait: n.wait}
	if a.proposal != nil {
		req.Kind, req.Proposal = host.KindProposal, a.proposal
	}
	ctx = host.WithAskRequest(ctx, req)
	s.mu.Lock()
	s.asks = append(s.asks, a)
	s.mu.Unlock()
	go func() {
		answers, err := board.Ask(ctx, w.ID(), a.questions)
		s.mu.Lock()
		defer s.mu.Unlock()
		a.over, a.answers, a.err = true, answers, err
	}()
}

// wordsOf makes the questions of an ask, or takes those of its twin.
func (s *storm) wordsOf(n newAsk, number int) (words string, qs []host.OperatorQuestion) {
	if open := s.pending(); n.twin && len(open) > 0 && open[number%len(open)].proposal == nil {
		a := open[number%len(open)]
		return a.words, a.questions
	}
	words = fmt.Sprintf("%s%d%s", wordsSign, number, wordsSign)
	bad := ""
	if n.hostile {
		bad = " " + hostile
	}
	for i, q := range n.questions {
		text := fmt.Sprintf("%s question %d%s?", words, i+1, bad)
		if q.long {
			text += strings.Repeat("\n\n* a line of **it** that goes on, and on, until it is as long as it is wide", 20)
		}
		hq := host.OperatorQuestion{Question: text, Header: words + bad, MultiSelect: q.multi}
		for o := range q.options {
			option := host.OperatorOption{Label: fmt.Sprintf("%s row %d of %d%s", words, o+1, i+1, bad)}
			if o%3 == 1 {
				option.Label += " (recommended)"
				option.Description = strings.Repeat("what it means ", 1+o*4) + bad
			}
			if q.previews {
				option.Preview = strings.Repeat("+ a line of a preview 漢字\n", o*5) + bad
			}
			hq.Options = append(hq.Options, option)
		}
		qs = append(qs, hq)
	}
	return words, qs
}

// pending are the open asks, oldest first.
func (s *storm) pending() []*stormAsk {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*stormAsk
	for _, a := range s.asks {
		if !a.over {
			out = append(out, a)
		}
	}
	return out
}

func (s *storm) openAsk(n int) *stormAsk {
	if open := s.pending(); len(open) > 0 {
		return open[n%len(open)]
	}
	return nil
}

func (s *storm) byID(id string) *stormAsk {
	for _, a := range s.asks {
		if a.id == id {
			return a
		}
	}
	return nil
}

// otherSurface is one that shows every ask beside the program.
func (s *storm) otherSurface() host.OperatorPrompter {
	return surface.Surface{
		Opened: func(h host.Ask) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.byID(h.Info().ID).other = h
		},
		Changed: func(host.AskInfo) {},
		Ended: func(id string, _ host.Resolution) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.byID(id).ended++
		},
	}
}

// elsewhere ends an open ask on the other surface.
func (s *storm) elsewhere(n int, decline bool) {
	a := s.openAsk(n)
	if a == nil {
		return
	}
	s.mu.Lock()
	other := a.other
	s.mu.Unlock()
	if other == nil {
		return
	}
	var err error
	if decline {
		err = other.Decline(s.ctx, "not here", nil)
	} else {
		as := make([]host.Answer, len(a.questions))
		for i := range as {
			as[i].Text = "elsewhere"
			if a.proposal != nil {
				as[i] = host.Answer{Picked: []int{0}}
			}
		}
		err = other.Answer(s.ctx, as)
	}
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.settled++
	}
}
