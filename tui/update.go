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
	Hung   bool      // it takes no output: write nothing to it any more
}

type signalMsg struct{ sig os.Signal }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	if m.composer.Value() == "" {
		for _, a := range m.asks {
			a.form.Forget() // early keys that are no longer there
		}
	}
	return m, cmd
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width != m.width || msg.Height != m.height {
			m.guard.Arm(m.now()) // what is under a key is elsewhere now
		}
		m.width, m.height = msg.Width, msg.Height
		m.layout()
	case tea.FocusMsg:
		m.guard.Arm(m.now())
	case tea.KeyMsg:
		var cmds []tea.Cmd
		for _, k := range keys.Split(msg) {
			cmds = append(cmds, m.key(k))
		}
		return tea.Batch(cmds...)
	case askOpenedMsg:
		return m.opened(msg.ask)
	case askChangedMsg:
		if a := m.find(msg.info.ID); a != nil {
			a.form.SetInfo(msg.info)
		}
	case askEndedMsg:
		m.ended(msg)
	case settledMsg:
		m.settled(msg)
	case savedMsg:
		return m.saved(msg)
	case tickMsg:
		m.ticking = false
		m.openWaiting()
		return m.tick()
	case snapMsg:
		m.snap = session.Snapshot(msg)
	case eventsMsg:
		return m.events(msg)
	case pollMsg:
		return m.poll()
	case editedMsg:
		return m.edited(msg)
	case unqueuedMsg:
		m.composer.Set(string(msg))
	case errorMsg:
		m.say(msg.err.Error())
	case staleMsg:
		if !m.noticeUntil.IsZero() && !m.now().Before(m.noticeUntil) {
			m.say("")
			if m.front != nil {
				m.front.form.Say("")
			}
		}
	case signalMsg:
		m.exit.Signal = msg.sig
		return tea.Quit
	}
	return nil
}

// say puts a notice over the composer until the next key.
func (m *Model) say(text string) { m.notice, m.noticeUntil = text, time.Time{} }

func (m *Model) exiting() bool { return m.exit.Signal != nil }

// events takes a batch of the session's events and waits a moment before it asks for more, so that a flood
// costs a frame a batch and not one an event.
func (m *Model) events(msg eventsMsg) tea.Cmd {
	switch {
	case errors.Is(msg.err, session.ErrClosed), errors.Is(msg.err, context.Canceled):
		return nil
	case msg.err != nil:
		m.say(msg.err.Error())
		return nil
	}
	if msg.batch.Resync {
		m.log.Note("some lines were left out here: more came than could be kept")
	}
	for _, e := range msg.batch.Events {
		m.log.Add(e)
		m.after = e.Seq
	}
	if m.snap.State != msg.snap.State && m.noticeUntil.IsZero() {
		m.say("") // it was about what was
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
	if m.tooSmall() {
		m.blindKey(msg)
		return nil
	}
	if m.help && m.helpKey(msg) {
		return nil
	}
	// An Alt key that nothing is bound to is Esc and the key: slow lines merge the two.
	if msg.Alt && !key.Matches(msg, m.opt.Keys.NewLine) {
		msg.Alt = false
		return tea.Batch(m.key(tea.KeyMsg{Type: tea.KeyEsc}), m.key(msg))
	}
	if msg.Type == tea.KeyF1 {
		m.openHelp()
		return nil
	}
	if msg.Type == tea.KeyEsc {
		defer func(now time.Time) { m.lastEsc = now }(m.now())
	}
	if m.mode == ModeOperatorQuestion {
		return m.questionKey(msg)
	}
	return m.composerKey(msg)
}

// blindKey takes a key on a terminal that is too small to show what it would do.
func (m *Model) blindKey(msg tea.KeyMsg) {
	if text, ok := keys.Printable(msg); ok {
		m.composer.Insert(text)
	}
}

func (m *Model) openHelp() { m.help, m.helpTop = true, 0 }

// helpKey scrolls the list of keys, or closes it. A key that types something where the keyboard is does that too.
func (m *Model) helpKey(msg tea.KeyMsg) (taken bool) {
	switch msg.Type {
	case tea.KeyUp, tea.KeyPgUp:
		m.helpTop = max(0, m.helpTop-max(1, m.height/2))
		return true
	case tea.KeyDown, tea.KeyPgDown:
		m.helpTop += max(1, m.height/2)
		return true
	}
	m.help = false
	_, printable := keys.Printable(msg)
	return !printable || !m.typing()
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
	m.quitAt, m.help = now, false
	what := "nothing is running"
	if m.busy() {
		what = "the turn is stopped"
	}
	if n := len(m.asks); n > 0 {
		what = fmt.Sprintf("%d open %s without an answer and %s", n, plural(n, "ask ends", "asks end"), what)
	}
	text := "^C again quits: " + what
	m.notice, m.noticeUntil = text, now.Add(quitWithin)
	if m.mode == ModeOperatorQuestion {
		m.front.form.Say(text)
	}
	return tea.Tick(quitWithin, func(time.Time) tea.Msg { return staleMsg{} })
}

func (m *Model) busy() bool { return m.snap.State == session.Working || m.snap.State == session.Asking }

func (m *Model) composerKey(msg tea.KeyMsg) tea.Cmd {
	k := m.opt.Keys
	m.say("")
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
			m.say("no ask is open")
		}
		return nil
	case key.Matches(msg, k.Submit):
		if !m.guard.Enter(m.now()) {
			return nil
		}
		return m.submit()
	case key.Matches(msg, k.Unqueue):
		return m.unqueue()
	case key.Matches(msg, k.Editor):
		return m.edit()
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
	m.composer.Key(msg)
	return nil
}

// escape stops the running turn at the second Esc in the composer. One that follows closely on an Esc elsewhere is
// still about that, and a held key is one key.
func (m *Model) escape(first time.Time) tea.Cmd {
	now := m.now()
	since := now.Sub(m.lastEsc)
	switch {
	case !m.busy():
		m.say("no turn is running")
		return nil
	case !first.IsZero() && since < escRepeat:
		m.escAt = first
		m.say("Esc again stops the turn")
		return nil
	case first.IsZero() && since < escRest:
		m.say("Esc Esc stops the turn")
		return nil
	case first.IsZero() || now.Sub(first) >= stopWithin:
		m.escAt = now
		m.say("Esc again stops the turn")
		return nil
	}
	m.say("stopping the turn")
	return m.io(func(ctx context.Context) tea.Msg { return failed(m.opt.Client.CancelTurn(ctx)) })
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
	m.composer.Set("")
	m.log.Bottom()
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
		m.say("send or clear the prompt first")
		return nil
	}
	if n := len(m.kept); n > 0 {
		m.composer.Set(m.kept[n-1])
		m.kept = m.kept[:n-1]
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
