package question

import (
	"fmt"
	"slices"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/markdown"
)

// row is the drawn lines of one option.
type row struct {
	lines []string
	lit   bool
}

// optionsView draws the options pane around the lit row: its label is always in view, and the whole of it when
// it fits. With the own answer lit the pane stays where it is.
func (m *Model) optionsView() string {
	h := m.optionsHeight()
	if m.preview {
		return m.previewView(h)
	}
	var all []string
	for _, r := range m.rows() {
		from, tall := len(all), len(r.lines)
		all = append(all, r.lines...)
		if !r.lit {
			continue
		}
		switch {
		case tall > h:
			// The first line has the label; the others pass by below it.
			m.inside = max(0, min(m.inside, tall-h))
			return strings.Join(append(r.lines[:1:1], r.lines[1+m.inside:m.inside+h]...), "\n")
		case m.optionsTop > from:
			m.optionsTop = from
		case m.optionsTop < from+tall-h:
			m.optionsTop = from + tall - h
		}
	}
	m.optionsTop = max(0, min(m.optionsTop, len(all)-h))
	return strings.Join(cells.Fit(all[m.optionsTop:], h), "\n")
}

// optionsMarks says what of the options, or of the review, is out of view.
func (m *Model) optionsMarks() string {
	if m.sheet.OnReview() {
		return m.reviewMarks()
	}
	if m.preview {
		return m.previewMarks()
	}
	h, line, above, below := m.optionsHeight(), 0, 0, 0
	for _, r := range m.rows() {
		end := line + len(r.lines)
		if r.lit && len(r.lines) > h {
			return m.mark("lines", m.inside+2, m.inside+h, len(r.lines))
		}
		switch {
		case end <= m.optionsTop:
			above++
		case line >= m.optionsTop+h:
			below++
		}
		line = end
	}
	var parts []string
	if above > 0 {
		parts = append(parts, fmt.Sprintf("^ %d", above))
	}
	if below > 0 {
		parts = append(parts, fmt.Sprintf("v %d", below))
	}
	return strings.Join(parts, " · ")
}

// scrollOptions pages: through the review, within a lit row that is taller than its pane, else by rows, and never
// onto the own answer, where letters are text.
func (m *Model) scrollOptions(dir int) {
	if m.sheet.OnReview() {
		h := m.reviewHeight()
		m.reviewTop = max(0, min(max(0, m.reviewTop)+dir*max(1, h-2), len(m.reviewLines().lines)-h))
		return
	}
	h := m.optionsHeight()
	if m.preview {
		m.previewTop = max(0, min(m.previewTop+dir*max(1, h-1), len(m.previewLines())-h+1)) // a line is the label's
		return
	}
	for _, r := range m.rows() {
		if r.lit && len(r.lines) > h {
			if at := m.inside + dir*max(1, h-2); (dir > 0 && m.inside < len(r.lines)-h) || (dir < 0 && m.inside > 0) {
				m.inside = at
				return
			}
		}
	}
	to := max(0, min(m.sheet.LitRow()+dir*max(1, h/2), m.sheet.OwnRow()-1))
	m.sheet, _ = m.sheet.Reduce(Action{Do: Light, N: to})
}

func (m *Model) rows() []row {
	q := m.sheet.Question()
	var rows []row
	column := m.labelColumn(q)
	for _, i := range m.sheet.Listed() {
		lit := i == m.sheet.LitRow()
		rows = append(rows, row{lines: m.optionLines(i, q.Options[i], lit, column), lit: lit})
	}
	return rows
}

// optionsNeed is how many lines the options take whichever of them is lit, so that the panes stay where they are
// while the light moves. Of many options it is more than any screen has.
func (m *Model) optionsNeed() int {
	q := m.sheet.Question()
	if m.preview || len(q.Options) > 16 {
		return m.height
	}
	column := m.labelColumn(q)
	all, more := 0, 0
	for _, i := range m.sheet.Listed() {
		unlit := len(m.optionLines(i, q.Options[i], false, column))
		all += unlit
		more = max(more, len(m.optionLines(i, q.Options[i], true, column))-unlit)
	}
	return all + more
}

// labelColumn is how wide the labels are where descriptions stand beside them; 0 where they stand below.
func (m *Model) labelColumn(q host.OperatorQuestion) int {
	widest, described := 0, false
	for _, o := range q.Options {
		widest = max(widest, cells.Width(o.Label))
		described = described || o.Description != ""
	}
	if !described || m.width < 60 || widest > m.width/3 {
		return 0
	}
	return widest
}

// optionLines draws one option: whole when it is lit, at most two lines otherwise.
func (m *Model) optionLines(i int, o host.OperatorOption, lit bool, column int) []string {
	prefix := " " + m.marker(i, lit)
	w := max(1, m.width-cells.Width(prefix)-1)
	st := m.st.Strong
	if lit {
		st = m.st.Lit
	}
	var lines []string
	if column > 0 {
		beside := markdown.Lines(o.Description, max(1, w-column-2), m.st)
		for n, d := range beside {
			label := ""
			if n == 0 {
				label = o.Label
			}
			lines = append(lines, st.Render(cells.Pad(label, column))+"  "+d)
		}
	} else {
		for _, l := range cells.Wrap(o.Label, w) {
			lines = append(lines, st.Render(l))
		}
		if o.Description != "" && (lit || m.width >= 60) {
			lines = append(lines, markdown.Lines(o.Description, w, m.st)...)
		}
	}
	if !lit && len(lines) > 2 {
		lines = lines[:2]
		if cells.Width(lines[1]) > w-2 {
			lines[1] = cells.Cut(lines[1], w-2)
		} else {
			lines[1] += "…"
		}
	}
	if lit {
		prefix = m.st.Lit.Render(prefix)
	}
	return cells.Indent(lines, prefix)
}

