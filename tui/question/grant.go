package question

import (
	"slices"
	"strings"

	"example.com/kitsoki/host"
)

// GrantsNothing is what the screen says of a question that could be taken for a permission.
const GrantsNothing = "an agent's question: the answer is words and grants nothing"

// Poses reports whether question n of an ask could be taken for a permission, or for a proposal of the host's, by what it
// says or by the names that the agent gave to those who ask. Only the host itself proposes actions; whatever is answered
// to an agent is words, and the screen says so where that could be mistaken.
func Poses(info host.AskInfo, n int) bool {
	return info.Kind != host.KindProposal &&
		(slices.ContainsFunc(info.Asker.Path, posing) || SoundsLikePermission(info.Kind, info.Questions[n]))
}

// SoundsLikePermission reports whether one question of an agent could be taken for a permission or a proposal. Words
// count as what they look like.
func SoundsLikePermission(kind host.Kind, q host.OperatorQuestion) bool {
	if kind == host.KindProposal {
		return false
	}
	if posing(q.Header) {
		return true
	}
	for line := range strings.SplitSeq(q.Question, "\n") {
		if Opens(line, "proposal") || framed(line) {
			return true
		}
	}
	scopes := 0
	for _, o := range q.Options {
		if framed(o.Label) || slices.ContainsFunc(strings.Split(o.Description, "\n"), framed) {
			return true
		}
		words := likeWords(o.Label)
		if len(words) == 0 {
			continue
		}
		if slices.Contains([]string{"allow", "allowed", "deny", "approve", "reject", "grant", "permit", "forbid"}, words[0]) {
			return true
		}
		if slices.Contains([]string{"turn", "action", "session"}, strings.Join(words, "")) {
			scopes++
		}
	}
	return scopes > 1
}

// posing reports whether a short text of an agent's, such as a header, names what only the host does.
func posing(text string) bool {
	if framed(text) {
		return true
	}
	like := strings.Join(likeWords(text), "")
	return slices.ContainsFunc([]string{"permission", "approv", "allow", "proposal", "grant", "authori"}, func(word string) bool {
		return strings.Contains(like, word)
	})
}

// Opens reports whether a line begins with these words, or with such that look like them.
func Opens(line, words string) bool {
	have, want := likeWords(line), strings.Fields(words)
	return len(have) >= len(want) && slices.Equal(have[:len(want)], want)
}

// framed reports whether a text draws with the signs that proposals are framed with.
func framed(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= '═' && r <= '╬' })
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
