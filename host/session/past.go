package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/gate"
	"example.com/kitsoki/host/trace"
)

// past is what a session's trace says of it.
type past struct {
	opened       trace.SessionOpened
	turns        int
	costUSD      float64
	tokens       int64
	conversation string // as the last agent said, or was told

	// What a killed process left open.
	turn  int // 0: none
	agent *trace.AgentStarted
	asks  []host.QuestionAsked // oldest first

	proposals []pastProposal // of which nothing says what became of them

	said  []saidOnce              // what the operator said and the agent is not known to have taken, oldest first
	ends  map[string]host.Outcome // of asks, by id
	again map[string]string       // the ask that asks an earlier one again, by the id of that
}

// saidOnce is an end that the operator gave an ask, and that may still be owed to the agent.
type saidOnce struct {
	asked   host.QuestionAsked
	answers []host.TracedAnswer // of a decline: what had been answered
	outcome host.Outcome        // answered or declined
	reason  string              // of a decline
	turn    int                 // the last one started before
	refused bool                // it is known that it was not taken
}

// readPast reads a trace to its end. Lines that make no sense are passed by; the checker tells of them.
func readPast(path string) (past, error) {
	p := past{ends: map[string]host.Outcome{}, again: map[string]string{}}
	f, err := os.Open(path)
	if err != nil {
		return p, err
	}
	defer func() { _ = f.Close() }()
	rd := trace.NewReader(f)
	for {
		rec, err := rd.Next()
		var bad *trace.LineError
		switch {
		case errors.Is(err, io.EOF):
			if p.opened.SessionID == "" {
				return p, fmt.Errorf("%s holds no session", path)
			}
			return p, nil
		case errors.As(err, &bad):
			continue
		case err != nil:
			return p, err
		}
		if rec.Event == (trace.AgentTool{}).Name() { // most of a long trace, and only that it is there counts
			p.wentOn()
		} else if e, err := rec.Decode(); err == nil {
			p.add(e)
		}
	}
}

func (p *past) add(e host.Event) {
	switch e := e.(type) {
	case trace.SessionOpened:
		p.opened, p.turn, p.agent, p.asks, p.proposals = e, 0, nil, nil, nil
	case trace.AccessChanged:
		p.opened.Access = e.Access
	case trace.TurnStarted:
		p.turns, p.turn = max(p.turns, e.Turn), e.Turn
	case trace.TurnEnded:
		p.turnEnded(e)
	case trace.AgentStarted:
		p.agent = &e
		if e.Conversation != "" {
			p.conversation = e.Conversation
		}
	case trace.AgentEnded:
		p.agent = nil
		if e.Conversation != "" {
			p.conversation = e.Conversation
		}
	case host.WriteModeGranted:
		p.proposals = slices.DeleteFunc(p.proposals, func(a pastProposal) bool { return a.asked.QuestionID == e.Question })
	case host.QuestionAsked:
		p.asked(e)
	case host.QuestionAnswered:
		p.ended(e.QuestionID, saidOnce{answers: e.Answers, outcome: e.Outcome})
	case host.QuestionUnanswered:
		p.ended(e.QuestionID, saidOnce{answers: e.Partial, outcome: e.Outcome, reason: e.Reason})
	case host.QuestionDelivered:
		p.delivered(e)
	}
}

func (p *past) asked(e host.QuestionAsked) {
	if e.Kind == host.KindProposal { // of a call that is lost; the agent proposes it anew if it still wants to
		p.proposals = append(p.proposals, pastProposal{asked: e})
		return
	}
	p.asks = append(p.asks, e)
	if e.Reopens == "" {
		p.wentOn()
		return
	}
	p.again[e.Reopens] = e.QuestionID
	p.said = slices.DeleteFunc(p.said, func(a saidOnce) bool { return a.asked.QuestionID == e.Reopens })
}

// ended notes the end of an ask. Whether a decline reached the call that asked is told nowhere: the agent may have it,
// so only one of an ask that was asked again is owed.
func (p *past) ended(id string, end saidOnce) {
	for i := range p.proposals {
		p.proposals[i].ended = p.proposals[i].ended || p.proposals[i].asked.QuestionID == id
	}
	p.ends[id] = end.outcome
	i := slices.IndexFunc(p.asks, func(a host.QuestionAsked) bool { return a.QuestionID == id })
	if i < 0 {
		return
	}
	end.asked, end.turn = p.asks[i], p.turns
	p.asks = slices.Delete(p.asks, i, i+1)
	if end.outcome == host.Answered || (end.outcome == host.Declined && end.asked.Reopens != "") {
		p.said = append(p.said, end)
	}
}

