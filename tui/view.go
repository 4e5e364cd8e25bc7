package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/proposal"
)

// The smallest terminal that a screen fits into.
const minWidth, minHeight = 40, 10

// layout gives every part its size.
func (m *Model) layout() {
	w := max(1, m.width)
	for _, p := range m.panes {
		p.log.Resize(w)
		p.composer.Resize(w-3, min(6, m.height/4))
	}
	for _, a := range m.asks {
		a.form.Resize(m.width, m.height)
	}
}

// logHeight is what the fixed lines leave: the strip of sessions, banner, rule, composer, status, keys.
func (m *Model) logHeight() int {
	return max(1, m.height-4-m.at.composer.Height()-len(m.strip()))
}

// View implements tea.Model.
func (m *Model) View() string {
	if m.tooSmall() {
		text := fmt.Sprintf("This terminal is %dx%d; kitsoki needs %dx%d.", m.width, m.height, minWidth, minHeight)
		if n := len(m.asks); n > 0 {
			text += fmt.Sprintf(" %d %s for an answer.", n, plural(n, "ask waits", "asks wait"))
		}
		return strings.Join(cells.Fit(cells.Wrap(text, m.width), m.height), "\n")
	}
	if _, ok := m.page.(*proposalPage); ok && !m.help {
		return m.page.view()
	}
	if m.help {
		return proposal.Unframed(m.helpView())
	}
	return proposal.Unframed(m.page.view())
}

func (m *Model) tooSmall() bool { return m.width < minWidth || m.height < minHeight }

func (m *Model) nth(a *openAsk) int {
	for i, b := range m.asks {
		if a == b {
			return i + 1
		}
	}
	return 1
}

func (c *composePage) view() string {
	m, p := c.m, c.m.at
	lines := append(m.strip(), p.log.View(m.logHeight())...)
	if p.log.Empty() && m.opt.Hint != "" {
		hint := cells.Wrap(m.opt.Hint, m.width-2)
		copy(lines[len(m.strip()):], cells.Indent(hint, " "))
	}
	lines = append(lines, c.banner())
	lines = append(lines, m.opt.Styles.Dim.Render(strings.Repeat("-", m.width)))
	lines = append(lines, cells.Indent(p.composer.View(), "> ")...)
	lines = append(lines, m.status(), " "+keys.Line(m.opt.Styles, m.width-1, c.bindings()...))
	for i, l := range lines {
		lines[i] = cells.Cut(l, m.width)
	}
	return strings.Join(cells.Fit(lines, m.height), "\n")
}

// banner is the line over the composer: the search, what the last key has to say, or what waits.
func (c *composePage) banner() string {
	m, p, st := c.m, c.m.at, c.m.opt.Styles
	if c.search != nil {
		return c.searchLine()
	}
	if m.notice != "" {
		return st.Warn.Render(" " + askbridge.Safe(m.notice))
	}
	if a := m.waiting(); a != nil {
		return m.askBanner(a)
	}
	if n := len(p.kept); n > 0 {
		return st.Warn.Render(fmt.Sprintf(" %d unsent %s: %s takes %s", n, plural(n, "text", "texts"), m.opt.Keys.Unqueue.Help().Key, plural(n, "it", "the last")))
	}
	switch n := len(p.snap.Queue); {
	case n > 0 && p.snap.Held:
		return st.Warn.Render(fmt.Sprintf(" %d queued, held after the last turn: Enter goes on, %s takes one back", n, m.opt.Keys.Unqueue.Help().Key))
	case n > 0:
		return st.Dim.Render(cells.Cut(fmt.Sprintf(" %d queued, next: %s", n, askbridge.Safe(oneLine(p.snap.Queue[0]))), m.width))
	case p.log.Up() > 0:
		return st.Dim.Render(fmt.Sprintf(" %d newer lines below: PgDn, ^End", p.log.Up()))
	}
	return ""
}

// askBanner names the ask to open next.
func (m *Model) askBanner(a *openAsk) string {
	st := m.opt.Styles
	info := a.form.Info()
	who := m.who(a)
	left := fmt.Sprintf(" ? %s asks: %s", who, a.headline())
	switch {
	case a.proposal != nil && a.folded:
		left = fmt.Sprintf(" %s folded · %s: %s", proposal.Word, who, a.headline())
	case a.proposal != nil:
		left = fmt.Sprintf(" %s · %s: %s", proposal.Word, who, a.headline())
	case a.folded:
		left = fmt.Sprintf(" ? folded, %d of %d answered · %s: %s", a.sheet.Sheet().Taken(), len(info.Questions), who, a.headline())
	}
	right := m.opt.Keys.OpenAsk.Help().Key + " opens it "
	if n := len(m.asks); n > 1 {
		right = fmt.Sprintf("%d wait · %s lists ", n, m.opt.Keys.OpenAsk.Help().Key)
	}
	return cells.Spread(st.Warn.Render(cells.Cut(left, max(1, m.width-cells.Width(right)-1))), st.Warn.Render(right), m.width)
}

