package question

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
)

// chips name the questions, and where each stands. When there are more than fit, those around the focus are shown.
func (m *Model) chips() string {
	var chips []string
	for i, q := range m.sheet.Questions {
		chips = append(chips, m.chip(i, q))
	}
	chips = append(chips, m.focusChip("Review", m.sheet.OnReview(), m.st.Chip))
	from, to, used := m.sheet.Focus, m.sheet.Focus+1, cells.Width(chips[m.sheet.Focus])
	room := m.width - 2
	if all := cells.Width(strings.Join(chips, " ")); all > room {
		room -= 4 // for the signs that something is left out
	}
	for grown := true; grown; {
		grown = false
		if to < len(chips) && used+1+cells.Width(chips[to]) <= room {
			used += 1 + cells.Width(chips[to])
			to, grown = to+1, true
		}
		if from > 0 && used+1+cells.Width(chips[from-1]) <= room {
			used += 1 + cells.Width(chips[from-1])
			from, grown = from-1, true
		}
	}
	line := strings.Join(chips[from:to], " ")
	if from > 0 {
		line = "< " + line
	}
	if to < len(chips) {
		line += " >"
	}
	return " " + line
}

func (m *Model) chip(i int, q host.OperatorQuestion) string {
	d := m.sheet.Drafts[i]
	name := q.Header
	if name == "" {
		name = strconv.Itoa(i + 1)
	}
	name = cells.Cut(strings.ReplaceAll(name, "\n", " "), chipCells)
	st := m.st.Chip
	switch {
	case d.Skipped:
		name += " skip"
	case d.Taken:
		name, st = name+" ok", m.st.Good
	case i == m.sheet.Focus:
		name += " .."
	case !answer(d).Empty():
		name += " draft"
	}
	return m.focusChip(name, i == m.sheet.Focus, st)
}

// focusChip draws the chip that has the focus so that it can be told without colours too.
func (m *Model) focusChip(name string, focused bool, st lipgloss.Style) string {
	if focused && m.st.Plain {
		name = ">" + name
	}
	if focused {
		st = m.st.ChipLit
	}
	return st.Render("[" + name + "]")
}

// chipCells is how much of a header a chip shows.
const chipCells = 12
