package question

import (
	"strings"

	"example.com/kitsoki/host"
)

// soundsLikePermission reports whether a question of an agent could be taken for a permission. Only the host itself
// proposes actions; whatever is answered to an agent is words, and the screen says so where that could be mistaken.
func soundsLikePermission(kind host.Kind, qs []host.OperatorQuestion) bool {
	if kind == host.KindProposal {
		return false
	}
	for _, q := range qs {
		head := strings.ToLower(q.Header)
		if strings.Contains(head, "permission") || strings.Contains(head, "approv") || strings.Contains(head, "allow") {
			return true
		}
		grants := 0
		for _, o := range q.Options {
			switch first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(o.Label)), " "); strings.Trim(first, ",.:;()") {
			case "allow", "deny", "approve", "reject", "grant", "permit", "forbid":
				grants++
			}
		}
		if grants > 0 {
			return true
		}
	}
	return false
}

func (m *Model) grantWords() string {
	if m.compact() {
		return "only words: this grants nothing"
	}
	return "an agent's question: the answer is words and grants nothing"
}
