package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"example.com/kitsoki/askbridge"
)

// BridgeOptions says whose asks a Bridge carries, and who wants to know. Only Prompter is needed.
type BridgeOptions struct {
	Prompter  OperatorPrompter
	SessionID string
	Wait      time.Duration // of each ask; 0: the switchboard's default

	// Asker says who made a tool call, as far as that is known when the call arrives.
	Asker func(toolUseID string) Asker
	// Opened is called with each ask, so that its asker can be identified later.
	Opened func(toolUseID string, ask OpenedAsk)
	// ToolsListed is called when an agent's grandchild has been asked for its tools, before they are named.
	ToolsListed func(askbridge.ToolsListed)
	// Normalised is called with what the decoder had to mend.
	Normalised func(id string, notes []askbridge.Note)
	// Refused is called when a connection was turned away.
	Refused func(askbridge.Refusal)
	// Permit decides about a tool call of the agent; nil: all are denied. Its context has an AskRequest for the ask that
	// it may open.
	Permit func(ctx context.Context, call *askbridge.PermissionCall) askbridge.Decision
	// Run runs an approved command; nil: none is run.
	Run func(ctx context.Context, call askbridge.RunCall) (exit int, err error)
}

// Bridge carries the asks of an agent's grandchild, which arrive over the socket of a dispatch, to the prompter,
// and its answers back. Question texts and labels go home byte for byte as they came, whatever was shown.
type Bridge struct{ opt BridgeOptions }

var (
	_ askbridge.Handler    = (*Bridge)(nil)
	_ askbridge.Gatekeeper = (*Bridge)(nil)
)

// NewBridge makes a bridge to hand to askbridge.Listen.
func NewBridge(opt BridgeOptions) *Bridge { return &Bridge{opt: opt} }

// ToolsListed reports that the agent was told of the tool.
func (b *Bridge) ToolsListed(_ context.Context, info askbridge.ToolsListed) error {
	if b.opt.ToolsListed != nil {
		b.opt.ToolsListed(info)
	}
	return nil
}

// Refused reports a connection that was turned away.
func (b *Bridge) Refused(_ context.Context, r askbridge.Refusal) {
	if b.opt.Refused != nil {
		b.opt.Refused(r)
	}
}

// Ask serves one tool call: it blocks until the ask is settled, and keeps the grandchild informed of the
// deadline meanwhile.
func (b *Bridge) Ask(ctx context.Context, call *askbridge.Call) askbridge.Final {
	if len(call.Notes) > 0 && b.opt.Normalised != nil {
		b.opt.Normalised(call.ID, call.Notes)
	}
	ex := b.exchange(call.ID, call.ToolUseID, call)
	qs := operatorQuestions(call.Questions)
	asking, release := bridgeCause(ctx)
	answers, err := b.opt.Prompter.Ask(WithAskRequest(asking, ex.req), b.opt.SessionID, qs)
	release()
	opened := ex.end()
	if err != nil {
		return refusal(qs, err)
	}
	final := askbridge.Final{Answers: answers, Outcome: string(Answered)}
	if opened != nil {
		if as, ok := opened.Result(); ok {
			_, final.Notes, _ = EncodeAnswers(qs, as)
		}
		final.Done = opened.Delivered
	}
	return final
}

// Permission brings a tool call of the agent to whoever decides.
func (b *Bridge) Permission(ctx context.Context, call *askbridge.PermissionCall) askbridge.Decision {
	if b.opt.Permit == nil {
		return askbridge.Decision{Message: "denied: this run has no gate"}
	}
	ex := b.exchange(call.ID, call.ToolUseID, call)
	deciding, release := bridgeCause(ctx)
	d := b.opt.Permit(WithAskRequest(deciding, ex.req), call)
	release()
	ex.end()
	return d
}

// Run has an approved command run.
func (b *Bridge) Run(ctx context.Context, call askbridge.RunCall) (int, error) {
	if b.opt.Run == nil {
		return 0, errors.New("this run has no gate")
	}
	return b.opt.Run(ctx, call)
}

// exchange is a call of the grandchild, with the ask that it may open.
type exchange struct {
	req    AskRequest
	opened OpenedAsk
	done   chan struct{} // closed by end
	told   chan struct{} // closed when the grandchild is told nothing more
}

