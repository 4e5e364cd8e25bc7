package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/keys"
)

// Exit says how the program came to its end.
type Exit struct {
	Signal os.Signal // nil when the operator quit
	Lost   bool      // the terminal itself is gone
}

type signalMsg struct{ sig os.Signal }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.layout()
	case tea.FocusMsg:
		m.guard.Arm(m.now())
	case tea.KeyMsg:
		var cmds []tea.Cmd
		for _, k := range keys.Split(msg) {
			cmds = append(cmds, m.key(k))
		}
		return m, tea.Batch(cmds...)
	case askOpenedMsg:
		return m, m.opened(msg.ask)
	case askChangedMsg:
		if a := m.find(msg.info.ID); a != nil {
			a.form.SetInfo(msg.info)
		}
	case askEndedMsg:
		m.ended(msg)
	case settledMsg:
		m.settled(msg)
	case savedMsg:
		return m, m.saved(msg)
	case tickMsg:
		m.ticking = false
		m.openWaiting()
		return m, m.tick()
	case snapMsg:
		m.snap = session.Snapshot(msg)
	case eventsMsg:
		return m, m.events(msg)
	case pollMsg:
		return m, m.poll()
	case unqueuedMsg:
		m.composer.SetValue(string(msg))
	case errorMsg:
		m.notice = msg.err.Error()
	case signalMsg:
		m.exit.Signal = msg.sig
		return m, tea.Quit
	}
	return m, nil
}

func (m *Model) exiting() bool { return m.exit.Signal != nil }

// events takes a batch of the session's events and waits a moment before it asks for more, so that a flood
// costs a frame a batch and not one an event.
func (m *Model) events(msg eventsMsg) tea.Cmd {
	switch {
	case errors.Is(msg.err, session.ErrClosed), errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.notice = msg.err.Error()
		return nil
	}
	if msg.batch.Resync {
		m.log.Note("some lines were left out here: more came than could be kept")
	}
	for _, e := range msg.batch.Events {
		m.log.Add(e)
		m.after = e.Seq
	}
	m.snap = msg.snap
	return tea.Tick(batchEvery, func(time.Time) tea.Msg { return pollMsg{} })
}

// key does what one key means, wherever the keyboard is.
func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	if key.Matches(msg, m.opt.Keys.Quit) {
		return m.quit()
	}
	m.quitAt = time.Time{} // any other key takes the first Ctrl+C back
	if m.help {
		m.help = false
		return nil
	}
	// An Alt key that nothing is bound to is Esc and the key: slow lines merge the two.
	if msg.Alt && !key.Matches(msg, m.opt.Keys.NewLine) {
		msg.Alt = false
		return tea.Batch(m.key(tea.KeyMsg{Type: tea.KeyEsc}), m.key(msg))
	}
	if key.Matches(msg, m.opt.Keys.Help) && (msg.Type == tea.KeyF1 || !m.typing()) {
		m.help = true
		return nil
	}
	if m.mode == ModeOperatorQuestion {
		return m.questionKey(msg)
	}
	return m.composerKey(msg)
}

// typing reports whether a printable key is text where the keyboard is.
func (m *Model) typing() bool {
	if m.mode == ModeCompose {
		return true
	}
	form := m.front.form
	return form.Typing() || form.Sheet().OnOwnRow()
}

// quit says what quitting means now, and quits at the second time.
func (m *Model) quit() tea.Cmd {
	now := m.now()
	if now.Sub(m.quitAt) < quitWithin {
		return tea.Quit
	}
	m.quitAt = now
	what := "nothing is running"
	if m.snap.State == session.Working || m.snap.State == session.Asking {
		what = "the turn is stopped"
	}
	if n := len(m.asks); n > 0 {
		what = fmt.Sprintf("%d open %s without an answer and %s", n, plural(n, "ask ends", "asks end"), what)
	}
	text := "^C again quits: " + what
	m.notice = text
	if m.mode == ModeOperatorQuestion {
		m.front.form.Say(text)
	}
	return nil
}

func (m *Model) composerKey(msg tea.KeyMsg) tea.Cmd {
	k := m.opt.Keys
	m.notice = ""
	escAt := m.escAt
	m.escAt = time.Time{} // any other key takes the first Esc back
	page := max(1, m.logHeight()-2)
	switch {
	case msg.Paste:
	case key.Matches(msg, k.Stop):
		return m.escape(escAt)
	case key.Matches(msg, k.OpenAsk):
		if a := m.waiting(); a != nil {
			m.show(a)
		} else {
			m.notice = "no ask is open"
		}
		return nil
	case key.Matches(msg, k.Submit):
		return m.submit()
	case key.Matches(msg, k.Unqueue):
		return m.unqueue()
	case key.Matches(msg, k.PageUp):
		m.log.Scroll(page, m.logHeight())
		return nil
	case key.Matches(msg, k.PageDown):
		m.log.Scroll(-page, m.logHeight())
		return nil
	case key.Matches(msg, k.Bottom):
		m.log.Bottom()
		return nil
	}
	m.typed = m.now()
	m.composer, _ = m.composer.Update(msg) // its commands only serve the blinking cursor, which is off
	m.layout()
	return nil
}

// escape stops the running turn at the second Esc in the composer.
func (m *Model) escape(first time.Time) tea.Cmd {
	now := m.now()
	if m.snap.State != session.Working && m.snap.State != session.Asking {
		m.notice = "no turn is running"
		return nil
	}
	if now.Sub(first) >= stopWithin {
		m.escAt = now
		m.notice = "Esc again stops the turn"
		return nil
	}
	m.notice = "stopping the turn"
	return m.io(func(ctx context.Context) tea.Msg {
		if err := m.opt.Client.CancelTurn(ctx); err != nil {
			return errorMsg{err}
		}
		return doneMsg{}
	})
}

// submit sends the prompt, or lets the queue go on, or opens what waits.
func (m *Model) submit() tea.Cmd {
	prompt := m.composer.Value()
	if strings.TrimSpace(prompt) == "" {
		if m.snap.Held {
			return m.io(func(ctx context.Context) tea.Msg { return failed(m.opt.Client.ReleaseQueue(ctx)) })
		}
		if a := m.waiting(); a != nil {
			m.show(a)
		}
		return nil
	}
	m.composer.Reset()
	m.log.Bottom()
	m.layout()
	if a := m.waiting(); a != nil && !a.folded {
		m.show(a)
	}
	return m.io(func(ctx context.Context) tea.Msg {
		err := m.opt.Client.StartTurn(ctx, prompt)
		if errors.Is(err, session.ErrBusy) {
			err = m.opt.Client.Queue(ctx, prompt)
		}
		return failed(err)
	})
}

func failed(err error) tea.Msg {
	if err != nil {
		return errorMsg{err}
	}
	return doneMsg{}
}

type unqueuedMsg string

func (m *Model) unqueue() tea.Cmd {
	if m.composer.Value() != "" {
		m.notice = "send or clear the prompt first"
		return nil
	}
	return m.io(func(ctx context.Context) tea.Msg {
		prompt, ok, err := m.opt.Client.Unqueue(ctx)
		if err != nil {
			return errorMsg{err}
		}
		if !ok {
			return errorMsg{errors.New("no prompt is queued")}
		}
		return unqueuedMsg(prompt)
	})
}
