// Package transcript is the log of a session on the screen: what was said and done, cut into lines once and
// drawn a window at a time. It can be searched, and runs of tool calls in it are folded.
package transcript

import (
	"strings"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/styles"
)

// maxLines bounds what is kept; the oldest blocks go first, slack lines at a time. maxCalls bounds the calls that
// folded runs keep.
const (
	maxLines = 10_000
	slack    = 2_000
	maxCalls = 20_000
)

// maxDirty is how many blocks may wait to be cut anew. They wait for the next look at the log, so that a flood of
// changes to a block costs one cut a frame.
const maxDirty = 256

// Model is the log. The zero value needs Resize before it draws anything.
type Model struct {
	st     styles.Styles
	width  int
	blocks []*block
	total  int // lines
	up     int // lines scrolled up from the end; 0 follows it

	dirty    int               // blocks to cut anew
	calls    int               // in all blocks
	running  map[string]*block // the runs of the tool calls that are not done, by the calls' keys
	sent     map[string]*block // the answers that the agent has not taken, by the asks' keys
	unfolded bool
	search   search
}

// New makes an empty log.
func New(st styles.Styles) *Model {
	return &Model{st: st, width: 80, running: map[string]*block{}, sent: map[string]*block{}}
}

// Resize sets the width, which cuts all lines anew.
func (m *Model) Resize(width int) {
	if width == m.width || width < 1 {
		return
	}
	m.width = width
	m.recutAll()
}

// Add takes one event of the session.
func (m *Model) Add(e session.Event) {
	switch e.Kind {
	case session.TurnStarted:
		m.append(&block{kind: e.Kind, mark: "> ", text: e.Text})
	case session.Delta, session.Said:
		m.say(e)
	case session.Tool:
		m.tool(e)
	case session.ToolDone:
		m.toolDone(e)
	case session.AskOpened:
		m.append(&block{kind: e.Kind, mark: "? ", text: strings.TrimSpace(strings.Join(e.Path, " › ") + " asks: " + e.Text)})
	case session.AskSettled:
		m.settle(e)
	case session.AskDelivery:
		m.delivered(e)
	case session.Notice:
		m.append(&block{kind: e.Kind, mark: "! ", text: e.Text, bad: e.Failed})
	case session.TurnEnded:
		switch {
		case e.Failed || e.Stopped:
			m.append(&block{kind: e.Kind, mark: "! ", text: e.Text, bad: e.Failed})
		case e.Text != "":
			m.append(&block{kind: session.Notice, mark: "= ", text: e.Text})
		}
	}
}

// Empty reports whether there is nothing in the log yet.
func (m *Model) Empty() bool { return len(m.blocks) == 0 }

// Note adds a line of the screen's own.
func (m *Model) Note(text string) { m.append(&block{kind: session.Notice, mark: "! ", text: text}) }

func (m *Model) append(b *block) {
	if last := m.last(); last != nil && last.kind == session.Tool {
		m.change(last) // it folds
	}
	m.blocks = append(m.blocks, b)
	m.cut(b)
	m.total += len(b.lines)
	for _, up := range m.marks() {
		*up += len(b.lines)
	}
	if m.dirty > maxDirty {
		m.flush()
	}
	if m.total > maxLines+slack || m.calls > maxCalls+slack {
		m.drop()
	}
}

func (m *Model) last() *block {
	if len(m.blocks) == 0 {
		return nil
	}
	return m.blocks[len(m.blocks)-1]
}

// drop lets the oldest blocks go.
func (m *Model) drop() {
	m.flush()
	n := 0
	for (m.total > maxLines || m.calls > maxCalls) && n < len(m.blocks)-1 {
		b := m.blocks[n]
		m.total -= len(b.lines)
		m.calls -= len(b.calls)
		for _, c := range b.calls {
			if m.running[c.key] == b {
				delete(m.running, c.key)
			}
		}
		if m.sent[b.key] == b {
			delete(m.sent, b.key)
		}
		n++
	}
	m.blocks = append(m.blocks[:0:0], m.blocks[n:]...)
}

// change has a block cut anew before the log is looked at next.
func (m *Model) change(b *block) {
	if !b.dirty {
		b.dirty = true
		m.dirty++
	}
}

func (m *Model) recutAll() {
	for _, b := range m.blocks {
		b.stream = nil
		m.change(b)
	}
	m.flush()
}

// flush cuts the changed blocks anew, and keeps the window on what it shows.
func (m *Model) flush() {
	below := 0
	for i := len(m.blocks) - 1; i >= 0 && m.dirty > 0; i-- {
		b := m.blocks[i]
		if b.dirty {
			before := len(b.lines)
			m.cut(b)
			b.dirty = false
			m.dirty--
			grown := len(b.lines) - before
			m.total += grown
			for _, up := range m.marks() {
				if *up > below { // the window's end is above the block's
					*up = max(below, *up+grown)
				}
			}
		}
		below += len(b.lines)
	}
}

// marks are the places in the log that are held while it grows, as lines up from the end. The end itself is none.
func (m *Model) marks() []*int {
	var out []*int
	for _, up := range []*int{&m.up, &m.search.from} {
		if *up > 0 {
			out = append(out, up)
		}
	}
	return out
}

// Scroll moves the window up (positive) or down by lines.
func (m *Model) Scroll(lines, height int) {
	m.flush()
	m.up = max(0, min(m.up+lines, m.total-height))
}

// Bottom follows the end again.
func (m *Model) Bottom() { m.up = 0 }

// Up is how many lines are below the window.
func (m *Model) Up() int {
	m.flush()
	return m.up
}

// View returns exactly height lines: the window onto the log.
func (m *Model) View(height int) []string {
	m.flush()
	// Counted from the end of the log, the window has the lines from low up to high.
	low := min(m.up, max(0, m.total-height))
	high := low + height
	from, below := len(m.blocks), 0
	for ; from > 0 && below < high; from-- {
		below += len(m.blocks[from-1].lines)
	}
	var lines []string
	for _, b := range m.blocks[from:] {
		below -= len(b.lines)
		first, end := max(0, below+len(b.lines)-high), len(b.lines)-max(0, low-below)
		if first < end {
			lines = append(lines, b.lines[first:end]...)
			m.markHits(lines[len(lines)-(end-first):], first, b)
		}
	}
	return cells.Fit(lines, height)
}
