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
		return t.impossible(call, err)
	}
	if t.isOver() {
		return t.refuse(a, call, "gate", "", errEnded.Error())
	}
	if a.verdict.Free() || t.inScratch(a) {
		return t.carryOut(a)
	}
	if t.gate.grants.refused(t.number, a.hash) {
		return t.refuse(a, call, "an earlier denial", "", deniedBefore)
	}
	if gr, ok := t.covering(a); ok {
		d, _ := t.allow(a, gr.Scope, "grant "+gr.ID, "")
		return d
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

const deniedBefore = "the operator denied exactly this before; it stays denied for this turn"

// errCovered and errDeniedBefore end a proposal that the answer to another one has overtaken.
var (
	errCovered      error = &host.Unanswered{Outcome: host.Cancelled, Reason: "covered by what was allowed meanwhile"}
	errDeniedBefore error = &host.Unanswered{Outcome: host.Cancelled, Reason: "exactly this was denied meanwhile"}
)

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
	if err != nil && t.gate.grants.refused(t.number, a.hash) {
		return t.refuse(a, a.call, "an earlier denial", req.ID, deniedBefore)
	}
	if overtaken.ID != "" && err != nil {
		d, _ := t.allow(a, overtaken.Scope, "grant "+overtaken.ID, req.ID)
		return d
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
		d, ok := t.allow(a, scope, "operator", req.ID)
		if ok {
			t.gate.grants.add(scope, a.effect, t.number, req.Proposal.Title)
		}
		return d
	}
}

// overtake waits for a grant that covers an action whose proposal is open, or for its denial, and ends the proposal then.
func (t *Turn) overtake(ctx context.Context, a *action, cancel context.CancelCauseFunc) Grant {
	for {
		change := t.gate.grants.change()
		if t.gate.grants.refused(t.number, a.hash) {
			cancel(errDeniedBefore)
			return Grant{}
		}
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

// allow records that an action is allowed, which ok reports, and carries it out. What cannot be recorded is denied.
func (t *Turn) allow(a *action, scope host.Scope, by, question string) (d askbridge.Decision, ok bool) {
	if t.isOver() {
		return t.refuse(a, a.call, "gate", question, errEnded.Error()), false
	}
	e := t.event(a, by, question)
	e.Scope, e.Granted = scope, true
	if err := t.gate.opt.Record(context.Background(), e); err != nil {
		return t.refuse(a, a.call, "gate", question, "what was allowed could not be written into the trace: "+err.Error()), false
	}
	return t.carryOut(a), true
}

// impossible answers a call that cannot be done by anybody, and that nobody is asked for. It is no denial.
func (t *Turn) impossible(call *askbridge.PermissionCall, why error) askbridge.Decision {
	e := t.event(&action{call: call, effect: host.EffectExternal}, "gate", "")
	e.Reason = askbridge.Safe("it cannot be done: " + why.Error())
	_ = t.gate.opt.Record(context.Background(), e) // it does not happen either way
	return askbridge.Decision{Message: "This cannot be done, and the operator was not asked: " + why.Error() + ". Nothing was changed."}
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
			return t.undone(a, err)
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

// undone says that what was allowed did not happen, or not to its end.
func (t *Turn) undone(a *action, why error) askbridge.Decision {
	e := t.event(a, "gate", "")
	e.Reason = askbridge.Safe("it could not be done: " + why.Error())
	_ = t.gate.opt.Record(context.Background(), e) // it is over either way
	message := "The operator allowed this, but it could not be done: " + why.Error() + "."
	if !errors.Is(why, errHalf) {
		message += " Nothing was changed."
	}
	return askbridge.Decision{Message: message}
}

// own are the directories of the agent's run alone, in which it writes and reads as it likes.
func (t *Turn) own() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.scratch == "" {
		return nil
	}
	return []string{t.scratch}
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
	in, err := members(input)
	if err != nil {
		return nil, err
	}
	word, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	in["command"] = word
	return json.Marshal(in)
}
