package proposal

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/question"
)

// head is the first line: the word, what it would do, who would do it, and how long there is.
func (m *Model) head(f Frame) string {
	who := Who(m.info)
	if f.Session != "" {
		who = f.Session + ": " + who
	}
	left := " · " + string(m.p.Effect) + " · " + who + " "
	var right string
	var room int
	for _, right = range m.clocks(f) { // the longest one beside which it is said who it is
		if room = m.width - cells.Width(topLeft) - len(Word) - cells.Width(right) - 1; cells.Width(left) <= room {
			break
		}
	}
	left = cells.Cut(left, max(1, room))
	fill := strings.Repeat(across, max(0, room-cells.Width(left))) + across
	word := m.st.Warn.Reverse(true)
	if m.ended != "" {
		word = m.st.Dim
	}
	return m.edge(topLeft) + word.Render(Word) + m.st.Title.Render(left) + m.edge(fill) + m.clockLook(f).Render(right)
}

// clocks are the ways to say in the head which proposal this is and how long it waits, the longest first. Where there is
// no room for it the rule below the text says it.
func (m *Model) clocks(f Frame) []string {
	wait := m.info.Deadline.Sub(f.Now)
	sign := ""
	if wait < loud && m.st.Plain {
		sign = " !!"
	}
	switch {
	case m.ended != "":
		return []string{" ended: " + m.ended + " "}
	case m.narrow():
		return []string{""}
	}
	return []string{
		fmt.Sprintf("%s %d of %d · waits %s of %s · + more time ", sign, f.Nth, f.All, question.Clock(wait), question.Clock(m.info.Deadline.Sub(m.info.Opened))),
		fmt.Sprintf("%s %d of %d · waits %s · + ", sign, f.Nth, f.All, question.Clock(wait)),
		fmt.Sprintf("%s %d/%d %s + ", sign, f.Nth, f.All, question.Clock(wait)),
	}
}

func (m *Model) clockLook(f Frame) lipgloss.Style {
	switch wait := m.info.Deadline.Sub(f.Now); {
	case m.ended != "":
		return m.st.Dim
	case wait < loud:
		return m.st.Warn
	}
	return m.st.Title
}

// narrowClock is what the head has no room for.
func (m *Model) narrowClock() string {
	if !m.narrow() || m.ended != "" {
		return ""
	}
	wait := m.info.Deadline.Sub(m.frame.Now)
	text := fmt.Sprintf(" %d/%d %s + ", m.frame.Nth, m.frame.All, question.Clock(wait))
	if wait < loud && m.st.Plain {
		text = " !!" + text
	}
	return text
}

// loud is how long before the deadline the countdown is drawn so that it is noticed.
const loud = 20 * time.Second
