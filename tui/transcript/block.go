package transcript

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/markdown"
)

// block is one thing in the log, with its lines for the present width.
type block struct {
	kind   session.Kind
	key    string
	mark   string
	text   string
	how    string // an answer was given: how much of it, and where
	status string // what became of it
	bad    bool
	calls  []call // of a run of tool calls

	message strings.Builder  // what was said; only its end changes while it is open
	open    bool             // deltas still come
	path    string           // who says it
	stream  *markdown.Stream // draws an open message
	settled []string         // the lines of an open message that stay

	lines []string
	dirty bool // the lines are older than the rest
	hits  []hit
}

func from(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return strings.Join(path, " › ") + " › "
}

// maxOpen is how far back a message is looked for that a delta belongs to.
const maxOpen = 64

// say writes a message: deltas grow the block that is open, the whole message takes its place.
func (m *Model) say(e session.Event) {
	var b *block
	for i := len(m.blocks) - 1; i >= 0 && i > len(m.blocks)-maxOpen; i-- {
		if c := m.blocks[i]; c.open && c.key == e.Key {
			b = c
			break
		}
	}
	if b == nil {
		b = &block{kind: session.Said, key: e.Key, mark: "  ", path: from(e.Path), open: e.Kind == session.Delta}
		b.write(e.Text)
		m.append(b)
		return
	}
	if e.Kind == session.Said {
		b.message.Reset()
		b.open, b.stream, b.settled = false, nil, nil
	}
	b.write(e.Text)
	m.change(b)
}

// write adds to a message. Its writer stands before the first word, or on a line of its own where there would be
// no list, table or code after it.
func (b *block) write(text string) {
	if b.message.Len() == 0 {
		if text = strings.TrimLeft(text, "\n"); text == "" {
			return
		}
		b.message.WriteString(b.path)
		if r, _ := utf8.DecodeRuneInString(text); b.path != "" && !unicode.IsLetter(r) {
			b.message.WriteByte('\n')
		}
	}
	b.message.WriteString(text)
}

// settle writes down how an ask ended.
func (m *Model) settle(e session.Event) {
	b := &block{kind: e.Kind, key: e.Key, mark: "= ", text: from(e.Path) + e.Text}
	if e.Outcome != host.Answered {
		b.mark, b.text = "- ", about(e)+"not answered: "+strings.ReplaceAll(string(e.Outcome), "_", " ")+on(e.Surface)
		if e.Text != "" {
			b.text += " (" + e.Text + ")"
		}
		m.append(b)
		return
	}
	b.how, b.status = partly(e.Text)+on(e.Surface), "sent"
	if strings.HasPrefix(b.how, " ") {
		b.how = "answered" + b.how
	}
	m.sent[e.Key] = b
	m.append(b)
}

// about names the ask that an outcome without an answer belongs to.
func about(e session.Event) string {
	words := strings.TrimSuffix(from(e.Path), " › ")
	if e.Question != "" {
		words = strings.TrimPrefix(words+" “"+cells.Cut(e.Question, questionCells)+"”", " ")
	}
	if words == "" {
		return ""
	}
	return words + " "
}

// questionCells is how much of a question an outcome quotes.
const questionCells = 40

// on names the surface that settled an ask, unless it is this one.
func on(surface string) string {
	if surface == "" || surface == "terminal" {
		return ""
	}
	return " on " + surface
}

// partly counts the questions that have an answer, where some have none. It reads the session's text, which has a
// line a question.
func partly(text string) string {
	lines, left := strings.Split(text, "\n"), 0
	for _, l := range lines {
		const skipped = ": (skipped)"
		if strings.HasSuffix(l, skipped) || strings.Contains(l, skipped+" (note: ") {
			left++
		}
	}
	if left == 0 || len(lines) == 1 {
		return ""
	}
	return fmt.Sprintf("%d of %d answered", len(lines)-left, len(lines))
}

// delivered says of an answer that the agent took it, or that it did not.
func (m *Model) delivered(e session.Event) {
	if b := m.sent[e.Key]; b != nil {
		b.status = "taken"
		if e.Failed {
			b.bad, b.status = true, "sent, not taken"
		}
		delete(m.sent, e.Key)
		m.change(b)
	}
	if e.Failed {
		m.append(&block{kind: session.Notice, mark: "! ", bad: true, text: "the answer did not reach the agent; it was gone by then"})
	}
}

// cut makes the lines of a block for the present width, and finds in them what is searched.
func (m *Model) cut(b *block) {
	switch b.kind {
	case session.Tool:
		b.lines = m.runLines(b, m.unfolded)
		if b.hits = m.find(b.lines); m.searching() && !m.unfolded {
			all := m.runLines(b, true)
			if hits := m.find(all); len(hits) > 0 {
				b.lines, b.hits = all, hits
			}
		}
		return
	case session.Said:
		b.lines = m.messageLines(b)
	default:
		b.lines = m.textLines(b)
	}
	b.hits = m.find(b.lines)
}

func (m *Model) messageLines(b *block) []string {
	w := max(1, m.width-2)
	if !b.open {
		return ended(cells.Indent(markdown.Lines(b.message.String(), w, m.st), b.mark))
	}
	if b.stream == nil {
		b.stream, b.settled = markdown.NewStream(w, m.st), nil
	}
	settled, open := b.stream.Next(b.message.String())
	b.settled = append(b.settled, cells.Indent(settled, b.mark)...)
	return ended(append(b.settled, cells.Indent(open, b.mark)...))
}

// ended makes one empty line of those at the end of a message.
func ended(lines []string) []string {
	for len(lines) > 1 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return append(lines, "")
}

func (m *Model) textLines(b *block) []string {
	text := b.text
	if b.status != "" {
		end := " · "
		if strings.Contains(text, "\n") {
			end = "\n" // it is about all the lines
		}
		if text += end; b.how != "" {
			text += b.how + " · "
		}
		text += b.status
	}
	style := m.st.Dim
	switch {
	case b.bad:
		style = m.st.Bad
	case b.kind == session.TurnStarted:
		style = m.st.Title
	case b.kind == session.AskOpened:
		style = m.st.Warn
	case b.kind == session.AskSettled && b.mark == "= ":
		style = m.st.Good
	}
	lines := cells.Indent(cells.Wrap(text, max(1, m.width-2)), b.mark)
	for i, l := range lines {
		lines[i] = style.Render(l)
	}
	if b.kind == session.TurnStarted || b.kind == session.AskSettled {
		lines = append(lines, "")
	}
	return lines
}
