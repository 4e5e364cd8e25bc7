package session

import (
	"errors"
	"fmt"
	"io"
	"os"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/trace"
)

// past is what a session's trace says of it.
type past struct {
	opened       trace.SessionOpened
	turns        int
	costUSD      float64
	tokens       int64
	conversation string // as the last agent that ended said

	// What a killed process left open.
	turn  int // 0: none
	agent *trace.AgentStarted
	asks  []host.QuestionAsked // oldest first
}

// readPast reads a trace to its end. Lines that make no sense are passed by; the checker tells of them.
func readPast(path string) (past, error) {
	var p past
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
		if e, err := rec.Decode(); err == nil {
			p.add(e)
		}
	}
}

func (p *past) add(e host.Event) {
	switch e := e.(type) {
	case trace.SessionOpened:
		p.opened, p.turn, p.agent, p.asks = e, 0, nil, nil
	case trace.AccessChanged:
		p.opened.Access = e.Access
	case trace.TurnStarted:
		p.turns, p.turn = max(p.turns, e.Turn), e.Turn
	case trace.TurnEnded:
		p.turn = 0
		p.costUSD += e.CostUSD
		p.tokens += e.Tokens
	case trace.AgentStarted:
		p.agent = &e
	case trace.AgentEnded:
		p.agent = nil
		if e.Conversation != "" {
			p.conversation = e.Conversation
		}
	case host.QuestionAsked:
		p.asks = append(p.asks, e)
	case host.QuestionAnswered:
		p.settle(e.QuestionID)
	case host.QuestionUnanswered:
		p.settle(e.QuestionID)
	}
}

func (p *past) settle(id string) {
	for i, a := range p.asks {
		if a.QuestionID == id {
			p.asks = append(p.asks[:i:i], p.asks[i+1:]...)
			return
		}
	}
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
	if p.agent != nil {
		s.record(trace.AgentEnded{SessionID: s.id, Turn: p.agent.Turn, Agent: p.agent.Agent, Outcome: "failed"})
	}
	if p.turn > 0 {
		s.record(trace.TurnEnded{SessionID: s.id, Turn: p.turn, Outcome: "failed", Error: killed})
		s.emit(Event{Kind: TurnEnded, Turn: p.turn, Failed: true, Text: killed + "; the turn did not come to its end"})
	}
}
