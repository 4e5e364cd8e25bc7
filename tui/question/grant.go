package question

import (
	"slices"
	"strings"

	"example.com/kitsoki/host"
)

// GrantsNothing is what the screen says of a question that could be taken for a permission.
const GrantsNothing = "an agent's question: the answer is words and grants nothing"

// SoundsLikePermission reports whether a question of an agent could be taken for a permission. Only the host itself
// proposes actions; whatever is answered to an agent is words, and the screen says so where that could be mistaken.
func SoundsLikePermission(kind host.Kind, q host.OperatorQuestion) bool {
	if kind == host.KindProposal {
		return false
	}
	head := strings.ToLower(q.Header)
	if strings.Contains(head, "permission") || strings.Contains(head, "approv") || strings.Contains(head, "allow") {
		return true
	}
	return slices.ContainsFunc(q.Options, func(o host.OperatorOption) bool {
		first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(o.Label)), " ")
		return slices.Contains([]string{"allow", "deny", "approve", "reject", "grant", "permit", "forbid"}, strings.Trim(first, ",.:;()"))
	})
}

func (m *Model) grantWords() string {
	if m.compact() {
		return "only words: this grants nothing"
	}
	return GrantsNothing
}

// SameWords reports whether two asks ask the same, letter for letter. Two agents that do can need different answers.
func SameWords(a, b []host.OperatorQuestion) bool {
	return slices.EqualFunc(a, b, func(x, y host.OperatorQuestion) bool { return x.Question == y.Question })
}