func (p *past) delivered(e host.QuestionDelivered) {
	for i := range p.said {
		if p.said[i].asked.QuestionID == e.QuestionID {
			p.said[i].refused = true
			if e.Delivered {
				p.said = slices.Delete(p.said, i, i+1)
			}
			return
		}
	}
}

// wentOn notes that the agent goes on: it does so without the answers that are known not to have reached it.
func (p *past) wentOn() {
	if len(p.said) > 0 {
		p.said = slices.DeleteFunc(p.said, func(a saidOnce) bool { return a.refused })
	}
}

// turnEnded notes the end of a turn. Of a process that lived to write it the operator was told which answers had not
// been taken; a turn that ended well took along what had been said before it.
func (p *past) turnEnded(e trace.TurnEnded) {
	p.turn, p.proposals = 0, nil
	p.costUSD += e.CostUSD
	p.tokens += e.Tokens
	if e.Error != killed { // else it is the end that the next process wrote
		p.wentOn()
	}
	if e.Outcome == "done" {
		p.said = slices.DeleteFunc(p.said, func(a saidOnce) bool { return a.turn < e.Turn || a.asked.ToolUseID != "" })
	}
}

// lost reports whether an ask of an earlier process is still to be asked, as far as the trace knows: neither it nor
// what asked it again came to an end that the operator gave it, or that time did.
func (p *past) lost(id string) bool {
	for range len(p.again) { // there is no round in what only we write, and the trace is a file like any other
		next, asked := p.again[id]
		if !asked {
			break
		}
		id = next
	}
	switch p.ends[id] {
	case "", host.AskerGone, host.HostClosing, host.NoOperator:
		return true
	}
	return false
}

// knows reports whether the trace tells of an ask.
func (p *past) knows(id string) bool {
	_, ended := p.ends[id]
	return ended || slices.ContainsFunc(p.asks, func(a host.QuestionAsked) bool { return a.QuestionID == id })
}

// pastProposal is a proposal of the turn that a killed process left open.
type pastProposal struct {
	asked host.QuestionAsked
	ended bool
}

// killed is what the trace says of what a killed process left open.
const killed = "kitsoki was killed"

// mend writes the ends that a killed process did not come to write: every start has one.
func (s *Session) mend(p past) {
	for _, a := range p.asks {
		end := host.QuestionUnanswered{
			QuestionID: a.QuestionID, SessionID: s.id, ToolUseID: a.ToolUseID, Outcome: host.AskerGone, Reason: killed,
		}
		s.mu.Lock()
		s.asks[a.QuestionID] = a
		s.mu.Unlock()
		s.observe(end)
		s.record(end)
	}
	for _, a := range p.proposals {
		s.mendProposal(p.turn, a)
	}
	if p.agent != nil {
		s.record(trace.AgentEnded{SessionID: s.id, Turn: p.agent.Turn, Agent: p.agent.Agent, Outcome: "failed"})
	}
	if p.turn > 0 {
		s.record(trace.TurnEnded{SessionID: s.id, Turn: p.turn, Outcome: "failed", Error: killed})
		s.emit(Event{Kind: TurnEnded, Turn: p.turn, Failed: true, Text: killed + "; the turn did not come to its end"})
	}
}

// mendProposal writes what became of a proposal: whatever was said to it, it did not happen.
func (s *Session) mendProposal(turn int, p pastProposal) {
	if !p.ended {
		s.record(host.QuestionUnanswered{
			QuestionID: p.asked.QuestionID, SessionID: s.id, ToolUseID: p.asked.ToolUseID, Outcome: host.AskerGone, Reason: killed,
		})
	}
	s.record(host.WriteModeGranted{
		SessionID: s.id, Turn: turn, ToolUseID: p.asked.ToolUseID, State: gate.Room, Action: headsOf(p.asked), Effect: host.EffectExternal, By: "gate",
		Reason: killed, Question: p.asked.QuestionID,
	})
	s.emit(Event{Kind: Notice, Failed: true, Text: "not done, because kitsoki was killed: " + headsOf(p.asked)})
}
