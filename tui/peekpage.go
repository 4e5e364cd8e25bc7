package tui

import (
	"context"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/peek"
)

// peekPage shows what the agent of an ask last said and did, over the page that it was opened from.
type peekPage struct {
	m    *Model
	ask  *openAsk
	back page
	look *peek.Model
}

type peekedMsg struct {
	page *peekPage
	peek session.Peek
	err  error
}

// peek opens the peek of an ask and asks its session for what there is.
func (m *Model) peek(a *openAsk, back page) tea.Cmd {
	if a.form.Info().Asker.Guest { // whatever is known of the pane that is shown is another's
		a.form.Say("what a guest does is not seen here; look where it runs")
		return nil
	}
	p := &peekPage{m: m, ask: a, back: back, look: peek.New(m.opt.Styles)}
	p.look.Resize(m.width, m.height)
	m.turnTo(p)
	client, path := m.clientOf(a), a.form.Info().Asker.Path
	return m.io(func(ctx context.Context) tea.Msg {
		found, err := client.Peek(ctx, path)
		return peekedMsg{p, found, err}
	})
}

func (m *Model) peeked(msg peekedMsg) { msg.page.look.Set(msg.peek, msg.err) }

func (p *peekPage) typing() bool { return false }

func (p *peekPage) key(msg tea.KeyMsg) tea.Cmd {
	m := p.m
	switch {
	case msg.Paste:
		m.pasted(msg)
	case key.Matches(msg, m.opt.Keys.Help):
		m.openHelp()
	case p.look.Key(msg, m.opt.Keys):
		m.turnTo(p.back)
		m.guard.Arm(m.now())
		if a := m.front(); a != nil && !m.isOpen(a) {
			m.next() // it was settled meanwhile
		}
	}
	return nil
}

func (p *peekPage) view() string {
	p.look.Resize(p.m.width, p.m.height)
	return p.look.View(p.m.who(p.ask))
}

func (p *peekPage) keys() (string, []key.Binding) { return "Keys in the peek", p.look.Bindings() }
