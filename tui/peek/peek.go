// Package peek is the screen beside a question: what the agent that asks said and did last, and what it changed in
// its directory.
//
// It may import askbridge, host, host/session and the small packages of tui, starts no goroutine and does no I/O:
// what it shows is given to it.
package peek

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/styles"
)

// Model is the screen: its content, cut into lines once, and the window onto them.
type Model struct {
	st            styles.Styles
	keys          keys.Map
	width, height int

	came bool // there is something to show
	peek session.Peek
	err  error

	lines    []line
	parts    int   // that the lines were cut from
	sections []int // the lines that sections start at
	top      int   // the first line in the window
}

// New makes a screen of 80x24 that waits for its content.
func New(st styles.Styles) *Model {
	return &Model{st: st, keys: keys.Default(), width: 80, height: 24}
}

// Set shows what was found, whose texts are safe for display; err says, in one sentence, what was not. The window
// stays where it is.
func (m *Model) Set(p session.Peek, err error) {
	m.came, m.peek, m.err = true, p, err
	m.cut()
}

// Resize sets the size in cells. The window stays at the same part of the content.
func (m *Model) Resize(w, h int) {
	w, h = max(1, w), max(1, h)
	if w == m.width && h == m.height {
		return
	}
	part, done := m.place()
	m.width, m.height = w, h
	m.cut()
	from, n := m.part(part)
	m.scrollTo(from + int(done*float64(n)))
}

// place is where the window starts, in a way that does not depend on the width: a part of the content, and how much
// of it is above.
func (m *Model) place() (part int, done float64) {
	if len(m.lines) == 0 {
		return 0, 0
	}
	part = m.lines[m.top].part
	from, n := m.part(part)
	return part, float64(m.top-from) / float64(n)
}

// part returns the lines of a part of the content: the first one and how many.
func (m *Model) part(part int) (from, n int) {
	from = sort.Search(len(m.lines), func(i int) bool { return m.lines[i].part >= part })
	to := sort.Search(len(m.lines), func(i int) bool { return m.lines[i].part > part })
	return from, to - from
}

// page is how many lines of the content are shown.
func (m *Model) page() int { return max(1, m.height-3) } // head, rule and keys

func (m *Model) scrollTo(line int) { m.top = max(0, min(line, len(m.lines)-m.page())) }

// The keys of this place. Those of the table's that mean the same here are taken from it.
type bindings struct {
	up, down, pageUp, pageDown, top, end, next, prev, shut key.Binding
}

func bindingsOf(k keys.Map) bindings {
	pageDown := key.NewBinding(key.WithKeys(append([]string{" "}, k.OptionsDown.Keys()...)...), key.WithHelp("Space", "page"))
	shut := key.NewBinding(key.WithKeys(slices.Concat([]string{"esc", "q"}, k.Peek.Keys(), k.Fold.Keys())...), key.WithHelp("Esc", "close"))
	return bindings{
		up: keys.As(k.Up, "up"), down: keys.As(k.Down, "down"),
		pageUp: keys.As(k.OptionsUp, "page up"), pageDown: pageDown,
		top:  key.NewBinding(key.WithKeys("home"), key.WithHelp("Home", "start")),
		end:  key.NewBinding(key.WithKeys("end"), key.WithHelp("End", "end")),
		next: keys.As(k.Next, "section"), prev: keys.As(k.Prev, "section back"), shut: shut,
	}
}

// Key acts on a key and reports whether it closes the screen. Keys without a meaning here do nothing.
func (m *Model) Key(msg tea.KeyMsg, k keys.Map) (closed bool) {
	m.keys = k
	b := bindingsOf(k)
	switch {
	case key.Matches(msg, b.shut):
		return true
	case key.Matches(msg, b.up):
		m.scrollTo(m.top - 1)
	case key.Matches(msg, b.down):
		m.scrollTo(m.top + 1)
	case key.Matches(msg, b.pageUp):
		m.scrollTo(m.top - m.page())
	case key.Matches(msg, b.pageDown):
		m.scrollTo(m.top + m.page())
	case key.Matches(msg, b.top):
		m.scrollTo(0)
	case key.Matches(msg, b.end):
		m.scrollTo(len(m.lines))
	case key.Matches(msg, b.next):
		m.nextSection()
	case key.Matches(msg, b.prev):
		m.prevSection()
	}
	return false
}

// nextSection goes to the start of the next section, and from the last one to the first.
func (m *Model) nextSection() {
	before := m.top
	for _, at := range m.sections {
		if at > before {
			m.scrollTo(at)
			break
		}
	}
	if m.top == before { // the end is in sight
		m.scrollTo(0)
	}
}

// prevSection goes to the start of this section, or of the one before when it is there already.
func (m *Model) prevSection() {
	to := 0
	for _, at := range m.sections {
		if at < m.top {
			to = at
		}
	}
	m.scrollTo(to)
}

// Bindings are the keys that work now, the most important first and the way out last.
func (m *Model) Bindings() []key.Binding {
	b := bindingsOf(m.keys)
	if len(m.lines) <= m.page() {
		return []key.Binding{b.shut}
	}
	return []key.Binding{b.pageDown, b.next, b.pageUp, b.down, b.up, b.top, b.end, b.shut}
}

// View draws the screen: exactly as many lines as it is high, none wider than it is. The title, which is safe text,
// says who asks.
func (m *Model) View(title string) string {
	out := append([]string{m.head(title)}, m.window()...)
	out = append(cells.Fit(out, 1+m.page()), m.rule(), " "+keys.Line(m.st, m.width-1, m.Bindings()...))
	switch m.height { // what is left out first
	case 1:
		out = out[1:2]
	case 2:
		out = []string{out[1], out[3]}
	case 3:
		out = append(out[:2], out[3])
	}
	for i, l := range out {
		out[i] = cells.Cut(l, m.width)
	}
	return strings.Join(out, "\n")
}

func (m *Model) window() []string {
	if !m.came {
		return []string{m.st.Dim.Render(" looking …")}
	}
	var out []string
	for _, l := range m.lines[m.top:min(m.top+m.page(), len(m.lines))] {
		out = append(out, m.draw(l))
	}
	return out
}

func (m *Model) head(title string) string {
	left := m.st.Title.Render(" " + strings.ReplaceAll(title, "\n", " "))
	switch {
	case !m.came:
		return cells.Cut(left, m.width)
	case m.width < 60:
		return cells.Spread(left, fmt.Sprintf("$%.2f %s tok ", m.peek.CostUSD, short(m.peek.Tokens)), m.width)
	}
	right := fmt.Sprintf("turn %d · $%.4f · %s tokens ", m.peek.Turn, m.peek.CostUSD, short(m.peek.Tokens))
	return cells.Spread(left, right, m.width)
}

// short writes a count in few cells.
func short(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// rule says where in the content the window is.
func (m *Model) rule() string {
	mark := ""
	if n := len(m.lines); n > 0 {
		from, to := m.top+1, min(m.top+m.page(), n)
		mark = fmt.Sprintf(" lines %d-%d of %d --", from, to, n)
		if cells.Width(mark) > m.width {
			mark = fmt.Sprintf(" %d-%d/%d", from, to, n)
		}
	}
	return m.st.Dim.Render(strings.Repeat("-", max(0, m.width-cells.Width(mark))) + mark)
}
