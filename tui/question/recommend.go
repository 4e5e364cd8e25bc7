package question

import (
	"fmt"
	"slices"
	"strings"

	"example.com/kitsoki/host"
)

// recommended reports whether the agent marked an option as what it would take, by the word that agents are told to
// put behind a label.
func recommended(o host.OperatorOption) bool {
	label := strings.ToLower(o.Label)
	return strings.Contains(label, "(recommended") || strings.HasSuffix(label, "[recommended]")
}

// recommend ticks the recommended options of the questions that nothing is answered of yet. What follows is for the
// operator to look at: it goes to the review, where there is one, and never sends.
func (s Sheet) recommend() Sheet {
	n := 0
	s.Drafts, s.Lit = slices.Clone(s.Drafts), slices.Clone(s.Lit)
	for i, q := range s.Questions {
		var rows []int
		for row, o := range q.Options {
			if recommended(o) {
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 || !answer(s.Drafts[i]).Empty() {
			continue
		}
		if !q.MultiSelect {
			rows = rows[:1]
		}
		s.Drafts[i].Picked, s.Drafts[i].Taken = rows, s.HasReview()
		s.Lit[i] = rows[0]
		n++
	}
	switch {
	case n == 0:
		s.Notice = "no open question has a row that is marked as recommended"
		return s
	case s.HasReview():
		s = s.visit(len(s.Questions))
		s.Notice = fmt.Sprintf("%s the recommended rows: look, then Enter sends", count(n, "question has", "questions have"))
	default:
		s.Notice = "the recommended row is lit: look, then Enter sends"
	}
	return s
}

// reason is what goes out as the reason of a decline. The words of an ask back say that it is one.
func (s Sheet) reason() string {
	words := strings.TrimSpace(s.Reason)
	switch {
	case !s.Back:
		return words
	case words == "":
		return "the operator asks you to explain more before deciding; explain in your own words, then ask again"
	}
	return "the operator asks back before deciding: " + words
}
