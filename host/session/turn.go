package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

const stopReason = "the operator stopped the turn"

// errStopped is the cause of a turn that the operator stopped.
var errStopped error = &host.Unanswered{Outcome: host.Cancelled, Reason: stopReason}

// Input is what one turn works off. Only Prompt has to be given.
type Input struct {
	Prompt string
	Verb   agent.Verb // empty: converse

	Schema       json.RawMessage // of decide
	Effort       string
	SystemPrompt string  // added to the agent's own
	BudgetUSD    float64 // 0: none
	MaxTurns     int     // of the agent's; 0: none
	Limit        time.Duration
	Tools        []string // that the agent keeps, as in agent.Request; nil: all
	Retries      int      // of decide, as in agent.Request

	typed string // as an operator wrote it; empty: Prompt
}

func (in Input) verb() agent.Verb { return cmp.Or(in.Verb, agent.Converse) }

// Result is what a turn came to.
type Result struct {
	agent.Result
	gated   bool // the gate stood before it
	Changed Diff // what a task changed in the directory, whoever says so; empty where git cannot tell
}

// Run starts a turn and waits for its end, without letting the queue go on after it; ErrBusy when one is running. It
// is stopped when ctx ends first, with the cause where that is a *host.Unanswered, and else as one that the operator
// stopped.
func (s *Session) Run(ctx context.Context, in Input) (Result, error) {
	s.mu.Lock()
	if s.running != nil {
		s.mu.Unlock()
		return Result{}, ErrBusy
	}
	t, err := s.startLocked(in)
	if err == nil {
		t.alone = true // read under the lock, when it ends
	}
	s.mu.Unlock()
	if err != nil {
		return Result{}, err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
		var why *host.Unanswered
		if errors.As(context.Cause(ctx), &why) {
			t.cancel(why)
		}
		t.cancel(errStopped) // the first one counts
		<-t.done             // a stopped agent ends within its grace
	}
	return t.result, t.err
}

// startLocked is the one place through which every turn starts, and the one that gives it the prompter: when
// an operator is present, and never otherwise.
func (s *Session) startLocked(in Input) (*turn, error) {
	if s.closing {
		return nil, ErrClosed
	}
	if ofGuests(s.id) {
		return nil, errGuests
	}
	if in.Prompt != "" || len(s.owed) == 0 {
		if err := checkPrompt(in.Prompt); err != nil {
			return nil, err
		}
	}
	var carries []keptAsk
	in.Prompt, carries = s.carryLocked(in.Prompt)
	s.turn++
	s.failed = false
	ctx, cancel := context.WithCancelCause(context.Background())
	present := s.m.board.Present(s.id)
	if present {
		ctx = host.WithOperatorPrompter(ctx, s.m.board)
	}
	t := &turn{number: s.turn, access: s.access, cancel: cancel, done: make(chan struct{}), carries: carries}
	s.running = t
	req := agent.Request{
		Verb: in.verb(), Prompt: in.Prompt, SessionID: s.id, Conversation: s.conversation,
		Model: s.opt.Model, Dir: s.opt.Dir, Access: s.access, AskWait: s.m.opt.Wait,
		Schema: in.Schema, Effort: in.Effort, SystemPrompt: in.SystemPrompt, BudgetUSD: in.BudgetUSD, MaxTurns: in.MaxTurns, Limit: in.Limit,
		Tools: in.Tools, Retries: in.Retries,
	}
	if s.gate != nil && req.Access == agent.Gated {
		t.gate = s.gate.Turn(t.number, s.opt.Dir)
		req.Gate = gated{t.gate}
	}
	s.emit(turnStarted(trace.TurnStarted{Turn: t.number, Prompt: in.shown()}))
	go s.runTurn(ctx, t, req, trace.TurnStarted{SessionID: s.id, Turn: t.number, Verb: string(req.Verb), Access: string(req.Access), Prompt: in.shown(), Operator: present})
	return t, nil
}

