package proposal

import (
	"strings"
	"unicode"

	"example.com/kitsoki/tui/cells"
)

// look is how a row is drawn. Each can be told without colour, by its signs.
type look int

const (
	plain look = iota
	strong
	dim
	added
	removed
	apart // a rule
)

// docRow is one row of what can be scrolled.
type docRow struct {
	text     string
	look     look
	from, to int // the part of the text that it shows, in bytes of it with its tokens; the same when none
}

// document is what can be scrolled: the text of the proposal, and around it what has no place of its own on a small
// screen. The text comes behind what it would do and where, and before all that is only about it.
type document struct {
	rows []docRow
	end  int // the row after the last one of the text
}

// A row of the text begins with one of these, which no text can draw: it starts to their right.
const (
	newLine  = "│ "
	sameLine = "» " // the line above goes on
)

// textRows are the lines of the text in rows of w cells, its signs with them.
func textRows(text string, diff bool, w int) []docRow {
	var out []docRow
	at := 0
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		l := plain
		if diff {
			l = lookOf(line)
		}
		sign := newLine
		for _, row := range wrap(line, max(1, w-cells.Width(newLine))) {
			out = append(out, docRow{sign + row, l, at, at + len(row)})
			sign = sameLine
			at += len(row)
		}
		at++ // the newline
	}
	return out
}

func lookOf(line string) look {
	switch {
	case strings.HasPrefix(line, "+"):
		return added
	case strings.HasPrefix(line, "-"):
		return removed
	case strings.HasPrefix(line, "@@"):
		return dim
	}
	return plain
}

// said is a sentence about the proposal, in rows of w cells behind its label.
func said(label, text string, l look, w int) []docRow {
	if text == "" {
		return nil
	}
	var out []docRow
	for _, row := range cells.Indent(cells.Wrap(tokens(text), max(1, w-cells.Width(label))), label) {
		out = append(out, docRow{text: row, look: l})
	}
	return out
}

// what are the rows that name the action, and where it would happen.
func (m *Model) what(w int) []docRow {
	out := said("", m.p.Title, strong, w)
	where := m.p.Tool
	if m.p.Dir != "" {
		where = strings.TrimSpace(where + " in " + m.p.Dir)
	}
	switch {
	case m.narrow() && len(m.info.Asker.Path) > 0: // which the head has no room for
		where = Who(m.info) + ": " + where
	case !m.narrow():
		where += " · " + Does(m.p.Effect)
	}
	return append(out, said("", where, plain, w)...)
}

// about are the rows that say why it is asked for, and what a no does.
func (m *Model) about(w int) []docRow {
	var out []docRow
	if m.narrow() {
		out = append(out, said(string(m.p.Effect)+": ", Does(m.p.Effect), dim, w)...)
	}
	out = append(out, said("why: ", m.p.Reason, dim, w)...)
	out = append(out, said("if denied: ", m.p.Held, dim, w)...)
	if m.mixed {
		out = append(out, said("note: ", "it has letters that are written from right to left; terminals differ in the order that they show them in", dim, w)...)
	}
	return out
}

// compose makes the document for rows of w cells. inside puts what and about into it; cut adds what rows mean that were
// shortened.
func (m *Model) compose(w int, inside, cut bool) document {
	var d document
	if inside {
		d.rows = m.what(w)
	}
	d.rows = append(d.rows, textRows(m.text, m.p.Diff, w)...)
	d.end = len(d.rows)
	var after []docRow
	if inside {
		after = m.about(w)
	}
	if cut {
		for _, o := range m.rows {
			after = append(after, said(o.Label+": ", o.Description, dim, w)...)
		}
	}
	if len(after) > 0 {
		d.rows = append(append(d.rows, docRow{text: strings.Repeat(across, w), look: apart}), after...)
	}
	return d
}

// backwards reports whether a letter is written from right to left.
func backwards(r rune) bool {
	return r >= 0x590 && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam, unicode.Samaritan, unicode.Mandaic)
}
