package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/gate/wall"
)

// Room is what a verdict names as its state: the only room until there are stories.
const Room = "main"

// Permit decides about a call of the agent, and blocks while the operator does. Its context brings the operator's
// prompter, where there is one, and an AskRequest with what is known of the call.
func (t *Turn) Permit(ctx context.Context, call *askbridge.PermissionCall) (d askbridge.Decision) {
	defer func() {
		if fault := recover(); fault != nil {
			d = t.refuse(nil, call, "gate", "", fmt.Sprintf("the gate failed: %v", fault))
		}
	}()
	a, err := t.read(call)
	if err != nil {
		return t.refuse(nil, call, "gate", "", err.Error())
	}
	if t.isOver() {
		return t.refuse(a, call, "gate", "", errEnded.Error())
	}
	if a.verdict.Free() || t.inScratch(a) {
		return t.carryOut(a)
	}
	if t.gate.grants.refused(t.number, a.hash) {
		return t.refuse(a, call, "an earlier denial", "", "the operator denied exactly this before; it stays denied for this turn")
	}
	if gr, ok := t.covering(a); ok {
		return t.allow(a, gr.Scope, "grant "+gr.ID, "")
	}
	return t.ask(ctx, a)
}

// covering is the grant that an action falls under. What is outside of the directory, or starts programs later, never
// does.
func (t *Turn) covering(a *action) (Grant, bool) {
	if a.verdict.Guarded {
		return Grant{}, false
	}
	return t.gate.grants.covers(a.effect, t.number, a.hash)
}

// errCovered ends a proposal that a grant has overtaken.
var errCovered error = &host.Unanswered{Outcome: host.Cancelled, Reason: "covered by what was allowed meanwhile"}

// ask puts the proposal to the operator.
func (t *Turn) ask(ctx context.Context, a *action) askbridge.Decision {
	p, ok := host.OperatorPrompterFrom(ctx)
	if !ok {
		return t.refuse(a, a.call, "nobody", "", "nobody can be asked for it")
	}
	req := host.AskRequestFrom(ctx)
	req.Kind, req.Proposal = host.KindProposal, a.proposal(t.held())
	q := a.question(req.Proposal, req.Asker)
	asking, cancel := context.WithCancelCause(host.WithAskRequest(ctx, req))
	defer cancel(nil)
	var overtaken Grant
	var watch sync.WaitGroup
	watch.Go(func() { overtaken = t.overtake(asking, a, cancel) })
	answers, err := p.Ask(asking, t.gate.opt.SessionID, []host.OperatorQuestion{q})
	cancel(nil)
	watch.Wait()
	if overtaken.ID != "" && err != nil {
		return t.allow(a, overtaken.Scope, "grant "+overtaken.ID, req.ID)
	}
	if err != nil {
		return t.unanswered(a, err, req.ID)
	}
	label, _ := answers[q.Question].(string)
	switch scope := host.Scope(label); {
	case !offered(q.Options, label), label == host.Deny:
		t.gate.grants.deny(t.number, a.hash)
		return t.refuse(a, a.call, "operator", req.ID, "the operator denied it")
	default:
		d := t.allow(a, scope, "operator", req.ID)
		t.gate.grants.add(scope, a.effect, t.number, req.Proposal.Title)
		return d
	}
}

// overtake waits for a grant that covers an action whose proposal is open, and ends the proposal then.
func (t *Turn) overtake(ctx context.Context, a *action, cancel context.CancelCauseFunc) Grant {
	for {
		change := t.gate.grants.change()
		if gr, ok := t.covering(a); ok {
			cancel(errCovered)
			return gr
		}
		select {
		case <-change:
		case <-ctx.Done():
			return Grant{}
		}
	}
}

func offered(rows []host.OperatorOption, label string) bool {
	for _, r := range rows {
		if r.Label == label {
			return true
		}
	}
	return false
}

