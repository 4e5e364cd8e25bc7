package tui

import (
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/proposal"
	"example.com/kitsoki/tui/question"
)

// form is what the program needs of an ask on the screen, whatever kind it is.
type form interface {
	Info() host.AskInfo
	SetInfo(host.AskInfo)
	Resize(width, height int)
	Typing() bool
	Drafted() bool
	Unsent(sent []host.Answer, declined bool) []string
	CopyText() string

	Say(string)
	Early()
	Forget()
	Dropped(time.Time)
	Settle(time.Time)

	End(why string)
	Ended() bool
	Ending() string
	KeyAfterEnd(tea.KeyMsg) bool

	OpenField()
	Text() string
	SetText(string)
}

// formOf makes the form of an ask. Only the host makes an ask of the kind that can be allowed.
func (m *Model) formOf(ask host.Ask, info host.AskInfo) *openAsk {
	a := &openAsk{ask: ask}
	if info.Kind == host.KindProposal {
		a.proposal = proposal.New(info, m.opt.Keys, m.opt.Styles)
		a.form = a.proposal
		m.proposed[info.ID] = info
		return a
	}
	for i := range info.Questions {
		a.saved, a.theirs = append(a.saved, ask.Draft(i)), append(a.theirs, true)
	}
	a.sheet = question.NewModel(info, a.saved, m.opt.Keys, m.opt.Styles)
	a.form = a.sheet
	return a
}

// page is the page that shows the ask over the whole screen.
func (a *openAsk) page(m *Model) page {
	if a.proposal != nil {
		return &proposalPage{m: m, ask: a}
	}
	return &askPage{m: m, ask: a}
}

// proposalPage is one proposal over the whole screen.
type proposalPage struct {
	m   *Model
	ask *openAsk
}

func (p *proposalPage) typing() bool { return p.ask.form.Typing() }

func (p *proposalPage) view() string {
	m, a := p.m, p.ask
	return a.proposal.View(proposal.Frame{
		Now: m.now(), Nth: m.nth(a), All: len(m.asks), Session: m.sessionName(a), Twin: m.twinOf(a), Alike: m.alike(a),
	})
}

func (p *proposalPage) keys() (string, []key.Binding) {
	return "Keys in this proposal", append(p.ask.proposal.AllBindings(), p.m.opt.Keys.Inbox, p.m.opt.Keys.Sessions, p.m.opt.Keys.NextSession, p.m.opt.Keys.Quit)
}

// key gives a key to the proposal. Of the two keys that allow, the first is behind the guard of all asks, and each
// behind one of the proposal's own.
func (p *proposalPage) key(msg tea.KeyMsg) tea.Cmd {
	m, a, k := p.m, p.ask, p.m.opt.Keys
	f := a.proposal
	enter := msg.Type == tea.KeyEnter && !msg.Alt
	switch {
	case f.Confirming():
		return p.do(f.Key(msg, m.stroke))
	case msg.Paste && !f.Typing():
		m.tooEarly(msg) // there is no field it could go to
		return nil
	case !msg.Paste && m.elsewhere(a, msg):
		return nil
	case f.Ended():
		return m.endedKey(a, msg)
	case a.sending || (!isEsc(k, msg) && !m.guard.Admit(m.stroke, enter)):
		m.tooEarly(msg)
		return nil
	case key.Matches(msg, k.Help) && !p.typing():
		m.openHelp()
		return nil
	case key.Matches(msg, k.Editor) && f.Typing():
		return m.edit()
	case key.Matches(msg, k.Peek) && !f.Typing():
		return m.peek(a, p)
	}
	if enter {
		m.guard.Hold(m.now())
	}
	asked := f.Key(msg, m.stroke)
	if a.direct && !f.Typing() {
		a.direct = false
		m.guard.Arm(m.now())
	}
	return p.do(asked)
}

// do does what a key in the proposal asks of the program.
func (p *proposalPage) do(asked proposal.Asked) tea.Cmd {
	if asked.Early != "" {
		p.m.at.composer.Insert(asked.Early)
		for range asked.Early {
			p.ask.form.Early()
		}
		p.m.guard.Arm(p.m.now()) // the rest of it is on its way
	}
	return p.m.ask(p.ask, asked.Asked)
}

// covered is called when the page is about to be covered, or the keys on their way may be meant for something else: of
// a proposal the first of two keys is taken back then.
func (m *Model) covered() {
	if p, ok := m.page.(*proposalPage); ok {
		p.ask.proposal.Away(m.now())
	}
}

// arm puts up the guard on a page that stays.
func (m *Model) arm() {
	m.covered()
	m.guard.Arm(m.now())
}

// alike is how many more proposals wait that a yes for the turn may settle as well.
func (m *Model) alike(a *openAsk) int {
	n := 0
	for _, b := range m.asks {
		if a != b && !b.form.Ended() && proposal.Alike(a.form.Info(), b.form.Info()) {
			n++
		}
	}
	return n
}