// marker is the cursor, the row's digit, and whether it is picked.
func (m *Model) marker(i int, lit bool) string {
	cursor, number := " ", fmt.Sprint(i+1)
	if lit {
		cursor = ">"
	}
	if len(m.sheet.Question().Options) > 9 {
		number = fmt.Sprintf("%2d", i+1)
	}
	picked := slices.Contains(m.sheet.Draft().Picked, i)
	box := map[[2]bool]string{
		{false, false}: "( )", {false, true}: "(x)", {true, false}: "[ ]", {true, true}: "[x]",
	}[[2]bool{m.sheet.Question().MultiSelect, picked}]
	return fmt.Sprintf("%s %s %s ", cursor, number, box)
}

// reviewed is the drawn review: all lines, and which of them are the lit question's.
type reviewed struct {
	lines    []string
	from, to int
}

// reviewQuestion is how many lines of the lit question the review shows; Esc goes to all of it.
const reviewQuestion = 4

// reviewLines list every question with what would be sent for it.
func (m *Model) reviewLines() reviewed {
	out := reviewed{lines: []string{" " + m.st.Strong.Render("This is what the agent will get:"), ""}}
	for i, q := range m.sheet.Questions {
		lit := i == m.sheet.LitRow()
		st, prefix := m.st.Strong, fmt.Sprintf("   %d ", i+1)
		if lit {
			st, prefix = m.st.Lit, fmt.Sprintf(" > %d ", i+1)
		}
		head := cells.Wrap(strings.ReplaceAll(q.Question, "\n", " "), max(1, m.width-8))
		most := 1
		if lit {
			most = reviewQuestion
		}
		if len(head) > most {
			head = head[:most]
			head[most-1] = cells.Cut(head[most-1]+" …", max(1, m.width-8))
		}
		block := cells.Indent(head, prefix)
		for n := range block {
			block[n] = st.Render(block[n])
		}
		for _, l := range m.reviewAnswer(i) {
			block = append(block, "       "+l)
		}
		if lit {
			out.from, out.to = len(out.lines), len(out.lines)+len(block)
		}
		out.lines = append(out.lines, block...)
	}
	return out
}

func (m *Model) reviewHeight() int {
	if m.compact() {
		return m.room()
	}
	return m.room() + 1
}

// reviewPane is the window onto the review: where it was scrolled to, else around the lit question.
func (m *Model) reviewPane(h int) []string {
	r := m.reviewLines()
	if m.reviewTop < 0 { // follow the lit question
		m.reviewTop = 0
		if r.to > h {
			m.reviewTop = r.from
		}
	}
	m.reviewTop = max(0, min(m.reviewTop, len(r.lines)-h))
	return r.lines[m.reviewTop:]
}

func (m *Model) reviewMarks() string {
	all, h := len(m.reviewLines().lines), m.reviewHeight()
	if all <= h {
		return ""
	}
	return m.mark("", m.reviewTop+1, min(all, m.reviewTop+h), all)
}

// mark says which lines of something are in view, and how to see the others.
func (m *Model) mark(what string, from, to, all int) string {
	if m.compact() {
		return fmt.Sprintf("%d-%d/%d PgDn", from, to, all)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d-%d of %d · PgUp PgDn", what, from, to, all))
}

// reviewAnswer says what goes out for a question, and in which state it is.
func (m *Model) reviewAnswer(i int) []string {
	q, d := m.sheet.Questions[i], m.sheet.Drafts[i]
	var parts []string
	for _, p := range d.Picked {
		parts = append(parts, q.Options[p].Label)
	}
	text := strings.ReplaceAll(askbridge.SafeText(d.Text), "\n", " / ")
	note := strings.ReplaceAll(askbridge.SafeText(d.Note), "\n", " / ")
	if note != "" {
		note = "note: " + note
	}
	if text != "" && !q.MultiSelect && len(d.Picked) > 0 {
		note = "note: " + strings.TrimSuffix(text+" · "+strings.TrimPrefix(note, "note: "), " · ")
	} else if text != "" {
		parts = append(parts, "“"+text+"”")
	}
	if d.None {
		parts = append(parts, "none of them")
	}
	body := strings.Join(parts, ", ")
	w := max(1, m.width-9)
	var out []string
	switch {
	case d.Skipped && body != "":
		out = append(out, m.st.Warn.Render(cells.Cut("left out (was: "+body+")", w)))
	case d.Skipped:
		out = append(out, m.st.Dim.Render("skipped"))
	case body == "":
		out = append(out, m.st.Warn.Render("open"))
	case !d.Taken:
		for _, l := range cells.Wrap("draft, not taken: "+body, w) {
			out = append(out, m.st.Warn.Render(l))
		}
	default:
		for _, l := range cells.Wrap(body, w) {
			out = append(out, m.st.Good.Render(l))
		}
	}
	if note != "" && !d.Skipped {
		out = append(out, cells.Wrap(note, w)...)
	}
	return out
}
