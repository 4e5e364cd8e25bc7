// Package transcript is the log of a session on the screen: what was said and done, cut into lines once and
// drawn a window at a time.
package transcript

import (
	"strings"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/styles"
)

// maxLines bounds what is kept; the oldest blocks go first, slack lines at a time.
const (
	maxLines = 10_000
	slack    = 2_000
)

// block is one thing in the log, with its lines for the present width.
type block struct {
	kind   session.Kind
	key    string
	mark   string
	text   string
	status string // what became of it, such as the result of a tool
	bad    bool
	open   bool // deltas still come
	lines  []string
}

// Model is the log. The zero value needs Resize before it draws anything.
type Model struct {
	st     styles.Styles
	width  int
	blocks []*block
	total  int // lines
	up     int // lines scrolled up from the end; 0 follows it
}

// New makes an empty log.
func New(st styles.Styles) *Model { return &Model{st: st, width: 80} }

// Resize sets the width, which cuts all lines anew.
func (m *Model) Resize(width int) {
	if width == m.width || width < 1 {
		return
	}
	m.width, m.total = width, 0
	for _, b := range m.blocks {
		b.lines = m.cut(b)
		m.total += len(b.lines)
	}
}

// Add takes one event of the session.
func (m *Model) Add(e session.Event) {
	switch e.Kind {
	case session.TurnStarted:
		m.append(&block{kind: e.Kind, mark: "> ", text: e.Text})
	case session.Delta, session.Said:
		m.say(e)
	case session.Tool:
		m.append(&block{kind: e.Kind, key: e.Key, mark: "* ", text: from(e.Path) + e.Tool + " " + e.Text})
	case session.ToolDone:
		m.toolDone(e)
	case session.AskOpened:
		m.append(&block{kind: e.Kind, key: e.Key, mark: "? ", text: strings.TrimSpace(strings.Join(e.Path, " › ") + " asks: " + e.Text)})
	case session.AskSettled:
		m.append(settled(e))
	case session.AskDelivery:
		if e.Failed {
			m.append(&block{kind: session.Notice, mark: "! ", bad: true, text: "the answer did not reach the agent; it was gone by then"})
		}
	case session.Notice:
		m.append(&block{kind: e.Kind, mark: "! ", text: e.Text, bad: e.Failed})
	case session.TurnEnded:
		if e.Failed || e.Stopped {
			m.append(&block{kind: e.Kind, mark: "! ", text: e.Text, bad: e.Failed})
		}
	}
}

// Note adds a line of the screen's own.
func (m *Model) Note(text string) { m.append(&block{kind: session.Notice, mark: "! ", text: text}) }

func from(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return strings.Join(path, " › ") + " › "
}

func settled(e session.Event) *block {
	b := &block{kind: e.Kind, key: e.Key, mark: "= ", text: e.Text}
	if e.Outcome != host.Answered {
		words := "not answered: " + strings.ReplaceAll(string(e.Outcome), "_", " ")
		if e.Text != "" {
			words += " (" + e.Text + ")"
		}
		b.mark, b.text = "- ", words
	}
	return b
}

// say writes a message: deltas grow the block that is open, the whole message takes its place.
func (m *Model) say(e session.Event) {
	var b *block
	for i := len(m.blocks) - 1; i >= 0 && i > len(m.blocks)-64; i-- {
		if c := m.blocks[i]; c.open && c.key == e.Key {
			b = c
			break
		}
	}
	if b == nil {
		b = &block{kind: session.Said, key: e.Key, mark: "  ", status: from(e.Path), open: true}
		b.text, b.open = e.Text, e.Kind == session.Delta
		m.append(b)
		return
	}
	if e.Kind == session.Delta {
		b.text += e.Text
	} else {
		b.text, b.open = e.Text, false
	}
	m.recut(b)
}

func (m *Model) toolDone(e session.Event) {
	for i := len(m.blocks) - 1; i >= 0; i-- {
		b := m.blocks[i]
		if b.kind != session.Tool || b.key != e.Key {
			continue
		}
		if e.Failed {
			b.bad, b.status = true, "failed: "+e.Text
		} else {
			b.status = "ok"
		}
		m.recut(b)
		return
	}
}

func (m *Model) append(b *block) {
	b.lines = m.cut(b)
	m.blocks = append(m.blocks, b)
	m.grew(len(b.lines))
	if m.total > maxLines+slack {
		m.drop()
	}
}

// drop lets the oldest blocks go.
func (m *Model) drop() {
	n := 0
	for m.total > maxLines && n < len(m.blocks)-1 {
		m.total -= len(m.blocks[n].lines)
		n++
	}
	m.blocks = append(m.blocks[:0:0], m.blocks[n:]...)
}

func (m *Model) recut(b *block) {
	before := len(b.lines)
	b.lines = m.cut(b)
	m.grew(len(b.lines) - before)
}

// grew keeps the window on what it shows when lines are added below it.
func (m *Model) grew(n int) {
	m.total += n
	if m.up > 0 {
		m.up = max(0, m.up+n)
	}
}

// cut makes the lines of a block for the present width.
func (m *Model) cut(b *block) []string {
	text := b.text
	if b.kind == session.Said && b.status != "" {
		text = b.status + text
	}
	if b.kind == session.Tool {
		line := text
		if b.bad {
			line += " · " + b.status
		} else if b.status != "" {
			line = cells.Spread(cells.Cut(line, m.width-6), b.status, m.width-2)
		}
		text = cells.Cut(line, max(1, m.width-2))
	}
	lines := cells.Wrap(text, max(1, m.width-2))
	style := m.st.Dim
	switch {
	case b.bad:
		style = m.st.Bad
	case b.kind == session.Said:
		return append(cells.Indent(lines, b.mark), "")
	case b.kind == session.TurnStarted:
		style = m.st.Title
	case b.kind == session.AskOpened:
		style = m.st.Warn
	case b.kind == session.AskSettled && b.mark == "= ":
		style = m.st.Good
	}
	lines = cells.Indent(lines, b.mark)
	for i, l := range lines {
		lines[i] = style.Render(l)
	}
	if b.kind == session.TurnStarted || b.kind == session.AskSettled {
		lines = append(lines, "")
	}
	return lines
}

// Scroll moves the window up (positive) or down by lines.
func (m *Model) Scroll(lines, height int) {
	m.up = max(0, min(m.up+lines, m.total-height))
}

// Bottom follows the end again.
func (m *Model) Bottom() { m.up = 0 }

// Up is how many lines are below the window.
func (m *Model) Up() int { return m.up }

// View returns exactly height lines: the window onto the log.
func (m *Model) View(height int) []string {
	skip := min(m.up, max(0, m.total-height))
	need := height + skip
	var parts []*block
	for i := len(m.blocks) - 1; i >= 0 && need > 0; i-- {
		parts = append(parts, m.blocks[i])
		need -= len(m.blocks[i].lines)
	}
	var lines []string
	for i := len(parts) - 1; i >= 0; i-- {
		lines = append(lines, parts[i].lines...)
	}
	lines = lines[:len(lines)-min(skip, len(lines))]
	if len(lines) > height {
		lines = lines[len(lines)-height:]
	}
	return cells.Fit(lines, height)
}
