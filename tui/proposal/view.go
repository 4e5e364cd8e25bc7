package proposal

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/lipgloss"

	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
)

// Frame is what the screen knows around the proposal.
type Frame struct {
	Now      time.Time
	Nth, All int    // which of the open asks this is
	Session  string // its session's title; empty when there is one session only
	Twin     int    // another open ask with the same words; 0: there is none
	Alike    int    // how many more proposals of this session and effect wait
}

// compact reports whether the screen is too small to keep in view what the text is about.
func (m *Model) compact() bool { return m.height < 18 || m.narrow() }

// narrow reports whether the rows have no room for what they mean.
func (m *Model) narrow() bool { return m.width < 60 }

// inner is the width behind the bar, with a cell free at the right end.
func (m *Model) inner() int { return max(1, m.width-cells.Width(bar)-1) }

// pinned are the rows that stay in view above the text, and those below it, where the screen has the room for them.
func (m *Model) pinned() (above, below []docRow, ok bool) {
	if m.compact() {
		return nil, nil, false
	}
	above, below = m.what(m.inner()), m.about(m.inner())
	if len(above)+len(below) > max(6, m.height/3) {
		return nil, nil, false
	}
	return above, below, true
}

// Resize gives the proposal the whole screen of this size.
func (m *Model) Resize(width, height int) {
	m.width, m.height = width, height
	m.area.Resize(max(8, m.inner()-cells.Width(m.fieldLabel())), max(1, min(4, height/5)))
}

func (m *Model) fieldLabel() string {
	if m.compact() {
		return "reason: "
	}
	return "reason (may be empty): "
}

// document is the document for the present size.
func (m *Model) document() document {
	_, _, pinned := m.pinned()
	_, cut := m.rowLines()
	if want := (docFor{m.width, !pinned, cut}); m.fit != want || m.doc.rows == nil {
		m.doc, m.fit = m.compose(m.inner(), !pinned, cut), want
	}
	return m.doc
}

// bodyHeight is what the fixed lines leave for the document.
func (m *Model) bodyHeight() int {
	above, below, _ := m.pinned()
	rows, _ := m.rowLines()
	fixed := 3 + len(above) + len(below) + len(rows) + len(m.stateLines()) // head, the rule below the text, keys
	if len(above) > 0 {
		fixed++ // the rule above the text
	}
	return max(1, m.height-fixed)
}

// View draws the proposal over the whole screen: exactly height lines of at most width cells. It notes whether the end
// of the text is among them.
func (m *Model) View(f Frame) string {
	m.frame = f
	m.clamp()
	d, h := m.document(), m.bodyHeight()
	m.look(f.Now, m.top+h >= d.end)
	for _, r := range d.rows[m.top:min(m.top+h, len(d.rows))] {
		for i := r.from; i < r.to; i++ {
			m.shown[i] = true
		}
	}
	above, below, _ := m.pinned()
	rows, _ := m.rowLines()

	lines := []string{m.head(f)}
	lines = append(lines, m.framed(above)...)
	if len(above) > 0 {
		lines = append(lines, m.rule(""))
	}
	lines = append(lines, cells.Fit(m.framed(d.rows[m.top:min(m.top+h, len(d.rows))]), h)...)
	lines = append(lines, m.textRule(m.marks(d, h)))
	lines = append(lines, m.framed(below)...)
	for _, l := range rows {
		lines = append(lines, m.bar()+l)
	}
	for _, l := range m.stateLines() {
		lines = append(lines, m.bar()+l)
	}
	lines = cells.Fit(lines, m.height-1)
	for i, l := range lines {
		if l == "" {
			l = m.bar()
		}
		lines[i] = cells.Cut(l, m.width)
	}
	last := m.edge(bottom) + keys.Line(m.st, m.inner(), m.Bindings()...)
	return strings.Join(append(lines, cells.Cut(last, m.width)), "\n")
}

// edge draws signs of the frame.
func (m *Model) edge(signs string) string {
	if m.ended != "" {
		return m.st.Dim.Render(signs)
	}
	return m.st.Warn.Render(signs)
}

func (m *Model) bar() string { return m.edge(bar) }

func (m *Model) rule(mark string) string {
	if mark != "" {
		mark = " " + mark + " " + across
	}
	return m.edge(crossed + strings.Repeat(across, max(0, m.width-1-cells.Width(mark))) + mark)
}

// textRule is the rule below the text.
func (m *Model) textRule(mark string) string {
	clock := m.narrowClock()
	if clock == "" {
		return m.rule(mark)
	}
	if mark != "" {
		mark = " " + mark + " " + across
	}
	fill := strings.Repeat(across, max(0, m.width-2-cells.Width(clock)-cells.Width(mark)))
	return m.edge(crossed+across) + m.clockLook(m.frame).Render(clock) + m.edge(fill+mark)
}

// framed draws rows of the document behind the bar.
func (m *Model) framed(rows []docRow) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = m.bar() + m.styleOf(r.look).Render(r.text)
	}
	return out
}

func (m *Model) styleOf(l look) lipgloss.Style {
	switch l {
	case strong:
		return m.st.Strong
	case dim:
		return m.st.Dim
	case added:
		return m.st.Good
	case removed:
		return m.st.Bad
	case apart:
		return m.st.Warn
	}
	return lipgloss.Style{}
}

