package session

import (
	"context"
	"encoding/json"
	"errors"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// How a turn ended, as a Report says it.
const (
	Done         = "done"
	FailedTurn   = "failed"    // the agent did, or kitsoki
	TimedOutTurn = "timed_out" // the agent's time was used up
	StoppedTurn  = "stopped"   // by whoever started it, or by a signal
	OutOfBudget  = "budget"    // what it may cost was used up
	OutOfTurns   = "turns"     // the turns that it may take were used up
	UnfitValue   = "schema"    // of decide: no value that fits came
	NotFound     = "not_found" // the agent is not on this machine
	DeniedTurn   = "denied"    // the agent came to its end, and the gate denied something on the way
)

// OutcomeOf says how a turn with this error ended.
func OutcomeOf(err error) string {
	var stopped *host.Unanswered
	switch {
	case err == nil:
		return Done
	case errors.As(err, &stopped), errors.Is(err, context.Canceled):
		return StoppedTurn
	case errors.Is(err, agent.ErrTime):
		return TimedOutTurn
	case errors.Is(err, agent.ErrBudget):
		return OutOfBudget
	case errors.Is(err, agent.ErrTurns):
		return OutOfTurns
	case errors.Is(err, agent.ErrSchema):
		return UnfitValue
	case errors.Is(err, agent.ErrNotFound):
		return NotFound
	}
	return FailedTurn
}

// Report is what a turn without an operator came to, for a program: kitsoki turn --json prints it, and kitsoki
// agent-serve answers with it.
type Report struct {
	Session      string          `json:"session"`
	Turn         int             `json:"turn"`
	Verb         agent.Verb      `json:"verb"`
	Outcome      string          `json:"outcome"` // see OutcomeOf
	Error        string          `json:"error,omitempty"`
	Text         string          `json:"text"`
	Value        json.RawMessage `json:"value,omitempty"` // of decide
	Files        []string        `json:"files,omitempty"` // that the agent says it changed
	Diff         string          `json:"diff,omitempty"`  // what a task changed in the directory, as git sees it
	Truncated    bool            `json:"diff_truncated,omitempty"`
	Denials      int             `json:"denials,omitempty"` // calls of tools that were not permitted
	Conversation string          `json:"conversation,omitempty"`
	CostUSD      float64         `json:"cost_usd"`
	Tokens       int64           `json:"tokens"`
	Attempts     int             `json:"attempts"`
	DurationMS   int64           `json:"duration_ms"`
}

// RunReport is Run with what it came to, which is meaningful beside an error too.
func (s *Session) RunReport(ctx context.Context, in Input) (Report, error) {
	began := s.m.opt.Clock.Now()
	res, err := s.Run(ctx, in)
	r := Report{
		Session: s.id, Verb: in.verb(), Outcome: OutcomeOf(err), Text: res.Text, Value: res.Structured, Files: res.Files,
		Diff: res.Changed.Text, Truncated: res.Changed.Truncated, Denials: res.Denials,
		Conversation: res.Conversation, CostUSD: res.CostUSD, Tokens: res.Usage.Total(), Attempts: res.Attempts,
		DurationMS: s.m.opt.Clock.Now().Sub(began).Milliseconds(),
	}
	s.mu.Lock()
	r.Turn = s.turn
	if err == nil && r.Denials > 0 && res.gated {
		r.Outcome = DeniedTurn
	}
	s.mu.Unlock()
	if err != nil {
		r.Error = err.Error()
	}
	return r, err
}