// exchange keeps the grandchild informed of the deadline of the ask, once it is open. End it.
func (b *Bridge) exchange(id, toolUseID string, call deadliner) *exchange {
	ex := &exchange{req: AskRequest{ID: id, ToolUseID: toolUseID, Wait: b.opt.Wait}, done: make(chan struct{}), told: make(chan struct{})}
	close(ex.told)
	if b.opt.Asker != nil {
		ex.req.Asker = b.opt.Asker(toolUseID)
	}
	ex.req.Opened = func(a OpenedAsk) {
		ex.opened = a
		if b.opt.Opened != nil {
			b.opt.Opened(toolUseID, a)
		}
		ex.told = make(chan struct{})
		go func() { defer close(ex.told); tellDeadline(a, call, ex.done) }()
	}
	return ex
}

// end waits until the grandchild is told nothing more, and returns the ask, if there was one.
func (ex *exchange) end() OpenedAsk {
	close(ex.done)
	<-ex.told
	return ex.opened
}

// deadliner is told until when the grandchild has to wait.
type deadliner interface{ Deadline(t time.Time) error }

// bridgeCause gives the context an end that says, in the words of the seam, how the caller went away.
func bridgeCause(ctx context.Context) (out context.Context, release func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, askbridge.ErrAskerGone):
			cancel(&Unanswered{Outcome: AskerGone, Reason: "the agent is gone"})
		case errors.Is(cause, askbridge.ErrCancelled):
			cancel(&Unanswered{Outcome: Cancelled, Reason: "the agent cancelled the call"})
		default:
			cancel(cause)
		}
	})
	return out, func() { stop(); cancel(nil) }
}

// tellDeadline tells the grandchild the deadline, and every later one, until done is closed.
func tellDeadline(a OpenedAsk, call deadliner, done <-chan struct{}) {
	var last time.Time
	for {
		changed := a.Changed()
		if d := a.Info().Deadline; !d.Equal(last) {
			last = d
			if call.Deadline(d) != nil {
				return // the connection is gone, which ends the call by itself
			}
		}
		select {
		case <-changed:
		case <-done:
			return
		}
	}
}

func operatorQuestions(in []askbridge.Question) []OperatorQuestion {
	out := make([]OperatorQuestion, len(in))
	for i, q := range in {
		out[i] = OperatorQuestion{Question: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			out[i].Options = append(out[i].Options, OperatorOption(o))
		}
	}
	return out
}

// refusal words an unanswered ask for the agent: what happened, and that no answer must be made up from it.
func refusal(qs []OperatorQuestion, err error) askbridge.Final {
	for _, never := range []error{ErrUnaskable, ErrDuplicateID, ErrTooManyAsks} {
		if errors.Is(err, never) {
			outcome := "invalid"
			if errors.Is(err, ErrTooManyAsks) {
				outcome = "limit"
			}
			return askbridge.Final{Outcome: outcome, Error: "the operator was not asked: " + err.Error()}
		}
	}
	var u *Unanswered
	if !errors.As(err, &u) {
		u = &Unanswered{Outcome: Cancelled, Reason: err.Error()}
	}
	var s strings.Builder
	s.WriteString("operator did not answer; proceed without this input (outcome: " + string(u.Outcome))
	if u.Reason != "" {
		s.WriteString("; reason: " + u.Reason)
	}
	s.WriteString(")")
	if words := partialWords(qs, u.Partial); words != "" {
		s.WriteString(". Before declining, the operator had answered: " + cut(words, max(0, MaxAnswerBytes-s.Len())))
	}
	return askbridge.Final{Outcome: string(u.Outcome), Error: s.String()}
}

// cut shortens a text to n bytes of whole characters, and says so.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "… (cut)"
}

func partialWords(qs []OperatorQuestion, partial []Answer) string {
	var parts []string
	for i, a := range partial {
		if i >= len(qs) || a.Empty() || a.Skipped {
			continue
		}
		value, note, _ := encodeAnswer(qs[i], a)
		words := fmt.Sprintf("%q: ", qs[i].Question)
		switch v := value.(type) {
		case string:
			words += strconv.Quote(v)
		case []string:
			quoted := make([]string, len(v))
			for n, s := range v {
				quoted[n] = strconv.Quote(s)
			}
			words += "[" + strings.Join(quoted, ", ") + "]"
		}
		if note != "" {
			words += fmt.Sprintf(" (note: %q)", note)
		}
		parts = append(parts, words)
	}
	return strings.Join(parts, "; ")
}