// unanswered denies what nobody allowed, and says to the agent what happened.
func (t *Turn) unanswered(a *action, err error, question string) askbridge.Decision {
	var u *host.Unanswered
	if !errors.As(err, &u) {
		return t.refuse(a, a.call, "gate", question, "the operator could not be asked: "+err.Error())
	}
	reason := map[host.Outcome]string{
		host.Declined: "the operator denied it", host.TimedOut: "the operator did not answer in time",
		host.NoOperator: "nobody is there to be asked", host.HostClosing: "kitsoki is closing",
	}[u.Outcome]
	if reason == "" {
		reason = "the operator was not asked to the end (" + string(u.Outcome) + ")"
	}
	if u.Outcome == host.Declined {
		t.gate.grants.deny(t.number, a.hash)
		if u.Reason != "" {
			reason += ", saying: " + u.Reason
		}
	}
	return t.refuse(a, a.call, "operator", question, reason)
}

// allow records that an action is allowed and carries it out. What cannot be recorded is denied.
func (t *Turn) allow(a *action, scope host.Scope, by, question string) askbridge.Decision {
	e := t.event(a, by, question)
	e.Scope, e.Granted = scope, true
	if err := t.gate.opt.Record(context.Background(), e); err != nil {
		return t.refuse(nil, a.call, "gate", question, "what was allowed could not be written into the trace: "+err.Error())
	}
	if t.isOver() {
		return t.refuse(a, a.call, "gate", question, errEnded.Error())
	}
	return t.carryOut(a)
}

// refuse denies, records it as far as it can be, and counts it. a may be nil.
func (t *Turn) refuse(a *action, call *askbridge.PermissionCall, by, question, reason string) askbridge.Decision {
	if a == nil {
		a = &action{call: call, dir: t.dir, effect: host.EffectExternal}
	}
	e := t.event(a, by, question)
	e.Reason = askbridge.Safe(reason)
	_ = t.gate.opt.Record(context.Background(), e) // it is denied either way
	t.mu.Lock()
	t.denials++
	t.mu.Unlock()
	return askbridge.Decision{Message: "denied: " + reason + ". Nothing was changed. Do not try the same in another way; " +
		"go on without it where that makes sense, and say in your last message what was denied."}
}

func (t *Turn) event(a *action, by, question string) host.WriteModeGranted {
	return host.WriteModeGranted{
		SessionID: t.gate.opt.SessionID, Turn: t.number, ToolUseID: a.call.ToolUseID, State: Room, Action: askbridge.Safe(a.title()),
		Effect: a.effect, By: by, Hash: a.hash, Question: question,
	}
}

// title is what an action is called in the trace.
func (a *action) title() string {
	switch {
	case a.change != nil:
		return a.change.title(a.dir)
	case a.call.Tool == "Bash":
		return "run " + a.verdict.Command
	}
	return "call " + a.call.Tool
}

// carryOut answers the agent so that what was allowed happens, exactly and once: behind a wall the host does it.
func (t *Turn) carryOut(a *action) askbridge.Decision {
	as := askbridge.Decision{Allow: true, Input: a.call.Input}
	if t.gate.opt.Level == wall.None || a.effect == host.EffectRead {
		return as
	}
	switch {
	case a.change != nil && !t.inScratch(a):
		if err := a.change.apply(); err != nil {
			return t.refuse(a, a.call, "gate", "", "the operator allowed it, but it could not be done: "+err.Error())
		}
		return askbridge.Decision{Message: fmt.Sprintf("This is no failure: the operator allowed this change, and kitsoki has made it for you. %s is written as you "+
			"proposed. Do not make the change again, and read the file before you change it further.", a.change.path)}
	case a.call.Tool == "Bash":
		input, err := t.hand(a)
		if err != nil {
			return t.refuse(a, a.call, "gate", "", err.Error())
		}
		as.Input = input
	}
	return as
}

// inScratch reports whether an action only writes where the agent may write anyway.
func (t *Turn) inScratch(a *action) bool {
	t.mu.Lock()
	scratch := t.scratch
	t.mu.Unlock()
	if a.change == nil || scratch == "" {
		return false
	}
	rel, err := filepath.Rel(scratch, a.change.path)
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

func (t *Turn) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// held says on the proposal what holds the agent to the answer.
func (t *Turn) held() string {
	if t.gate.opt.Level == wall.None {
		return t.gate.opt.Level.Short()
	}
	return t.gate.opt.Level.Short() + "; what you allow is done by kitsoki, outside of the wall, until it ends"
}

// withCommand is a Bash input with another command.
func withCommand(input json.RawMessage, command string) (json.RawMessage, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	word, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	in["command"] = word
	return json.Marshal(in)
}
