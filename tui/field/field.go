// Package field is a text field of several lines: bubbles' textarea, made exact, steady and visible without
// colour. The prompt and the own answers of asks are fields.
package field

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textarea"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/tui/cells"
)

// The textarea turns tabs into spaces. Inside it they are this noncharacter, which no text can hold, and on the
// screen an arrow.
const (
	innerTab = "\uFDD0"
	shownTab = '⇥'
)

// The textarea of bubbles 1.0 drops all beyond 10,000 lines without a word. Newlines beyond these are another
// noncharacter inside it.
const (
	innerLine = "\uFDD1"
	shownLine = '⏎'
	mostLines = 9_000
)

// Model is a text field. What is typed and pasted into it comes out exactly, but for the line ends of other
// systems, which become newlines.
type Model struct {
	area  textarea.Model
	width int
	most  int // lines that are shown at the most
}

// New makes an empty field. plain draws a cursor that can be seen where nothing is coloured or reversed.
func New(newLine key.Binding, plain bool) Model {
	a := textarea.New()
	a.ShowLineNumbers, a.Prompt, a.CharLimit, a.MaxHeight = false, "", 0, 0
	a.KeyMap.InsertNewline = newLine
	a.KeyMap.Paste.SetEnabled(false)          // the terminal's own paste arrives as one message
	_ = a.Cursor.SetMode(cursor.CursorStatic) // nothing blinks, so nothing redraws an idle screen
	a.FocusedStyle, a.BlurredStyle = textarea.Style{}, textarea.Style{}
	if plain {
		none := lipgloss.NewRenderer(io.Discard) // the terminal's own would reverse the cursor all the same
		none.SetColorProfile(termenv.Ascii)
		a.Cursor.Style = none.NewStyle().Transform(func(s string) string { return "|" + strings.TrimSuffix(s, " ") })
	}
	m := Model{area: a, most: 1}
	m.settle()
	return m
}

// Resize sets the width in cells and the most lines that are shown at once.
func (m *Model) Resize(width, most int) {
	width, most = max(1, width), max(1, most)
	if width == m.width && most == m.most {
		return
	}
	m.width, m.most = width, most
	m.area.SetWidth(width)
	m.settle()
}

// Height is how many lines the field takes now.
func (m *Model) Height() int {
	need := 0
	for line := range strings.SplitSeq(m.area.Value(), "\n") {
		need += len(cells.Wrap(line+" ", max(1, m.width)))
		if need >= m.most {
			return m.most
		}
	}
	return max(1, need)
}

// View is Height lines. What a terminal could take for more than text is drawn as one sign; the value keeps it.
func (m *Model) View() []string {
	view := strings.Map(func(r rune) rune {
		switch {
		case string(r) == innerTab:
			return shownTab
		case string(r) == innerLine:
			return shownLine
		case r == '\n', r == ansi.ESC, r < utf8.RuneSelf: // line ends, and the styles that draw the cursor
			return r
		case askbridge.Safe(string(r)) != string(r):
			return utf8.RuneError
		}
		return r
	}, m.area.View())
	return cells.Fit(strings.Split(view, "\n"), m.Height())
}

// Key does what a key means in a text field.
func (m *Model) Key(msg tea.KeyMsg) {
	if msg.Type == tea.KeyRunes {
		msg.Runes = []rune(m.inner(string(msg.Runes), m.area.LineCount()))
	}
	m.area, _ = m.area.Update(msg) // its commands only serve the blinking cursor, which is off
	m.settle()
}

// AtTop and AtBottom report whether the cursor is on the first line that is drawn, and on the last.
func (m *Model) AtTop() bool { return m.area.Line() == 0 && m.area.LineInfo().RowOffset == 0 }

// AtBottom is the opposite of AtTop.
func (m *Model) AtBottom() bool {
	info := m.area.LineInfo()
	return m.area.Line() == m.area.LineCount()-1 && info.RowOffset == info.Height-1
}

// Value is the text.
func (m *Model) Value() string {
	return strings.NewReplacer(innerTab, "\t", innerLine, "\n").Replace(m.area.Value())
}

// Set replaces the text and puts the cursor at its end.
func (m *Model) Set(text string) {
	m.area.SetValue(m.inner(text, 0))
	m.settle()
}

// Insert adds text at the cursor.
func (m *Model) Insert(text string) {
	m.area.InsertString(m.inner(text, m.area.LineCount()))
	m.settle()
}

// Focus and Blur say whether the keyboard works on the field, which then shows its cursor.
func (m *Model) Focus() { _ = m.area.Focus(); m.settle() } // the command only starts the blinking

// Blur is the opposite of Focus.
func (m *Model) Blur() { m.area.Blur() }

// settle brings the line of the cursor into view. The textarea does that in Update, by the height and the lines
// it had when it was drawn last; so its height never changes, and it is drawn once before it is asked.
func (m *Model) settle() {
	m.area.SetHeight(m.most)
	_ = m.area.View()
	m.area, _ = m.area.Update(nil)
}

// inner is a text as it stands in the textarea, behind so many lines that are there already.
func (m *Model) inner(text string, lines int) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", innerTab).Replace(text)
	at := 0
	for ; lines < mostLines; lines++ {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return text
		}
		at += n + 1
	}
	return text[:at] + strings.ReplaceAll(text[at:], "\n", innerLine)
}

// Normal gives a pasted text the line ends that a field gives it.
func Normal(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}
