package proposal

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/question"
)

// Reach says how far a yes of a row reaches, in the words in which it is asked for and told of.
func Reach(row string) string {
	switch host.Scope(row) {
	case host.ScopeAction:
		return "this once"
	case host.ScopeTurn:
		return "for this turn"
	case host.ScopeSession:
		return "for this session"
	}
	return row
}

// Allows reports whether a row of a proposal allows it. A row that nobody knows does not.
func Allows(row string) bool {
	switch host.Scope(row) {
	case host.ScopeAction, host.ScopeTurn, host.ScopeSession:
		return true
	}
	return false
}

// Default is the row that is lit first: the turn, or the action alone where it is all that can be allowed.
func Default(rows []host.OperatorOption) int {
	for _, want := range []host.Scope{host.ScopeTurn, host.ScopeAction} {
		for i, o := range rows {
			if o.Label == string(want) {
				return i
			}
		}
	}
	return DenyRow(rows)
}

// DenyRow is the row that refuses; -1 when there is none, and a decline has to do.
func DenyRow(rows []host.OperatorOption) int {
	for i, o := range rows {
		if o.Label == host.Deny {
			return i
		}
	}
	return -1
}

// Does says what an effect is.
func Does(e host.Effect) string {
	switch e {
	case host.EffectRead:
		return "only reads"
	case host.EffectWrite:
		return "changes something on this machine"
	case host.EffectExternal:
		return "leaves this machine, or could"
	}
	return ""
}

// Of is the proposal of an ask. One that came without is empty, and cannot be allowed.
func Of(info host.AskInfo) host.Proposal {
	if info.Proposal == nil {
		return host.Proposal{Title: "the host did not say what would happen"}
	}
	return *info.Proposal
}

// Rows are the rows of a proposal.
func Rows(info host.AskInfo) []host.OperatorOption {
	if len(info.Questions) != 1 {
		return nil
	}
	return info.Questions[0].Options
}

// Who is who would do it: the agent and the sub-agents that lead to it.
func Who(info host.AskInfo) string {
	if info.Asker.Agent == "" {
		return "an agent"
	}
	return strings.Join(append([]string{info.Asker.Agent}, info.Asker.Path...), " › ")
}

// Settled says in a few words how a proposal ended, by the row that was answered.
func Settled(row, title string) string {
	if Allows(row) {
		return "allowed " + Reach(row) + ": " + title
	}
	return "denied: " + title
}

// Alike reports whether two proposals are of one session and effect, so that a yes for the turn may settle both.
func Alike(a, b host.AskInfo) bool {
	return a.Kind == host.KindProposal && b.Kind == host.KindProposal && a.SessionID == b.SessionID && Of(a).Effect == Of(b).Effect
}

// Twins reports whether two asks have the same words; of proposals, whether the same would run. A question and a proposal
// are never twins, whatever the question says.
func Twins(a, b host.AskInfo) bool {
	if a.Kind == host.KindProposal || b.Kind == host.KindProposal {
		return a.Kind == b.Kind && Of(a).Tool == Of(b).Tool && Of(a).Text == Of(b).Text
	}
	return question.SameWords(a.Questions, b.Questions)
}

func shown(b key.Binding) string { return b.Help().Key }
