package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/keys"
)

// sessionsPage lists the sessions of this program: to switch, open, rename and close them.
type sessionsPage struct {
	m       *Model
	lit     int
	form    *newSession  // open while a new one is described
	title   *field.Model // open while one is renamed
	confirm *pane        // whose close has to be confirmed
	busy    bool         // a session is being opened
}

func (m *Model) openSessions() { m.turnTo(&sessionsPage{m: m, lit: slices.Index(m.panes, m.at)}) }

func (s *sessionsPage) typing() bool { return s.form != nil || s.title != nil }

func (s *sessionsPage) pane() *pane {
	s.lit = max(0, min(s.lit, len(s.m.panes)-1))
	return s.m.panes[s.lit]
}

func (s *sessionsPage) key(msg tea.KeyMsg) tea.Cmd {
	m, k := s.m, s.m.opt.Keys
	m.say("")
	switch {
	case s.form != nil:
		return s.formKey(msg)
	case s.title != nil:
		return s.titleKey(msg)
	case msg.Paste:
		m.pasted(msg)
		return nil
	}
	confirm := s.confirm
	s.confirm = nil // any other key takes it back
	switch {
	case key.Matches(msg, k.Fold), key.Matches(msg, k.Sessions):
		m.home()
	case key.Matches(msg, k.Help):
		m.openHelp()
	case key.Matches(msg, k.Up):
		s.lit = max(0, s.lit-1)
	case key.Matches(msg, k.Down):
		s.lit = min(len(m.panes)-1, s.lit+1)
	case key.Matches(msg, k.Row):
		if n := int(msg.Runes[0] - '1'); n < len(m.panes) {
			s.lit = n
		}
	case key.Matches(msg, k.Take) && s.pane().closing:
		m.say(s.pane().snap.Title + " is closing")
	case key.Matches(msg, k.Take):
		m.switchTo(s.pane())
		m.home()
	case key.Matches(msg, k.NewSession):
		if m.opt.Opener == nil {
			m.say("no further sessions can be opened here")
			return nil
		}
		s.form = newSessionForm(m, s.pane())
	case key.Matches(msg, k.Rename):
		f := field.New(k.NewLine, m.opt.Styles.Plain)
		f.Resize(max(8, m.width-14), 1)
		f.Set(s.pane().snap.Title)
		f.Focus()
		s.title = &f
	case key.Matches(msg, k.CloseRow):
		return s.close(confirm)
	case key.Matches(msg, k.Continue):
		return s.printContinue()
	}
	return nil
}

// close closes the lit session; one in which something would be lost, only at the second time.
func (s *sessionsPage) close(confirmed *pane) tea.Cmd {
	m, p := s.m, s.pane()
	switch {
	case len(m.panes) == 1:
		m.say(fmt.Sprintf("this is the only session; %s ends the program", m.opt.Keys.Quit.Help().Key))
		return nil
	case p.closing:
		return nil
	case p.busy() && confirmed != p:
		s.confirm = p
		what := "its turn is stopped"
		if n := p.snap.Asks; n > 0 {
			what = fmt.Sprintf("%d open %s without an answer and its turn is stopped", n, plural(n, "ask ends", "asks end"))
		}
		m.say(fmt.Sprintf("%s again closes %s: %s", m.opt.Keys.CloseRow.Help().Key, p.snap.Title, what))
		return nil
	}
	p.closing = true
	return m.io(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, closeWithin)
		defer cancel()
		return closedMsg{p, p.client.Close(ctx, host.HostClosing)}
	})
}

// printContinue writes into the log how the conversation goes on without kitsoki.
func (s *sessionsPage) printContinue() tea.Cmd {
	m, p := s.m, s.pane()
	line := p.snap.Continue
	if line == "" {
		m.say(p.snap.Agent + " has no conversation that goes on outside of kitsoki; one of claude's does after its first turn")
		return nil
	}
	p.log.Note("to continue without kitsoki: " + line)
	said, cmd := m.copyText(line)
	m.switchTo(p)
	m.home()
	if cmd != nil {
		m.say(said)
	}
	return cmd
}

