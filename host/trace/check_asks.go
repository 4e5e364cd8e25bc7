package trace

import (
	"slices"

	"example.com/kitsoki/host"
)

// question checks the events of asks.
func (c *checker) question(e host.Event) {
	switch e := e.(type) {
	case AskNormalised:
		if c.guests && e.Turn == 0 {
			return
		}
		c.inTurn(e.Name(), e.Turn) // and no more: an ask that is refused on arrival is never asked
	case host.QuestionAsked:
		c.asked(e)
	case host.QuestionAnswered:
		if e.Outcome != host.Answered {
			c.fail("the ask %q was answered with the outcome %q", e.QuestionID, e.Outcome)
		}
		if a := c.ended(e.QuestionID, e.ToolUseID, e.Outcome); a != nil {
			c.answers(a.asked, e.Answers, true)
		}
	case host.QuestionUnanswered:
		if !unanswered(e.Outcome) {
			c.fail("the ask %q ended without an answer and with the outcome %q", e.QuestionID, e.Outcome)
		}
		if a := c.ended(e.QuestionID, e.ToolUseID, e.Outcome); a != nil && len(e.Partial) > 0 {
			c.answers(a.asked, e.Partial, false)
		}
	case host.QuestionDelivered:
		c.delivered(e)
	case host.WriteModeGranted:
		c.verdict(e)
	}
}

// verdict checks what the write-mode gate says of an action: an operator's yes is the answer to a proposal, and what
// leaves the machine was asked for alone.
func (c *checker) verdict(e host.WriteModeGranted) {
	c.inTurn(e.Name(), e.Turn)
	if e.Granted && e.Effect != host.EffectWrite && e.Scope != host.ScopeAction {
		c.fail("the action %q (%s) was allowed for a %s", e.Hash, e.Effect, e.Scope)
	}
	if e.Question == "" {
		if e.Granted && e.By == "operator" {
			c.fail("the operator allowed the action %q and was not asked", e.Hash)
		}
		return
	}
	a := c.asks[e.Question]
	switch {
	case a == nil:
		c.missing("the action %q was asked for as %q, which is no ask", e.Hash, e.Question)
		return
	case a.asked.Kind != host.KindProposal:
		c.fail("the action %q was asked for as %q, which is no proposal", e.Hash, e.Question)
	case e.Granted && e.By == "operator" && a.outcome != host.Answered:
		c.missing("the action %q was allowed, and its proposal %q was not answered", e.Hash, e.Question)
	}
	a.judged = true
}

func unanswered(o host.Outcome) bool {
	switch o {
	case host.Declined, host.Cancelled, host.TimedOut, host.NoOperator, host.AskerGone, host.HostClosing:
		return true
	}
	return false
}

func (c *checker) asked(e host.QuestionAsked) {
	if e.QuestionID == "" {
		c.fail("an ask has no question_id")
	}
	if c.asks[e.QuestionID] != nil {
		c.fail("the ask %q was asked twice", e.QuestionID)
		return
	}
	if c.guests != e.Asker.Guest {
		c.fail("the ask %q of %q is in the wrong session: guest %t", e.QuestionID, e.Asker.Agent, e.Asker.Guest)
	}
	if c.guests && e.Kind != host.KindQuestion {
		c.fail("the ask %q of a guest is a %s", e.QuestionID, e.Kind)
	}
	if e.ToolUseID != "" && c.turn == 0 && !c.guests {
		c.missing("the ask %q belongs to no turn", e.QuestionID)
	}
	if len(e.Questions) == 0 {
		c.fail("the ask %q has no question", e.QuestionID)
	}
	c.asks[e.QuestionID] = &ask{asked: e, turn: c.turn}
}

// ended notes the end of an ask. It returns nil when there was none to end.
func (c *checker) ended(id, toolUseID string, outcome host.Outcome) *ask {
	a := c.asks[id]
	if a == nil {
		c.missing("the ask %q ended as %s and was not asked before", id, outcome)
		return nil
	}
	if a.ended != 0 {
		c.fail("the ask %q ended as %s, and had ended before (%d)", id, outcome, a.ended)
		return nil
	}
	if a.asked.ToolUseID != toolUseID {
		c.fail("the ask %q was asked by the tool call %q and ended for %q", id, a.asked.ToolUseID, toolUseID)
	}
	a.ended, a.outcome = c.seq, outcome
	return a
}

func (c *checker) delivered(e host.QuestionDelivered) {
	switch a := c.asks[e.QuestionID]; {
	case a == nil:
		c.missing("the answer to the ask %q was delivered, and it was not asked before", e.QuestionID)
	case a.outcome != host.Answered && (a.outcome != host.Declined || a.asked.Reopens == ""): // a message, not a result
		c.missing("the answer to the ask %q was delivered before it was answered", e.QuestionID)
	case a.delivered:
		c.fail("the answer to the ask %q was delivered twice", e.QuestionID)
	default:
		a.delivered = true
	}
}

// answers checks that answers belong to the questions they claim to answer. Of an ask that was not answered some
// may say nothing.
func (c *checker) answers(asked host.QuestionAsked, as []host.TracedAnswer, whole bool) {
	id := asked.QuestionID
	if len(as) != len(asked.Questions) {
		c.fail("the ask %q has %d questions and %d answers", id, len(asked.Questions), len(as))
		return
	}
	skipped := 0
	for i, a := range as {
		c.answer(id, i+1, asked.Questions[i], a, whole)
		if a.Skipped {
			skipped++
		}
	}
	if whole && skipped == len(as) {
		c.fail("the ask %q was answered with every question skipped", id)
	}
}

func (c *checker) answer(id string, n int, q host.TracedQuestion, a host.TracedAnswer, whole bool) {
	if len(a.Labels) != len(a.Indexes) {
		c.fail("the ask %q has for question %d %d indexes and %d labels", id, n, len(a.Indexes), len(a.Labels))
		return
	}
	for i, at := range a.Indexes {
		switch {
		case at < 0 || at >= len(q.Labels):
			c.fail("the ask %q has for question %d the index %d, and %d options", id, n, at, len(q.Labels))
		case a.Labels[i] != q.Labels[at]:
			c.fail("the ask %q has for question %d the label %q, and option %d is %q", id, n, a.Labels[i], at, q.Labels[at])
		}
	}
	if !slices.IsSorted(a.Indexes) || len(slices.Compact(slices.Clone(a.Indexes))) != len(a.Indexes) {
		c.fail("the ask %q has for question %d the indexes %v, which do not ascend", id, n, a.Indexes)
	}
	chosen := len(a.Indexes) > 0 || a.Text != ""
	switch {
	case len(a.Indexes) > 1 && !q.MultiSelect:
		c.fail("the ask %q has for question %d %d answers where one can be picked", id, n, len(a.Indexes))
	case a.Skipped && chosen:
		c.fail("the ask %q has for question %d an answer and skips it", id, n)
	case whole && !a.Skipped && !chosen && !q.MultiSelect:
		c.fail("the ask %q has for question %d an answer that says nothing", id, n)
	}
}
