package transcript

import (
	"fmt"
	"slices"
	"strings"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
)

// call is one use of a tool.
type call struct {
	key    string
	path   string // who calls
	tool   string
	text   string
	status string // what became of it
	bad    bool
}

// maxRun bounds the calls of one block, which is drawn as a whole; inView are those that are shown of the newest.
const (
	maxRun = 500
	inView = 3
)

// tool adds a call to the run of calls that is the newest thing in the log, or starts one.
func (m *Model) tool(e session.Event) {
	c := call{key: e.Key, path: from(e.Path), tool: e.Tool, text: e.Text}
	m.calls++
	b := m.last()
	if b == nil || b.kind != session.Tool || len(b.calls) >= maxRun {
		b = &block{kind: session.Tool, calls: []call{c}}
		m.running[c.key] = b
		m.append(b)
		return
	}
	b.calls = append(b.calls, c)
	m.running[c.key] = b
	m.change(b)
	if m.calls > maxCalls+slack {
		m.drop()
	}
}

func (m *Model) toolDone(e session.Event) {
	b := m.running[e.Key]
	if b == nil {
		return
	}
	delete(m.running, e.Key)
	for i := range b.calls {
		c := &b.calls[len(b.calls)-1-i]
		if c.key != e.Key {
			continue
		}
		if c.status = "ok"; e.Failed {
			c.bad, c.status = true, "failed: "+e.Text
		}
		break
	}
	m.change(b)
}

// ToggleFold shows every tool call, or folds the runs of them again.
func (m *Model) ToggleFold() {
	m.unfolded = !m.unfolded
	for _, b := range m.blocks {
		if b.kind == session.Tool {
			m.change(b)
		}
	}
	m.flush()
}

// runLines draws a run of calls: folded to one line, or while it is the newest thing the last of them below that.
func (m *Model) runLines(b *block, unfolded bool) []string {
	hidden := len(b.calls)
	if b == m.last() {
		hidden -= inView
	}
	if hidden < 2 || unfolded {
		hidden = 0
	}
	var lines []string
	if hidden > 0 {
		lines = append(lines, m.foldLine(b.calls[:hidden]))
		if hidden == len(b.calls) {
			return lines
		}
	}
	for _, c := range b.calls[hidden:] {
		lines = append(lines, m.callLine(c))
	}
	return lines
}

func (m *Model) callLine(c call) string {
	line, w := c.path+c.tool+" "+c.text, max(1, m.width-2)
	style := m.st.Dim
	switch {
	case c.bad:
		line += " · " + c.status
		style = m.st.Bad
	case c.status != "":
		line = cells.Spread(cells.Cut(line, m.width-6), c.status, w)
	}
	return style.Render("* " + cells.Cut(line, w))
}

// foldLine says how many calls there were of which tools, and which of them failed.
func (m *Model) foldLine(calls []call) string {
	var tools, failed []string
	count := map[string]int{}
	path := calls[0].path
	for _, c := range calls {
		if count[c.tool]++; count[c.tool] == 1 {
			tools = append(tools, c.tool)
		}
		if c.bad {
			failed = append(failed, c.tool+" "+c.text)
		}
		if c.path != path {
			path = ""
		}
	}
	slices.SortStableFunc(tools, func(a, b string) int { return count[b] - count[a] })
	for i, t := range tools {
		tools[i] = fmt.Sprintf("%s %d", t, count[t])
	}
	w := max(1, m.width-2)
	head, tail := fmt.Sprintf("%s%d tool calls: %s", path, len(calls), strings.Join(tools, ", ")), ""
	if len(failed) > 0 {
		tail = fmt.Sprintf(" · %d failed: %s", len(failed), strings.Join(failed, ", "))
	}
	head = cells.Cut(head, max(w/2, w-cells.Width(tail))) // half of the line at least says what failed
	if tail = cells.Cut(tail, w-cells.Width(head)); tail != "" {
		tail = m.st.Bad.Render(tail)
	}
	return m.st.Dim.Render("* "+head) + tail
}
