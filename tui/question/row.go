package question

import (
	"slices"
	"strings"

	"example.com/kitsoki/host"
)

// OneChoice reports whether the ask is one single select, which can be answered from a row of a list.
func (m *Model) OneChoice() bool {
	qs := m.sheet.Questions
	return len(qs) == 1 && !qs[0].MultiSelect && len(qs[0].Options) > 0
}

// Choose makes option n the draft of an ask that is one choice; false when there is none. It sends nothing.
func (m *Model) Choose(n int) bool {
	if !m.OneChoice() || n < 0 || n >= len(m.sheet.Questions[0].Options) {
		return false
	}
	before := m.sheet
	m.sheet = m.sheet.visit(0)
	m.do(Action{Do: Light, N: n})
	if !slices.Contains(m.sheet.Draft().Picked, n) {
		m.do(Action{Do: Pick})
	}
	m.redraw(before)
	return true
}

// redraw follows a change that did not come through the form, which keeps what it drew last.
func (m *Model) redraw(before Sheet) {
	m.follow(before)
	m.newForm()
}

// Chosen is the option that an ask of one choice has as its draft.
func (m *Model) Chosen() (n int, ok bool) {
	if !m.OneChoice() || len(m.sheet.Drafts[0].Picked) != 1 {
		return 0, false
	}
	return m.sheet.Drafts[0].Picked[0], true
}

// TakeChosen sends the chosen option, as Enter on its row does: with an own answer beside it, through the review.
func (m *Model) TakeChosen() Asked {
	before := m.sheet
	n, ok := m.Chosen()
	if !ok {
		return Asked{}
	}
	m.sheet = m.sheet.visit(0)
	m.sheet.Place = List
	m.do(Action{Do: Light, N: n})
	asked := m.do(Action{Do: Take})
	if asked.Finished {
		m.sheet, asked.Effect = m.sheet.Advance()
	}
	m.redraw(before)
	return asked
}

// Drafted reports whether the operator has begun with the ask.
func (m *Model) Drafted() bool {
	return slices.ContainsFunc(m.sheet.Drafts, func(d host.Draft) bool { return !answer(d).Empty() || strings.TrimSpace(d.Note) != "" })
}

// CopyText is what a copy takes: the focused question with its options, and what the operator made of it; of an ask
// that is over, the operator's own words alone when there are any.
func (m *Model) CopyText() string {
	if m.ended != "" {
		if own := m.sheet.Unsent(nil, false); len(own) > 0 {
			return strings.Join(own, "\n")
		}
	}
	if m.sheet.OnReview() {
		var parts []string
		for i := range m.sheet.Questions {
			parts = append(parts, m.copyOf(i))
		}
		return strings.Join(parts, "\n\n")
	}
	return m.copyOf(m.sheet.Focus)
}

func (m *Model) copyOf(i int) string {
	q, d := m.sheet.Questions[i], m.sheet.Drafts[i]
	lines := []string{q.Question}
	for n, o := range q.Options {
		mark := "- "
		if slices.Contains(d.Picked, n) {
			mark = "* "
		}
		line := mark + o.Label
		if o.Description != "" {
			line += ": " + o.Description
		}
		lines = append(lines, line)
	}
	if d.Text != "" {
		lines = append(lines, "own answer: "+d.Text)
	}
	if d.Note != "" {
		lines = append(lines, "note: "+d.Note)
	}
	return strings.Join(lines, "\n")
}

// Ending says how the ask ended; empty while it is open.
func (m *Model) Ending() string { return m.ended }
