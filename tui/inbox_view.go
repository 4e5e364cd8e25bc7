package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
)

// view draws one side of the inbox: exactly the screen.
func (p *inboxPage) view() string {
	p.sync()
	m, st := p.m, p.m.opt.Styles
	open := 0
	for _, a := range p.rows {
		if !p.over(a) {
			open++
		}
	}
	left := fmt.Sprintf(" inbox: %d open, %d settled", open, len(m.past))
	right := "oldest first "
	if p.settled {
		left, right = fmt.Sprintf(" settled: %d of %d", len(p.pastRows()), len(m.past)), "newest first "
	}
	lines := []string{cells.Spread(st.Title.Render(left), st.Dim.Render(right), m.width), st.Dim.Render(strings.Repeat("-", m.width))}
	foot := []string{p.stateLine(), " " + keys.Line(st, m.width-1, p.bindings()...)}
	h := m.height - len(lines) - len(foot)
	if p.settled {
		lines = append(lines, p.window(p.pastLines(), h)...)
	} else {
		lines = append(lines, p.window(p.openLines(), h)...)
	}
	return fitScreen(append(lines, foot...), m.width, m.height)
}

// listed is a drawn list, and which of its lines are the lit row's.
type listed struct {
	lines    []string
	from, to int
}

// window is h lines of a list around its lit row.
func (p *inboxPage) window(l listed, h int) []string {
	switch {
	case l.from < p.top || l.to-l.from > h:
		p.top = l.from
	case l.to > p.top+h:
		p.top = l.to - h
	}
	p.top = max(0, min(p.top, len(l.lines)-h))
	return cells.Fit(l.lines[p.top:], h)
}

func (p *inboxPage) stateLine() string {
	m, st := p.m, p.m.opt.Styles
	switch {
	case p.narrow, p.filter.Value() != "" && p.settled:
		return st.Lit.Render(" filter: ") + strings.Join(p.filter.View(), " ")
	case m.notice != "":
		return st.Warn.Render(" " + askbridge.Safe(m.notice))
	case p.lit == nil || p.settled:
		return ""
	}
	if n, ok := p.lit.form.Chosen(); ok && !p.over(p.lit) {
		return st.Warn.Render(" Enter sends “" + p.lit.label(n) + "” to " + m.who(p.lit))
	}
	return ""
}

// openLines draws the rows of the open asks.
func (p *inboxPage) openLines() listed {
	if len(p.rows) == 0 {
		lines := []string{""}
		for _, l := range cells.Wrap("Nothing is asked. An ask appears here, and on the screen when the prompt is at rest.", max(1, p.m.width-4)) {
			lines = append(lines, p.m.opt.Styles.Dim.Render("   "+l))
		}
		return listed{lines: lines}
	}
	var out listed
	for i, a := range p.rows {
		from := len(out.lines)
		out.lines = append(out.lines, p.row(i, a)...)
		if a == p.lit {
			out.from, out.to = from, len(out.lines)
		}
	}
	return out
}

// row draws one ask: who and how long; what; and, when it is lit, where, and the options if a digit chooses one.
func (p *inboxPage) row(i int, a *openAsk) []string {
	m, st := p.m, p.m.opt.Styles
	lit, over, info := a == p.lit, p.over(a), a.form.Info()
	mark, look := "  ", st.Strong
	if lit {
		mark, look = "> ", st.Lit
	}
	if over {
		look = st.Dim
	}
	head := fmt.Sprintf(" %s%d  %s", mark, i+1, m.who(a))
	if h := info.Questions[0].Header; h != "" {
		head += " [" + cells.Cut(strings.ReplaceAll(h, "\n", " "), 12) + "]"
	}
	if !a.form.OneChoice() {
		head += " · " + sizeOf(a)
	}
	lines := []string{cells.Spread(look.Render(head), p.right(a), m.width)}
	what := headline(info.Questions[0].Question)
	text := []string{cells.Cut(what, max(1, m.width-7))}
	if lit {
		text = cells.Wrap(what, max(1, m.width-7))
		text = text[:min(len(text), max(1, m.height/4))]
	}
	if over {
		for n := range text {
			text[n] = st.Dim.Render(text[n])
		}
	}
	if lit || m.height >= 18 {
		lines = append(lines, cells.Indent(text, "      ")...)
	}
	if lit && !over {
		lines = append(lines, st.Dim.Render("      "+p.where(a)))
		lines = append(lines, p.optionLines(a)...)
	}
	return lines
}

