package tui

import (
	"fmt"
	"strings"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
)

// strip is the line that names the sessions and what each does; no line while there is one session. The shown one
// is always in view.
func (m *Model) strip() []string {
	if len(m.panes) < 2 {
		return nil
	}
	from, to := 0, 0
	for i, p := range m.panes {
		if p == m.at {
			from, to = i, i+1
		}
	}
	room := m.width - 5 // for the signs that something is left out
	used := cells.Width(m.stripPart(from))
	for grown := true; grown; {
		grown = false
		if to < len(m.panes) && used+1+cells.Width(m.stripPart(to)) <= room {
			used += 1 + cells.Width(m.stripPart(to))
			to, grown = to+1, true
		}
		if from > 0 && used+1+cells.Width(m.stripPart(from-1)) <= room {
			used += 1 + cells.Width(m.stripPart(from-1))
			from, grown = from-1, true
		}
	}
	var parts []string
	if from > 0 {
		parts = append(parts, "<")
	}
	for i := from; i < to; i++ {
		parts = append(parts, m.stripPart(i))
	}
	if to < len(m.panes) {
		parts = append(parts, ">")
	}
	return []string{cells.Cut(" "+strings.Join(parts, " "), m.width)}
}

// stripPart names one session.
func (m *Model) stripPart(i int) string {
	p, st := m.panes[i], m.opt.Styles
	doing, look := p.doing(), st.Dim
	switch {
	case p.snap.State == session.Asking:
		look = st.Warn
	case p.snap.State == session.Failed:
		look = st.Bad
	case p.unseen, p.snap.State == session.Working:
		look = st.Good
	}
	name := fmt.Sprintf("%d %s: %s", i+1, cells.Cut(p.snap.Title, stripTitle), doing)
	if p != m.at {
		return look.Render(name)
	}
	if st.Plain {
		name = ">" + name
	}
	return st.ChipLit.Render("[" + name + "]")
}

const stripTitle = 16

// doing says what a session does, in a word or two.
func (p *pane) doing() string {
	switch {
	case p.closing:
		return "closing"
	case p.snap.State == session.Asking:
		return fmt.Sprintf("asking %d", p.snap.Asks)
	case p.snap.State == session.Failed && p.unseen:
		return "failed, unseen"
	case p.unseen:
		return "done, unseen"
	}
	return string(p.snap.State)
}
