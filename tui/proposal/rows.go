package proposal

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"example.com/kitsoki/tui/cells"
)

// rowLines draws the rows; cut reports whether what one means had to be shortened.
func (m *Model) rowLines() (lines []string, cut bool) {
	if m.narrow() {
		return m.narrowRows()
	}
	label := 0
	for _, o := range m.rows {
		label = max(label, cells.Width(tokens(o.Label)))
	}
	label = min(label, m.inner()/2)
	room := max(1, m.inner()-label-6)
	var whole, short []string
	for i, o := range m.rows {
		mark, st := m.rowLook(i)
		head := fmt.Sprintf("%s%d %s", mark, i+1, cells.Pad(tokens(o.Label), label))
		text := strings.ReplaceAll(tokens(o.Description), "\n", " ")
		wrapped := cells.Indent(cells.Wrap(text, room), head+"  ")
		for n := range wrapped {
			wrapped[n] = st.Render(wrapped[n])
		}
		whole = append(whole, wrapped...)
		cut = cut || len(wrapped) > 1
		short = append(short, st.Render(head+"  "+cells.Cut(text, room)))
	}
	if !m.compact() && len(whole) <= max(len(m.rows), m.height/3) {
		return whole, false
	}
	return short, cut
}

// rowLook is the mark of a row, and its style: lit, dim while it cannot be chosen, or as it is.
func (m *Model) rowLook(i int) (mark string, st lipgloss.Style) {
	switch {
	case i == m.lit && m.ended == "":
		return "> ", m.st.Lit
	case m.ended != "", m.allows(i) && !m.EndShown(), m.stage == sure:
		return "  ", m.st.Dim
	}
	return "  ", m.st.Strong
}

// narrowRows draws the rows one beside the other, and below them what the lit one means.
func (m *Model) narrowRows() (lines []string, cut bool) {
	most := 2
	if m.height < 12 {
		most = 1
	}
	line, used, means := "", 0, make([]string, most)
	for i, o := range m.rows {
		mark, st := m.rowLook(i)
		part := cells.Cut(fmt.Sprintf("%s%d %s", mark[:1], i+1, tokens(o.Label)), m.inner())
		switch {
		case used > 0 && used+1+cells.Width(part) > m.inner():
			lines, line, used = append(lines, line), "", 0
		case used > 0:
			line, used = line+" ", used+1
		}
		line += st.Render(part)
		used += cells.Width(part)
		wrapped := cells.Wrap(strings.ReplaceAll(tokens(o.Description), "\n", " "), m.inner())
		cut = cut || len(wrapped) > most
		if i == m.lit {
			copy(means, wrapped)
			if len(wrapped) > most {
				means[most-1] = cells.Cut(means[most-1]+"…", m.inner())
			}
		}
	}
	lines = append(lines, line)
	for _, l := range means {
		lines = append(lines, m.st.Dim.Render(l))
	}
	return lines, cut
}
