package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/keys"
)

// newSession is the form that describes a new session. It starts as a copy of the one that was lit.
type newSession struct {
	m    *Model
	rows []formRow
	at   int
}

// formRow is one line of the form: a text, or one of a few values.
type formRow struct {
	name   string
	hint   string
	text   *field.Model
	values []string
	value  int

	offered bool // the text is the form's, not the operator's
}

const (
	rowDir = iota
	rowWorktree
	rowTitle
	rowAgent
	rowAccess
	rowModel
)

func newSessionForm(m *Model, like *pane) *newSession {
	text := func(value string) *field.Model {
		f := field.New(m.opt.Keys.NewLine, m.opt.Styles.Plain)
		f.Resize(max(8, m.width-16), 1)
		f.Set(value)
		return &f
	}
	choice := func(name string, values []string, now string) formRow {
		return formRow{name: name, values: values, value: max(0, slices.Index(values, now)), hint: "Left and Right change it"}
	}
	n := &newSession{m: m, rows: []formRow{
		{name: "directory", text: text(like.snap.Dir), hint: "where the agent works; ~ is your home; / or ~ begins anew", offered: true},
		{name: "worktree", text: text(""), hint: "a name makes a git worktree beside it, on a branch of its own; empty: none"},
		{name: "title", text: text(""), hint: "empty: the directory's name"},
		choice("agent", m.opt.Opener.Agents(), like.snap.Agent),
		choice("access", []string{"read", "ask", "edit", "full"}, like.snap.Access),
		{name: "model", text: text(""), hint: "as the agent names it; empty: its own choice"},
	}}
	n.rows[0].text.Focus()
	return n
}

// key does what a key means in the form. done with no spec means that it was left.
func (n *newSession) key(msg tea.KeyMsg) (done bool, spec *session.Spec) {
	k, row := n.m.opt.Keys, &n.rows[n.at]
	switch {
	case msg.Paste && row.text != nil:
		row.text.Key(msg)
	case msg.Paste:
	case key.Matches(msg, k.Leave):
		return true, nil
	case key.Matches(msg, k.Accept):
		s := n.spec()
		return true, &s
	case key.Matches(msg, k.Next), key.Matches(msg, k.Newer):
		n.move(1)
	case key.Matches(msg, k.Prev), key.Matches(msg, k.Older):
		n.move(-1)
	case row.text != nil:
		if !key.Matches(msg, k.NewLine) {
			row.typed(msg)
		}
	case msg.Type == tea.KeyLeft:
		row.turn(-1)
	case msg.Type == tea.KeyRight, msg.Type == tea.KeySpace:
		row.turn(1)
	}
	return false, nil
}

// typed takes a key in a text. A path that is begun anew takes the place of the one that was offered.
func (r *formRow) typed(msg tea.KeyMsg) {
	text, ok := keys.Printable(msg)
	if ok && r.offered && (text == "/" || text == "~") {
		r.text.Set("")
	}
	r.offered = false
	r.text.Key(msg)
}

func (r *formRow) turn(n int) {
	if len(r.values) > 0 {
		r.value = ((r.value+n)%len(r.values) + len(r.values)) % len(r.values)
	}
}

func (r *formRow) shown() string {
	if r.text != nil {
		return strings.TrimSpace(r.text.Value())
	}
	if len(r.values) == 0 {
		return ""
	}
	return r.values[r.value]
}

func (n *newSession) move(by int) {
	if f := n.rows[n.at].text; f != nil {
		f.Blur()
	}
	n.at = ((n.at+by)%len(n.rows) + len(n.rows)) % len(n.rows)
	if f := n.rows[n.at].text; f != nil {
		f.Focus()
	}
}

func (n *newSession) spec() session.Spec {
	return session.Spec{
		Dir: n.rows[rowDir].shown(), Worktree: n.rows[rowWorktree].shown(), Title: n.rows[rowTitle].shown(),
		Agent: n.rows[rowAgent].shown(), Access: n.rows[rowAccess].shown(), Model: n.rows[rowModel].shown(),
	}
}

func (n *newSession) bindings() []key.Binding {
	k := n.m.opt.Keys
	help := k.Help
	help.SetHelp("F1", "all")
	return []key.Binding{keys.As(k.Accept, "open it"), keys.As(k.Next, "next line"), keys.As(k.Leave, "back"), help}
}

func (n *newSession) view(width int) []string {
	st := n.m.opt.Styles
	var lines []string
	for i, r := range n.rows {
		mark, look := "   ", st.Dim
		if i == n.at {
			mark, look = " > ", st.Lit
		}
		value := r.shown()
		if r.text != nil {
			value = strings.Join(r.text.View(), " ")
		} else if i == n.at {
			value = "< " + value + " >"
		}
		lines = append(lines, cells.Cut(look.Render(mark+cells.Pad(r.name, 10))+" "+value, width))
	}
	return append(lines, "", st.Dim.Render(cells.Cut("   "+n.rows[n.at].hint, width)))
}
