package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/bubbles/key"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
)

// The smallest terminal that a screen fits into.
const minWidth, minHeight = 40, 10

// layout gives every part its size.
func (m *Model) layout() {
	w := max(1, m.width)
	m.log.Resize(w)
	m.composer.Resize(w-3, min(6, m.height/4))
	for _, a := range m.asks {
		a.form.Resize(m.width, m.height)
	}
}

// logHeight is what the fixed lines leave: banner, rule, composer, status, keys.
func (m *Model) logHeight() int {
	return max(1, m.height-4-m.composer.Height())
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
	switch {
	case m.help:
		return m.helpView()
	case m.mode == ModeOperatorQuestion:
		return m.front.form.View(question.Frame{Now: m.now(), Nth: m.nth(m.front), All: len(m.asks)})
	}
	return m.composeView()
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

func (m *Model) composeView() string {
	lines := m.log.View(m.logHeight())
	if m.snap.Turn == 0 && m.opt.Hint != "" {
		hint := cells.Wrap(m.opt.Hint, m.width-2)
		copy(lines, cells.Indent(hint, " "))
	}
	lines = append(lines, m.banner())
	lines = append(lines, m.opt.Styles.Dim.Render(strings.Repeat("-", m.width)))
	lines = append(lines, cells.Indent(m.composer.View(), "> ")...)
	lines = append(lines, m.status(), " "+keys.Line(m.opt.Styles, m.width-1, m.bindings()...))
	for i, l := range lines {
		lines[i] = cells.Cut(l, m.width)
	}
	return strings.Join(cells.Fit(lines, m.height), "\n")
}

// banner is the line over the composer: what waits, or what the last key has to say.
func (m *Model) banner() string {
	st := m.opt.Styles
	if m.notice != "" {
		return st.Warn.Render(" " + askbridge.Safe(m.notice))
	}
	if a := m.waiting(); a != nil {
		info := a.form.Info()
		who := strings.Join(append([]string{info.Asker.Agent}, info.Asker.Path...), " › ")
		what := strings.ReplaceAll(info.Questions[0].Question, "\n", " ")
		left := fmt.Sprintf(" ? %s asks: %s", who, what)
		if a.folded {
			left = fmt.Sprintf(" ? folded, %d of %d answered · %s: %s", a.form.Sheet().Taken(), len(info.Questions), who, what)
		}
		right := "^O opens it "
		if n := len(m.asks); n > 1 {
			right = fmt.Sprintf("%d wait · ^O opens ", n)
		}
		return cells.Spread(st.Warn.Render(cells.Cut(left, max(1, m.width-cells.Width(right)-1))), st.Warn.Render(right), m.width)
	}
	if n := len(m.kept); n > 0 {
		return st.Warn.Render(fmt.Sprintf(" %d unsent %s of an ask that ended: ^P takes it", n, plural(n, "text", "texts")))
	}
	switch n := len(m.snap.Queue); {
	case n > 0 && m.snap.Held:
		return st.Warn.Render(fmt.Sprintf(" %d queued, held after the last turn: Enter goes on, ^P takes one back", n))
	case n > 0:
		return st.Dim.Render(cells.Cut(fmt.Sprintf(" %d queued: %s", n, askbridge.Safe(m.snap.Queue[n-1])), m.width))
	case m.log.Up() > 0:
		return st.Dim.Render(fmt.Sprintf(" %d newer lines below: PgDn, ^End", m.log.Up()))
	}
	return ""
}

// status is who works, what it may do, what it cost and what it is doing.
func (m *Model) status() string {
	s, st := m.snap, m.opt.Styles
	left := fmt.Sprintf(" %s · access %s", s.Agent, s.Access)
	if s.Model != "" && s.Model != s.Agent && m.width >= 70 {
		left += " · " + s.Model
	}
	if m.width >= 90 {
		left += " · " + askbridge.Safe(filepath.Base(s.Dir))
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

// bindings are the keys that work in the composer now.
func (m *Model) bindings() []key.Binding {
	k := m.opt.Keys
	out := []key.Binding{k.Submit}
	if m.snap.Held && m.composer.Value() == "" {
		out = []key.Binding{keys.As(k.Submit, "go on with the queue")}
	}
	if len(m.asks) > 0 {
		out = append(out, k.OpenAsk)
	}
	if m.busy() {
		out = []key.Binding{keys.As(k.Submit, "queue")}
		if len(m.asks) > 0 {
			out = append(out, k.OpenAsk)
		}
		out = append(out, k.Stop)
	}
	if len(m.snap.Queue)+len(m.kept) > 0 {
		out = append(out, k.Unqueue)
	}
	out = append(out, k.NewLine, k.PageUp, k.Editor, k.Quit)
	help := k.Help
	help.SetHelp("F1", "all")
	return append(out, help)
}

// helpView lists the keys that work where the keyboard is.
func (m *Model) helpView() string {
	st := m.opt.Styles
	list := append(m.bindings(), m.opt.Keys.PageDown, m.opt.Keys.Bottom)
	title := "Keys in the prompt"
	if m.mode == ModeOperatorQuestion {
		list, title = m.front.form.AllBindings(), "Keys in this ask"
		list = append(list, m.opt.Keys.Quit)
	}
	var lines []string
	for _, b := range list {
		h := b.Help()
		lines = append(lines, " "+st.Key.Render(cells.Pad(h.Key, 10))+" "+h.Desc)
	}
	page := m.height - 3
	m.helpTop = max(0, min(m.helpTop, len(lines)-page))
	foot := " any key closes this"
	if len(lines) > page {
		foot = fmt.Sprintf(" %d-%d of %d · ↑ ↓ scroll, any other key closes this", m.helpTop+1, min(len(lines), m.helpTop+page), len(lines))
	}
	lines = append([]string{" " + st.Title.Render(title), ""}, cells.Fit(lines[m.helpTop:], page)...)
	return strings.Join(append(lines, st.Dim.Render(cells.Cut(foot, m.width))), "\n")
}
