package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/transcript"
)

// pane is one session on the screen: its log, and a composer of its own, so that a prompt that is being typed stays
// with the session it is meant for.
type pane struct {
	client session.Client
	detach func()

	snap     session.Snapshot
	after    uint64 // the newest event that was taken
	log      *transcript.Model
	composer field.Model
	past     history
	kept     []string  // texts of asks that ended, which had no place in a composer in use
	typed    time.Time // the last key in the composer
	escAt    time.Time // an Esc that counts towards stopping the turn
	unseen   bool      // a turn ended while another session was shown
	outbox   []string  // prompts on their way to the session
	posting  bool
	saved    session.Desk
	saving   bool
	closing  bool
	remote   remote // of another process; nil: of this one
	gone     bool   // it is not there any more
	apart    bool   // another terminal works on its desk
}

// The messages of panes.
type (
	eventsMsg struct {
		pane  *pane
		batch session.Batch
		snap  session.Snapshot
		err   error
	}
	pollMsg   struct{ pane *pane }
	openedMsg struct {
		pane *pane
		err  error
	}
	closedMsg struct {
		pane *pane
		err  error
	}
)

// attach makes a pane of a session. It may wait.
func (m *Model) attach(ctx context.Context, client session.Client) (*pane, error) {
	detach, err := client.Attach(m.opt.Surface, m.prompter)
	if err != nil {
		return nil, err
	}
	snap, err := client.Snapshot(ctx)
	desk, deskErr := client.Desk(ctx)
	if err := errors.Join(err, deskErr); err != nil {
		detach()
		return nil, err
	}
	p := &pane{
		client: client, detach: detach, snap: snap, saved: desk, kept: desk.Kept, past: history{sent: desk.History},
		log: transcript.New(m.opt.Styles), composer: field.New(m.opt.Keys.NewLine, m.opt.Styles.Plain),
	}
	p.remote, _ = client.(remote)
	if p.apart = p.remote != nil && m.opt.Apart; p.apart {
		p.kept = nil
		return p, nil
	}
	p.composer.Set(desk.Prompt)
	return p, nil
}

// add puts a pane beside the others.
func (m *Model) add(p *pane) {
	m.panes = append(m.panes, p)
	if m.at == nil {
		m.at = p
	}
	p.composer.Focus()
	m.layout()
}

// poll waits for the next events and takes the snapshot that goes with them.
func (m *Model) poll(p *pane) tea.Cmd {
	after := p.after
	return m.io(func(ctx context.Context) tea.Msg {
		batch, err := p.client.Events(ctx, after)
		if err != nil {
			return eventsMsg{pane: p, err: err}
		}
		snap, err := p.client.Snapshot(ctx)
		return eventsMsg{pane: p, batch: batch, snap: snap, err: err}
	})
}

// events takes a batch of a session's events and waits a moment before it asks for more, so that a flood costs a
// frame a batch and not one an event.
func (m *Model) events(msg eventsMsg) tea.Cmd {
	p := msg.pane
	switch {
	case errors.Is(msg.err, session.ErrClosed) && p.remote != nil:
		m.paneGone(p)
		return nil
	case errors.Is(msg.err, session.ErrClosed), errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.say(msg.err.Error())
		return nil
	}
	if msg.batch.Resync {
		p.log.Note("some lines were left out here: more came than could be kept")
	}
	for _, e := range msg.batch.Events {
		e.Surface = m.surface(e.Surface)
		p.log.Add(e)
		p.after = e.Seq
		m.remember(p, e)
		if e.Kind == session.TurnEnded && p != m.at {
			p.unseen = true
		}
	}
	if p == m.at && p.snap.State != msg.snap.State && m.noticeUntil.IsZero() && m.composing() {
		m.say("") // it was about what was
	}
	p.snap = msg.snap
	return tea.Tick(batchEvery, func(time.Time) tea.Msg { return pollMsg{p} })
}

// paneOf is the pane of an ask's session; the one that is shown when its own is gone.
func (m *Model) paneOf(a *openAsk) *pane {
	for _, p := range m.panes {
		if p.snap.ID == a.form.Info().SessionID {
			return p
		}
	}
	return m.at
}

// switchTo shows another session.
func (m *Model) switchTo(p *pane) {
	m.at, p.unseen = p, false
	m.leaveAsks()
	m.layout()
}

// nextPane shows the session n further on, round the end.
func (m *Model) nextPane(n int) {
	all := len(m.panes)
	at := slices.Index(m.panes, m.at)
	m.switchTo(m.panes[((at+n)%all+all)%all])
}

// open makes a new session and a pane for it.
func (m *Model) open(spec session.Spec) tea.Cmd {
	return m.io(func(ctx context.Context) tea.Msg {
		client, err := m.opt.Opener.Open(ctx, spec)
		if err != nil {
			return openedMsg{err: err}
		}
		p, err := m.attach(ctx, client)
		return openedMsg{pane: p, err: err}
	})
}

// paneOpened shows the new session.
func (m *Model) paneOpened(msg openedMsg) tea.Cmd {
	page, _ := m.page.(*sessionsPage)
	if msg.err != nil {
		m.say(msg.err.Error())
		if page != nil {
			page.busy = false
		}
		return nil
	}
	m.add(msg.pane)
	if page != nil {
		m.switchTo(msg.pane)
		m.home()
	}
	return m.poll(msg.pane)
}

// closeWithin bounds how long a session may take to close.
const closeWithin = 10 * time.Second

// closed takes the pane of a closed session away. What stood in its composer goes to the one that is shown then.
func (m *Model) closed(msg closedMsg) {
	p := msg.pane
	p.closing = false
	if msg.err != nil {
		m.say(msg.err.Error())
		return
	}
	p.detach()
	at := slices.Index(m.panes, p)
	if at < 0 {
		return
	}
	m.panes = slices.Delete(m.panes, at, at+1)
	if m.at == p {
		m.switchTo(m.panes[max(0, at-1)])
	}
	texts := p.kept
	if text := p.composer.Value(); text != "" {
		texts = append(texts, text)
	}
	m.keep(m.at, texts, "the session")
}

// saveDesk brings what is written in a pane to its session, where it is kept.
func (m *Model) saveDesk(p *pane) tea.Cmd {
	now := session.Desk{Prompt: p.composer.Value(), Kept: p.kept, History: p.past.sent}
	if p.saving || p.apart || p.gone || (now.Prompt == p.saved.Prompt && slices.Equal(now.Kept, p.saved.Kept) && len(now.History) == len(p.saved.History)) {
		return nil
	}
	now.Kept, now.History = slices.Clone(now.Kept), slices.Clone(now.History)
	p.saving = true
	return m.io(func(ctx context.Context) tea.Msg { return deskSavedMsg{p, now, p.client.SetDesk(ctx, now)} })
}

type deskSavedMsg struct {
	pane *pane
	desk session.Desk
	err  error
}

func (m *Model) deskSaved(msg deskSavedMsg) {
	msg.pane.saving, msg.pane.saved = false, msg.desk // an error means that the session is closing
}