// right is the end of a row's first line: the chosen label, the draft, the time that is left, or the end.
func (p *inboxPage) right(a *openAsk) string {
	st := p.m.opt.Styles
	if p.over(a) {
		return st.Dim.Render(p.state(a) + " ")
	}
	left := a.form.Info().Deadline.Sub(p.m.now())
	text := question.Clock(left) + " "
	if n, ok := a.form.Chosen(); ok {
		text = "“" + cells.Cut(a.label(n), 20) + "” draft  " + text
	} else if a.form.Drafted() {
		text = "draft  " + text
	}
	if left < 20*time.Second {
		return st.Warn.Render(text)
	}
	return text
}

// state says how a row's ask ended, or that its end is under way.
func (p *inboxPage) state(a *openAsk) string {
	if s := p.m.settledByID(a.form.Info().ID); s != nil {
		return s.ending()
	}
	if a.form.Ended() {
		return a.form.Ending()
	}
	return "sending"
}

// label is an option of an ask that is one choice.
func (a *openAsk) label(n int) string { return a.form.Info().Questions[0].Options[n].Label }

// where is the directory of an ask's agent and its branch, how old the ask is, and whether it has a twin.
func (p *inboxPage) where(a *openAsk) string {
	info := a.form.Info()
	pane := p.m.paneOf(a)
	dir := info.Asker.Dir
	if dir == "" && a.from == nil && !info.Asker.Guest {
		dir = pane.snap.Dir
	}
	twin := ""
	if n := p.m.twinOf(a); n > 0 {
		twin = fmt.Sprintf("same words as ask %d", n)
	}
	text := "in " + askbridge.Safe(dir)
	if dir == "" {
		text = "from elsewhere"
	} else if p.m.width < 60 {
		text = "in " + askbridge.Safe(filepath.Base(dir))
		if twin != "" { // which cannot be cut: it decides
			return twin + " · " + text
		}
	}
	if a.from == nil && pane.snap.Branch != "" && dir == pane.snap.Dir {
		text += " on " + pane.snap.Branch
	}
	if twin != "" {
		text += " · " + twin
	}
	return text + " · asked " + question.Clock(p.m.now().Sub(info.Opened)) + " ago"
}

// optionLines are the options of an ask that a digit answers.
func (p *inboxPage) optionLines(a *openAsk) []string {
	if !a.form.OneChoice() {
		return nil
	}
	st := p.m.opt.Styles
	chosen, ok := a.form.Chosen()
	var parts []string
	for i, o := range a.form.Info().Questions[0].Options {
		if i == 9 {
			parts = append(parts, "Enter shows all")
			break
		}
		box := "( )"
		if ok && i == chosen {
			box = "(x)"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", i+1, box, cells.Cut(o.Label, 40)))
	}
	lines := flow(parts, max(1, p.m.width-7))
	for i := range lines {
		lines[i] = "      " + lines[i]
	}
	if most := max(2, p.m.height/3); len(lines) > most {
		lines = append(lines[:most-1], st.Dim.Render("      … Enter shows all"))
	}
	return lines
}

// flow puts as many parts into each line as fit, none of them broken.
func flow(parts []string, w int) []string {
	var lines []string
	for _, part := range parts {
		if n := len(lines); n > 0 && cells.Width(lines[n-1])+3+cells.Width(part) <= w {
			lines[n-1] += "   " + part
			continue
		}
		lines = append(lines, part)
	}
	return lines
}

// pastLines draws the settled asks; the lit one whole.
func (p *inboxPage) pastLines() listed {
	st, m := p.m.opt.Styles, p.m
	list := p.pastRows()
	if len(list) == 0 {
		return listed{lines: []string{"", st.Dim.Render("   No settled ask is listed.")}}
	}
	p.litPast = max(0, min(p.litPast, len(list)-1))
	var out listed
	for i, s := range list {
		from := len(out.lines)
		mark, look := "   ", st.Strong
		if i == p.litPast {
			mark, look = " > ", st.Lit
		}
		head := s.who
		if len(m.panes) > 1 {
			head = s.session + ": " + head
		}
		end := st.Dim.Render(s.ending() + " ")
		if s.outcome != host.Answered || s.delivery == notDelivered {
			end = st.Warn.Render(s.ending() + " ")
		}
		out.lines = append(out.lines, cells.Spread(look.Render(mark+s.at.Local().Format("15:04:05")+"  "+head), end, m.width))
		body := []string{cells.Cut(headline(s.question), max(1, m.width-7))}
		if i == p.litPast {
			body = cells.Wrap(s.question, max(1, m.width-7))
			body = append(body, cells.Wrap("= "+s.text, max(1, m.width-7))...)
		}
		out.lines = append(out.lines, cells.Indent(body, "      ")...)
		if i == p.litPast {
			out.from, out.to = from, len(out.lines)
		}
	}
	return out
}
