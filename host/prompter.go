package host

import "context"

// OperatorOption is one row that the operator can pick. Label is the value that reaches the agent.
type OperatorOption struct{ Label, Description, Preview string }

// OperatorQuestion is one question of an ask. With no Options it is a free-text question; every question takes
// free text beside its options. Header is a short name for the question, empty when the asker gave none.
type OperatorQuestion struct {
	Question, Header string
	Options          []OperatorOption
	MultiSelect      bool
}

// OperatorPrompter puts questions to the operator and waits for the answers.
//
// The map is keyed by question text: a string for a single select, a []string for a multi-select; a skipped
// question is absent. See [EncodeAnswers] for the exact form. Every way of not being answered is an error, a
// *[Unanswered] where the prompter knows which; a nil error with nothing usable in the map is never taken for
// an answer. Ask returns soon after ctx ends, whose cause says why.
//
// What this one method cannot carry travels in ctx: see [WithAskRequest] and [AskFrom].
type OperatorPrompter interface {
	Ask(ctx context.Context, sessionID string, qs []OperatorQuestion) (answers map[string]any, err error)
}

// PrompterFunc is a function that serves as an OperatorPrompter.
type PrompterFunc func(ctx context.Context, sessionID string, qs []OperatorQuestion) (map[string]any, error)

// Ask calls f.
func (f PrompterFunc) Ask(ctx context.Context, sessionID string, qs []OperatorQuestion) (map[string]any, error) {
	return f(ctx, sessionID, qs)
}

type (
	prompterKey struct{}
	requestKey  struct{}
	askKey      struct{}
)

// WithOperatorPrompter says that an operator can be reached through p by whatever runs under the context. Its
// presence is what gives a dispatched agent the ask tool at all.
func WithOperatorPrompter(ctx context.Context, p OperatorPrompter) context.Context {
	return context.WithValue(ctx, prompterKey{}, p)
}

// OperatorPrompterFrom returns the prompter of the context; false means that nobody can be asked.
func OperatorPrompterFrom(ctx context.Context) (OperatorPrompter, bool) {
	p, ok := ctx.Value(prompterKey{}).(OperatorPrompter)
	return p, ok && p != nil
}

// WithAskRequest attaches what the starter of an ask knows about it.
func WithAskRequest(ctx context.Context, r AskRequest) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// AskRequestFrom returns what the starter of the ask said; the zero AskRequest when it said nothing.
func AskRequestFrom(ctx context.Context) AskRequest {
	r, _ := ctx.Value(requestKey{}).(AskRequest)
	return r
}

// AskFrom returns the handle of the ask that a surface was called for. A plain prompter can do without it.
func AskFrom(ctx context.Context) (Ask, bool) {
	a, ok := ctx.Value(askKey{}).(Ask)
	return a, ok
}

// WithAsk attaches the handle of an ask for the surface that is about to be called; the switchboard and
// clients of remote switchboards call it, surfaces read it with [AskFrom].
func WithAsk(ctx context.Context, a Ask) context.Context {
	return context.WithValue(ctx, askKey{}, a)
}