// oneLine is a text in one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// headline is a question in one line.
func headline(question string) string {
	return strings.TrimLeft(strings.ReplaceAll(question, "\n", " "), "# ")
}

// headline is an ask in one line: what a proposal would do, or the first question.
func (a *openAsk) headline() string {
	info := a.form.Info()
	if a.proposal != nil {
		return oneLine(proposal.Of(info).Title)
	}
	return headline(info.Questions[0].Question)
}

// searchLine is the field of the search in the log.
func (c *composePage) searchLine() string {
	st, found := c.m.opt.Styles, "type what to find "
	if c.search.Value() != "" {
		nth, all := c.m.at.log.Matches()
		found = fmt.Sprintf("%d of %d ", nth, all)
		if all == 0 {
			found = "nothing found "
		}
	}
	return cells.Spread(st.Lit.Render(" search: ")+strings.Join(c.search.View(), " "), st.Dim.Render(found), c.m.width)
}

// who is an asker with the sub-agents that lead to it, and before it the session, when there are several.
func (m *Model) who(a *openAsk) string {
	asker := a.form.Info().Asker
	who := strings.Join(append([]string{asker.Agent}, asker.Path...), " › ")
	if name := m.sessionName(a); name != "" {
		return name + ": " + who
	}
	return who
}

// sessionName is the title of an ask's session, when there are several sessions; of a guest, that it is one.
func (m *Model) sessionName(a *openAsk) string {
	if a.from != nil {
		return a.from.name()
	}
	if a.form.Info().Asker.Guest {
		return "guest"
	}
	if len(m.panes) < 2 {
		return ""
	}
	return m.paneOf(a).snap.Title
}

// accessWords say what the agent may do now, and from the next turn on.
func accessWords(s session.Snapshot) string {
	words := s.Access
	if s.Wall != "" {
		words += " (" + s.Wall + ")"
	}
	if s.Next != "" {
		words += ", then " + s.Next
	}
	for _, g := range s.Grants {
		words += fmt.Sprintf(" · %s allowed this %s", g.Effect, g.Scope)
	}
	return words
}

// status is who works, what it may do, what it cost and what it is doing.
func (m *Model) status() string {
	s, st := m.at.snap, m.opt.Styles
	left := fmt.Sprintf(" %s · access %s", s.Agent, accessWords(s))
	if m.width < 60 && s.Wall != "" { // what holds the agent is said at every size
		left = fmt.Sprintf(" %s · %s %s", s.Agent, s.Access, s.Wall)
	}
	if s.Model != "" && s.Model != s.Agent && m.width >= 70 {
		left += " · " + s.Model
	}
	if m.width >= 90 {
		left += " · " + askbridge.Safe(filepath.Base(s.Dir))
		if s.Branch != "" {
			left += " on " + s.Branch
		}
	}
	if n := len(s.Queue); n > 0 {
		left += fmt.Sprintf(" · %d queued", n)
	}
	right := fmt.Sprintf("$%.4f · %s tokens · %s ", s.CostUSD, short(s.Tokens), state(s))
	if m.width < 60 {
		right = fmt.Sprintf("$%.2f · %s ", s.CostUSD, state(s))
	}
	look := st.Dim
	switch s.State {
	case session.Asking:
		look = st.Warn
	case session.Failed:
		look = st.Bad
	case session.Working:
		look = st.Good
	}
	return cells.Spread(st.Dim.Render(left), look.Render(right), m.width)
}

func state(s session.Snapshot) string {
	if s.State == session.Asking && s.Asks > 1 {
		return fmt.Sprintf("asking %d", s.Asks)
	}
	return string(s.State)
}

func short(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// helpView lists the keys that work where the keyboard is.
func (m *Model) helpView() string {
	st := m.opt.Styles
	title, list := m.page.keys()
	var lines []string
	for _, b := range list {
		h := b.Help()
		if h.Key == "" {
			continue
		}
		lines = append(lines, " "+st.Key.Render(cells.Pad(h.Key, 10))+" "+h.Desc)
	}
	if _, ok := m.page.(*composePage); ok {
		for _, c := range session.Commands() {
			lines = append(lines, " "+st.Key.Render(cells.Pad(c.Form, 19))+" "+c.Meaning)
		}
	}
	page := m.height - 3
	m.helpTop = max(0, min(m.helpTop, len(lines)-page))
	foot := " any key closes this"
	if len(lines) > page {
		foot = fmt.Sprintf(" %d-%d of %d · ↑ ↓ scroll, any other key closes this", m.helpTop+1, min(len(lines), m.helpTop+page), len(lines))
	}
	lines = append([]string{" " + st.Title.Render(title), ""}, cells.Fit(lines[m.helpTop:], page)...)
	return fitScreen(append(lines, st.Dim.Render(foot)), m.width, m.height)
}
