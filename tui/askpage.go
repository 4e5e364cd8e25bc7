package tui

import (
	"context"
	"slices"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/question"
)

// askPage is one ask over the whole screen.
type askPage struct {
	m   *Model
	ask *openAsk
}

func (p *askPage) typing() bool { return p.ask.form.Typing() || p.ask.sheet.Sheet().OnOwnRow() }

func (p *askPage) view() string {
	m, a := p.m, p.ask
	return a.sheet.View(question.Frame{
		Now: m.now(), Nth: m.nth(a), All: len(m.asks), Session: m.sessionName(a), Twin: m.twinOf(a),
	})
}

func (p *askPage) keys() (string, []key.Binding) {
	return "Keys in this ask", append(p.ask.sheet.AllBindings(), p.m.opt.Keys.Inbox, p.m.opt.Keys.Sessions, p.m.opt.Keys.NextSession, p.m.opt.Keys.Quit)
}

// key gives a key to the ask.
func (p *askPage) key(msg tea.KeyMsg) tea.Cmd {
	m, a, k := p.m, p.ask, p.m.opt.Keys
	enter := msg.Type == tea.KeyEnter && !msg.Alt
	switch { // these never answer
	case msg.Paste && a.sheet.Sheet().OnReview():
		m.tooEarly(msg) // there is no field it could go to
		return nil
	case !msg.Paste && m.elsewhere(a, msg):
		return nil
	}
	if a.form.Ended() {
		return m.endedKey(a, msg)
	}
	if a.sending || (!isEsc(k, msg) && !m.guard.Admit(m.stroke, enter)) {
		m.tooEarly(msg)
		return nil
	}
	switch {
	case key.Matches(msg, k.Help) && !p.typing():
		m.openHelp()
		return nil
	case key.Matches(msg, k.Editor) && !a.sheet.Sheet().OnReview():
		return m.edit()
	case key.Matches(msg, k.Peek) && !p.typing():
		return m.peek(a, p)
	}
	if enter {
		m.guard.Hold(m.now())
	}
	asked := a.sheet.Key(msg)
	if a.direct && !a.form.Typing() {
		a.direct = false
		m.guard.Arm(m.now())
	}
	return m.ask(a, asked)
}

// elsewhere does what a key means that leads from an ask to another page, and reports whether it was one.
func (m *Model) elsewhere(a *openAsk, msg tea.KeyMsg) bool {
	k := m.opt.Keys
	switch {
	case key.Matches(msg, k.Inbox):
		if a.form.Ended() {
			m.close(a)
			a = nil
		}
		m.openInbox(a)
	case key.Matches(msg, k.Sessions) && !a.form.Ended():
		m.leaveAsks()
		m.openSessions()
	case key.Matches(msg, k.NextSession) && !a.form.Ended() && len(m.panes) > 1:
		m.home()
		m.nextPane(1)
	default:
		return false
	}
	return true
}

// ask does what a key in an ask's form asks of the program.
func (m *Model) ask(a *openAsk, asked question.Asked) tea.Cmd {
	var cmds []tea.Cmd
	switch {
	case asked.Send != nil:
		cmds = append(cmds, m.settle(a, asked.Send, false, func(ctx context.Context) error { return a.ask.Answer(ctx, asked.Send) }))
	case asked.Decline != nil:
		cmds = append(cmds, m.settle(a, whole(asked.Decline.Partial), true, func(ctx context.Context) error {
			return a.ask.Decline(ctx, asked.Decline.Reason, asked.Decline.Partial)
		}))
	case asked.Extend > 0:
		cmds = append(cmds, m.extend(a, asked.Extend))
	case asked.Copy != "":
		said, cmd := m.copyText(asked.Copy)
		a.form.Say(said)
		cmds = append(cmds, cmd)
	case asked.Fold:
		a.folded = true
		m.leaveAsks()
		m.home()
	}
	return tea.Batch(append(cmds, m.save(a), m.touch(a))...)
}

// whole are the partial answers of a decline as far as they reach the agent whole: a long text is cut on its way, in
// words, and what is cut must not be lost.
func whole(partial []host.Answer) []host.Answer {
	size := 0
	for _, a := range partial {
		size += len(a.Text) + len(a.Note)
	}
	if size < host.MaxAnswerBytes/2 {
		return partial
	}
	out := slices.Clone(partial)
	for i := range out {
		out[i].Text, out[i].Note = "", ""
	}
	return out
}

// endedKey takes a key for an ask that is over. Esc closes it; text goes on to where it was going.
func (m *Model) endedKey(a *openAsk, msg tea.KeyMsg) tea.Cmd {
	switch {
	case isEsc(m.opt.Keys, msg):
		m.close(a)
	case a.form.KeyAfterEnd(msg):
	case a.sheet != nil && key.Matches(msg, m.opt.Keys.Copy) && !a.form.Typing() && m.guard.Admit(m.stroke, false):
		said, cmd := m.copyText(a.form.CopyText())
		a.form.Say(said)
		return cmd
	default:
		m.tooEarly(msg)
	}
	return nil
}

// tooEarly keeps what was typed for something else: it is the composer's. Other keys are dropped, and the screen
// says so.
func (m *Model) tooEarly(msg tea.KeyMsg) {
	form := m.front().form
	if msg.Alt || (msg.Type != tea.KeyRunes && msg.Type != tea.KeySpace) {
		form.Dropped(m.now())
		return
	}
	m.at.composer.Insert(string(msg.Runes))
	form.Early()
}