// runTurn works one input off. It is the session's only goroutine.
func (s *Session) runTurn(ctx context.Context, t *turn, req agent.Request, started trace.TurnStarted) {
	defer close(t.done)
	defer t.cancel(nil)
	began := s.m.opt.Clock.Now()
	s.record(started)
	before := s.stateBefore(ctx, req)
	n := &narrator{s: s, turn: t.number, req: req, recall: &s.recall}
	res, err := s.dispatch(ctx, req, agent.Observer{
		Line: s.transcript.Line, Event: n.event, Refused: n.refused, Started: n.agentStarted, Normalised: n.normalised, Notice: n.notice,
		Retried: n.retried, Recalled: n.recalled,
	})
	if t.gate != nil {
		t.gate.End()
	}
	t.result, t.err = Result{Result: res, gated: t.gate != nil, Changed: before.changes(context.Background())}, err
	branch := Branch(context.Background(), s.opt.Dir)
	s.endTurn(t, n.began, began, branch)
}

// dispatch runs the agent. A panic on this goroutine would end the whole program with the terminal still raw and
// all other sessions lost, so it fails the turn instead.
func (s *Session) dispatch(ctx context.Context, req agent.Request, obs agent.Observer) (res agent.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("kitsoki itself failed: %v\n%s", p, debug.Stack())
		}
	}()
	return s.m.opt.Runner.Run(ctx, s.opt.Command, req, obs)
}

func (s *Session) endTurn(t *turn, agentBegan bool, began time.Time, branch string) {
	res, err := t.result, t.err
	outcome := "done"
	var stopped *host.Unanswered
	switch {
	case errors.As(err, &stopped):
		outcome = "stopped"
	case err != nil:
		outcome = "failed"
	}
	if agentBegan {
		s.record(trace.AgentEnded{
			SessionID: s.id, Turn: t.number, Agent: s.opt.Command.Name, Conversation: res.Conversation, Outcome: outcome,
		})
	}
	record := trace.TurnEnded{
		SessionID: s.id, Turn: t.number, Outcome: outcome, CostUSD: res.CostUSD, Tokens: res.Usage.Total(),
		DurationMS: s.m.opt.Clock.Now().Sub(began).Milliseconds(), Value: res.Structured, Files: changedFiles(res.Changed),
		Denials: res.Denials,
	}
	switch {
	case stopped != nil:
		record.Error = stopped.Reason
	case err != nil:
		record.Error = err.Error()
	}
	s.record(record)
	if err == nil {
		s.took() // whatever its stream said
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if res.Conversation != "" {
		s.conversation = res.Conversation
	}
	if errors.Is(err, agent.ErrForgotten) {
		s.conversation = ""
		s.emit(Event{Kind: Notice, Failed: true, Text: "the agent does not have this conversation any more: your next prompt begins a new one, which knows nothing of the log above"})
	}
	s.branch = branch
	s.costUSD += res.CostUSD
	s.tokens += res.Usage.Total()
	s.failed = outcome == "failed"
	s.running = nil
	s.held = len(s.queue) > 0 && (err != nil || t.held || t.alone)
	clear(s.sent) // what was not taken was said
	s.emit(turnEnded(record))
	s.putBackLocked(t)
	s.touch()
	if err == nil && !s.closing {
		_ = s.nextLocked() // a queued prompt was checked when it was queued
	}
}

// turnStarted and turnEnded are what those who watch are told of the records of the trace.
func turnStarted(e trace.TurnStarted) Event {
	return Event{Kind: TurnStarted, Turn: e.Turn, Text: askbridge.SafeText(e.Prompt)}
}

func turnEnded(e trace.TurnEnded) Event {
	var text []string
	for _, safe := range []string{askbridge.SafeText(e.Error), decidedIn(e), changedIn(e), deniedIn(e)} {
		if safe != "" {
			text = append(text, safe)
		}
	}
	return Event{Kind: TurnEnded, Turn: e.Turn, Failed: e.Outcome == "failed", Stopped: e.Outcome == "stopped", Text: strings.Join(text, "\n")}
}

// nextLocked starts the turn that waits first.
func (s *Session) nextLocked() error {
	if s.running == nil && s.lost == 0 && len(s.owed) > 0 {
		return s.handOverLocked()
	}
	if s.running != nil || s.held || len(s.queue) == 0 {
		return nil
	}
	prompt := s.queue[0]
	s.queue = s.queue[1:]
	s.touch()
	return s.sendLocked(prompt)
}

// sendLocked starts a turn with what an operator wrote.
func (s *Session) sendLocked(text string) error {
	in, err := inputOf(text)
	if err == nil {
		_, err = s.startLocked(in)
	}
	return err
}