// titleKey does what a key means in the field of a title.
func (s *sessionsPage) titleKey(msg tea.KeyMsg) tea.Cmd {
	m, k, p := s.m, s.m.opt.Keys, s.pane()
	switch {
	case !msg.Paste && key.Matches(msg, k.Accept):
		title := s.title.Value()
		s.title = nil
		return m.io(func(ctx context.Context) tea.Msg { return failed(p.client.Rename(ctx, title)) })
	case !msg.Paste && key.Matches(msg, k.Leave):
		s.title = nil
	default:
		s.title.Key(msg)
	}
	return nil
}

func (s *sessionsPage) formKey(msg tea.KeyMsg) tea.Cmd {
	switch done, spec := s.form.key(msg); {
	case done && spec == nil:
		s.form = nil
	case done && !s.busy:
		s.busy = true
		s.m.say("opening " + spec.Dir)
		return s.m.open(*spec)
	}
	return nil
}

func (s *sessionsPage) bindings() []key.Binding {
	k := s.m.opt.Keys
	switch {
	case s.form != nil:
		return s.form.bindings()
	case s.title != nil:
		return []key.Binding{keys.As(k.Accept, "rename"), keys.As(k.Leave, "back"), keys.As(k.Help, "all")}
	}
	return []key.Binding{
		keys.As(k.Take, "switch"), keys.As(k.Fold, "back"), k.NewSession, k.Rename, k.CloseRow, k.Continue, k.Help,
	}
}

func (s *sessionsPage) keys() (string, []key.Binding) {
	return "Keys in the list of sessions", append(s.bindings(), s.m.opt.Keys.Up, s.m.opt.Keys.Down)
}

func (s *sessionsPage) view() string {
	m, st := s.m, s.m.opt.Styles
	lines := []string{st.Title.Render(fmt.Sprintf(" sessions: %d", len(m.panes))), st.Dim.Render(strings.Repeat("-", m.width))}
	h := m.height - 4
	if s.form != nil {
		lines[0] = st.Title.Render(" a new session")
		lines = append(lines, cells.Fit(s.form.view(m.width), h)...)
	} else {
		var rows []string
		at := 0
		for i, p := range m.panes {
			from := len(rows)
			rows = append(rows, s.row(i, p)...)
			if i == s.lit {
				at = max(0, min(from, len(rows)-h))
			}
		}
		lines = append(lines, cells.Fit(rows[at:], h)...)
	}
	state := st.Warn.Render(" " + askbridge.Safe(m.notice))
	if s.title != nil {
		state = st.Lit.Render(" new title: ") + s.title.View()[0]
	}
	return fitScreen(append(lines, state, " "+keys.Line(st, m.width-1, s.bindings()...)), m.width, m.height)
}

// row draws one session: what it is called and does, and where.
func (s *sessionsPage) row(i int, p *pane) []string {
	m, st := s.m, s.m.opt.Styles
	mark, look := "  ", st.Strong
	if i == s.lit {
		mark, look = "> ", st.Lit
	}
	shown := ""
	if p == m.at {
		shown = " (shown)"
	}
	head := fmt.Sprintf(" %s%d  %s%s", mark, i+1, p.snap.Title, shown)
	right := fmt.Sprintf("%s  $%.4f ", p.doing(), p.snap.CostUSD)
	where := "in " + askbridge.Safe(p.snap.Dir)
	if p.snap.Branch != "" {
		where += " on " + p.snap.Branch
	}
	where += fmt.Sprintf(" · %s · access %s", p.snap.Agent, accessWords(p.snap))
	if n := len(p.snap.Queue); n > 0 {
		where += fmt.Sprintf(" · %d queued", n)
	}
	if p.composer.Value() != "" {
		where += " · a draft in the prompt"
	}
	return []string{cells.Spread(look.Render(head), right, m.width), st.Dim.Render(cells.Cut("      "+where, m.width))}
}
