package peek

import (
	"fmt"
	"slices"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/markdown"
)

// look is how a line is drawn. Every look can be told without colour, by what the line says.
type look int

const (
	plain look = iota
	dim
	heading
	strong
	good
	bad
	warn
)

type line struct {
	text string
	look look
	part int // the text that it was cut from, counted over the content
}

func (m *Model) draw(l line) string {
	switch l.look {
	case dim:
		return m.st.Dim.Render(l.text)
	case heading:
		return m.st.Title.Render(l.text)
	case strong:
		return m.st.Strong.Render(l.text)
	case good:
		return m.st.Good.Render(l.text)
	case bad:
		return m.st.Bad.Render(l.text)
	case warn:
		return m.st.Warn.Render(l.text)
	}
	return l.text
}

// cut makes the lines anew, for the present content and width.
func (m *Model) cut() {
	m.lines, m.sections, m.parts = nil, nil, 0
	if !m.came {
		return
	}
	if m.err != nil {
		m.wrap(warn, " ! ", askbridge.Safe(m.err.Error()))
		m.add(plain, "")
	}
	m.words()
	m.tools()
	m.tree()
	m.scrollTo(m.top)
}

func (m *Model) add(l look, lines ...string) {
	m.parts++
	for _, s := range lines {
		m.lines = append(m.lines, line{s, l, m.parts})
	}
}

// wrap adds a text at its full length, with a prefix before its first line.
func (m *Model) wrap(l look, prefix, text string) {
	m.add(l, cells.Indent(cells.Wrap(text, max(1, m.width-cells.Width(prefix)-1)), prefix)...)
}

func (m *Model) section(name string) {
	if len(m.sections) > 0 {
		m.add(plain, "")
	}
	m.sections = append(m.sections, len(m.lines))
	m.wrap(heading, " == ", name)
}

// whose says so when what is shown is not the asker's own.
func (m *Model) whose(of []string) string {
	switch {
	case slices.Equal(of, m.peek.Path):
		return ""
	case len(of) == 0:
		return " of the agent above, it has none of its own"
	}
	return " of " + strings.Join(of, " › ") + " above, it has none of its own"
}

// words shows the newest message first: it says most of what the question is about.
func (m *Model) words() {
	if len(m.peek.Words) == 0 {
		m.section("last words")
		m.wrap(dim, "   ", "nothing was said in this turn yet")
		return
	}
	m.section("last words" + m.whose(m.peek.WordsOf))
	for i := len(m.peek.Words) - 1; i >= 0; i-- {
		if i < len(m.peek.Words)-1 {
			m.add(dim, "   -- before that --")
		}
		words := markdown.Lines(strings.Trim(m.peek.Words[i], "\n"), max(1, m.width-4), m.st)
		m.add(plain, cells.Indent(words, "   ")...)
	}
}

func (m *Model) tools() {
	if len(m.peek.Tools) == 0 {
		m.section("last tool calls")
		m.wrap(dim, "   ", "no tool was called in this turn yet")
		return
	}
	m.section("last tool calls" + m.whose(m.peek.ToolsOf) + ", newest first")
	for i := len(m.peek.Tools) - 1; i >= 0; i-- {
		t := m.peek.Tools[i]
		m.wrap(plain, "   * ", strings.TrimSpace(t.Name+" "+t.Input))
		switch {
		case t.Failed:
			m.wrap(bad, "     failed: ", t.Result)
		case !t.Done:
			m.wrap(dim, "     ", "not back yet")
		case t.Result == "":
			m.add(dim, "     ok")
		default:
			m.wrap(dim, "     ok: ", t.Result)
		}
	}
}

func (m *Model) tree() {
	d := m.peek.Diff
	m.section("working tree" + total(d))
	switch {
	case len(d.Files) == 0 && m.err != nil:
		m.wrap(dim, "   ", "not known, see above")
	case len(d.Files) == 0:
		m.wrap(dim, "   ", "no changes since the last commit")
	}
	for _, f := range d.Files {
		m.wrap(plain, "   ", stat(f))
	}
	if d.Truncated {
		m.wrap(warn, " ! ", "there is more than is shown here; look at the rest in the directory itself")
	}
	if d.Text == "" {
		return
	}
	m.add(plain, "")
	head := true // of a file, where --- and +++ are no changes
	for text := range strings.SplitSeq(strings.TrimSuffix(d.Text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(text, "diff "):
			head = true
			m.diffLine(strong, text)
		case strings.HasPrefix(text, "@@"):
			head = false
			m.diffLine(dim, text)
		default:
			m.diffLine(diffLook(text, head), text)
		}
	}
}

// total sums a diff up; nothing when nothing changed.
func total(d session.Diff) string {
	if len(d.Files) == 0 {
		return ""
	}
	added, deleted := 0, 0
	for _, f := range d.Files {
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	files := "files"
	if len(d.Files) == 1 {
		files = "file"
	}
	return fmt.Sprintf(": %d %s, +%d -%d", len(d.Files), files, added, deleted)
}

func stat(f session.FileStat) string {
	out := f.Path
	if f.New {
		out = "new " + out
	}
	switch {
	case f.Binary:
		return out + "  binary"
	case f.New && f.Added == 0:
		return out
	}
	return fmt.Sprintf("%s  +%d -%d", out, f.Added, f.Deleted)
}

func diffLook(text string, head bool) look {
	switch {
	case head:
		return dim
	case strings.HasPrefix(text, "+"):
		return good
	case strings.HasPrefix(text, "-"):
		return bad
	}
	return plain
}

// diffLine adds a line of a diff. Where it goes on below, there is > in place of its sign.
func (m *Model) diffLine(l look, text string) {
	lines := cells.Wrap(text, max(1, m.width-3))
	for i, s := range lines {
		if i == 0 {
			lines[i] = " " + s
		} else {
			lines[i] = " >" + s
		}
	}
	m.add(l, lines...)
}