// marks say what part of the document is in view.
func (m *Model) marks(d document, h int) string {
	all := len(d.rows)
	if all <= h {
		return ""
	}
	text := fmt.Sprintf("%d-%d of %d", m.top+1, min(m.top+h, all), all)
	if !m.narrow() {
		text = "lines " + text
	}
	if m.top+h < all {
		text += " · " + shown(m.keys.OptionsDown)
	}
	return text
}

// stateLines is the field of the reason, or what the last key has to say, or how things stand, on two lines at most.
func (m *Model) stateLines() []string {
	if m.stage == reason && m.notice == "" {
		lines := cells.Indent(m.area.View(), m.st.Lit.Render(m.fieldLabel()))
		return lines
	}
	text, st := m.standing()
	lines := cells.Wrap(text, m.inner())
	lines = cells.Fit(lines, min(2, max(m.stateHeight(), len(lines))))
	for i, l := range lines {
		lines[i] = st.Render(l)
	}
	return lines
}

// stateHeight is how many lines are kept free for how things stand, whatever that is: the end of the text must not leave
// the screen for a line that says that it is there, nor for the one that asks for the second key.
func (m *Model) stateHeight() int {
	if m.width < 80 || m.frame.Alike > 0 || m.frame.Twin > 0 {
		return 2
	}
	return 1
}

func (m *Model) standing() (string, lipgloss.Style) {
	switch {
	case m.stage == sure:
		text := fmt.Sprintf("%s allows it %s", shown(m.keys.Allow), Reach(m.rows[m.lit].Label))
		if m.notice == tooQuick {
			text = "too quick: once more " + text
		} else if n := m.unread(); n > 0 {
			text += fmt.Sprintf(", %d %s unread", n, plural(n, "line", "lines"))
		}
		return text + " · any other key goes back", m.st.Warn
	case m.notice != "":
		return m.notice, m.st.Warn
	case m.ended != "":
		return "This proposal is over: nothing can be allowed. " + shown(m.keys.Fold) + " closes it.", m.st.Warn
	}
	var parts []string
	st := m.st.Dim
	switch {
	case m.info.Proposal == nil:
		parts, st = append(parts, "this can only be denied"), m.st.Warn
	case !m.EndShown():
		parts, st = append(parts, m.readFirst()), m.st.Warn
	}
	if n := m.frame.Alike; n > 0 {
		parts = append(parts, fmt.Sprintf("%d more like this %s", n, plural(n, "waits", "wait")))
	}
	if n := m.frame.Twin; n > 0 {
		parts, st = append(parts, fmt.Sprintf("same words as ask %d", n)), m.st.Warn
	}
	switch {
	case m.early > 0:
		parts = append(parts, fmt.Sprintf("%d early %s in the prompt", m.early, plural(m.early, "key is", "keys are")))
	case m.info.Reopens != "":
		parts = append(parts, "asked again")
	}
	if m.allows(m.lit) && m.EndShown() && (len(parts) == 0 || !m.narrow()) {
		text := fmt.Sprintf("%s, then %s, allows it", shown(m.keys.Take), shown(m.keys.Allow))
		if !m.narrow() { // else the line above says how far it reaches
			text += " " + Reach(m.rows[m.lit].Label)
		}
		if all := append([]string{text}, parts...); len(cells.Wrap(strings.Join(all, " · "), m.inner())) <= m.stateHeight() {
			parts = all
		}
	}
	return strings.Join(parts, " · "), st
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Bindings are the keys that work now, the most important first and the way to all of them last.
func (m *Model) Bindings() []key.Binding {
	k := m.keys
	inField := k.Help
	inField.SetHelp("F1", "all")
	row := k.Row
	if n := len(m.rows); n > 0 && n < len(row.Keys()) {
		row.SetHelp(row.Keys()[0]+"-"+row.Keys()[n-1], row.Help().Desc)
	}
	if m.narrow() { // digits are written beside the rows
		row.SetHelp("", "")
	}
	take := keys.As(k.Take, "allow")
	if !m.allows(m.lit) {
		take = keys.As(k.Take, "deny")
	}
	switch {
	case m.ended != "":
		return []key.Binding{keys.As(k.Fold, "close"), k.Help}
	case m.stage == reason:
		return []key.Binding{keys.As(k.Accept, "deny"), keys.As(k.Leave, "back"), k.NewLine, k.MoreInField, inField}
	case m.stage == sure:
		return []key.Binding{keys.As(k.Allow, "allow "+Reach(m.rows[m.lit].Label)), keys.As(k.Fold, "back")}
	case !m.EndShown():
		return []key.Binding{keys.As(k.OptionsDown, "read on"), k.Deny, row, k.Fold, keys.As(k.Decline, "deny, why"), k.Peek, keys.As(k.End, "end"), k.More, k.Help}
	}
	return []key.Binding{take, k.Deny, row, k.Fold, keys.As(k.Decline, "deny, why"), k.Peek, keys.As(k.OptionsDown, "scroll"), k.More, k.Help}
}

// AllBindings are all keys that work on this page.
func (m *Model) AllBindings() []key.Binding {
	out := m.Bindings()
	if m.ended != "" || m.stage != reading {
		return out
	}
	k := m.keys
	help := out[len(out)-1]
	return append(out[:len(out)-1], keys.As(k.Up, "line up"), keys.As(k.Down, "line down"), keys.As(k.OptionsUp, "page up"),
		keys.As(k.QuestionUp, "half a page up"), keys.As(k.QuestionDown, "half a page down"), k.Start, k.End, k.Allow, help)
}
