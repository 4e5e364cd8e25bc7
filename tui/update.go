package tui

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
)

// Exit says how the program came to its end.
type Exit struct {
	Signal   os.Signal // nil when the operator quit
	Lost     bool      // the terminal itself is gone
	Hung     bool      // it takes no output: write nothing to it any more
	Detached bool      // the operator quit, and what runs is to go on
	Unsent   []string  // what was typed and is kept nowhere, because its session is gone
}

type signalMsg struct{ sig os.Signal }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.update(msg)
	if m.at != nil && m.at.composer.Value() == "" {
		for _, a := range m.asks {
			a.form.Forget() // early keys that are no longer there
		}
	}
	cmds := []tea.Cmd{cmd, m.title()}
	for _, p := range m.panes {
		cmds = append(cmds, m.saveDesk(p))
	}
	return m, tea.Batch(cmds...)
}

func (m *Model) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width != m.width || msg.Height != m.height {
			m.guard.Arm(m.now()) // what is under a key is elsewhere now
		}
		m.width, m.height = msg.Width, msg.Height
		m.layout()
	case tea.ResumeMsg:
		m.guard.Arm(m.now())
	case tea.FocusMsg:
		m.guard.Arm(m.now())
		m.alarm.Focus(m.now())
	case tea.BlurMsg:
		m.alarm.Blur()
	case tea.KeyMsg:
		m.alarm.Key(m.now())
		var cmds []tea.Cmd
		m.stroke = m.pressed()
		for _, k := range keys.Split(msg) {
			cmds = append(cmds, m.key(k))
			m.stroke.Behind = true
		}
		return tea.Batch(cmds...)
	case askOpenedMsg:
		return m.askOpened(msg.ask, msg.from)
	case askChangedMsg:
		if a := m.find(msg.info.ID); a != nil {
			a.form.SetInfo(msg.info)
			m.takeDrafts(a)
		}
	case askEndedMsg:
		m.ended(msg)
	case settledMsg:
		m.settled(msg)
	case savedMsg:
		return m.saved(msg)
	case tickMsg:
		m.ticking = false
		m.staleNotices()
		m.openWaiting()
		return tea.Batch(m.tick(), m.signal(m.alarm.Due(m.now())))
	case eventsMsg:
		return m.events(msg)
	case pollMsg:
		return m.poll(msg.pane)
	case openedMsg:
		return m.paneOpened(msg)
	case deskSavedMsg:
		m.deskSaved(msg)
	case closedMsg:
		m.closed(msg)
	case droppedMsg:
		msg.pane.past.note(msg.text)
		m.say("dropped; ↑ in the prompt brings it back")
	case peekedMsg:
		m.peeked(msg)
	case editedMsg:
		return m.edited(msg)
	case postedMsg:
		return m.posted(msg)
	case unqueuedMsg:
		msg.pane.composer.Set(msg.text + msg.pane.composer.Value()) // what was typed meanwhile goes on from there
	case errorMsg:
		m.say(msg.err.Error())
	case staleMsg:
		if !m.noticeUntil.IsZero() && !m.now().Before(m.noticeUntil) {
			m.say("")
			if a := m.front(); a != nil {
				a.form.Say("")
			}
		}
	case signalMsg:
		m.exit.Signal = msg.sig
		return tea.Quit
	}
	return nil
}

// pressed is when the key at hand was pressed.
func (m *Model) pressed() question.Stroke {
	s := question.Pressed(m.now())
	if m.opt.Input == nil {
		return s
	}
	at, ok := m.opt.Input.Arrival()
	if ok {
		s.Came = at
	}
	s.Behind, s.Waiting = !ok, m.opt.Input.Waiting()
	return s
}

// say puts a notice over the composer until the next key.
func (m *Model) say(text string) { m.notice, m.noticeUntil = text, time.Time{} }

func (m *Model) exiting() bool { return m.exit.Signal != nil }

// key does what one key means, wherever the keyboard is.
func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	if key.Matches(msg, m.opt.Keys.Quit) {
		return m.quit()
	}
	if m.mayDetach() && m.now().Sub(m.quitAt) < quitWithin && string(msg.Runes) == "d" && !msg.Paste {
		m.exit.Detached = true
		return tea.Quit
	}
	m.quitAt = time.Time{} // any other key takes the first Ctrl+C back
	if msg.Type == tea.KeyCtrlZ {
		return tea.Suspend
	}
	if m.tooSmall() {
		m.blindKey(msg)
		return nil
	}
	if m.help && m.helpKey(msg) {
		return nil
	}
	// An Alt key that nothing is bound to is Esc and the key: slow lines merge the two.
	if msg.Alt && !m.opt.Keys.Bound(msg) {
		msg.Alt = false
		return tea.Batch(m.key(tea.KeyMsg{Type: tea.KeyEsc}), m.key(msg))
	}
	if msg.Type == tea.KeyF1 {
		m.openHelp()
		return nil
	}
	if isEsc(m.opt.Keys, msg) {
		defer func(now time.Time) { m.lastEsc = now }(m.now())
	}
	return m.page.key(msg)
}

// blindKey takes a key on a terminal that is too small to show what it would do.
func (m *Model) blindKey(msg tea.KeyMsg) {
	if text, ok := keys.Printable(msg); ok {
		m.at.composer.Insert(text)
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
	m.guard.Arm(m.now()) // what the list of keys covered is to be seen again
	_, printable := keys.Printable(msg)
	return !printable || !m.page.typing()
}

// quit says what quitting means now, and quits at the second time.
func (m *Model) quit() tea.Cmd {
	now := m.now()
	if now.Sub(m.quitAt) < quitWithin {
		return tea.Quit
	}
	m.quitAt, m.help = now, false
	if n := len(m.leaving()); n == len(m.panes) {
		return m.saidAtQuit("again leaves: " + plural(n, "the session goes on", "the sessions go on") + " without this terminal")
	}
	what := "nothing is running"
	switch n := m.running(); {
	case n == 1:
		what = "the turn is stopped"
	case n > 1:
		what = fmt.Sprintf("%d turns are stopped", n)
	}
	if n := m.ending(); n > 0 {
		what = fmt.Sprintf("%d open %s without an answer and %s", n, plural(n, "ask ends", "asks end"), what)
	}
	if left := m.leftBehind(); left != "" {
		what += " and " + left
	}
	if m.mayDetach() {
		return m.saidAtQuit("again quits (d detaches): " + what)
	}
	return m.saidAtQuit("again quits: " + what)
}

// saidAtQuit says what a second Ctrl+C does, for as long as it would.
func (m *Model) saidAtQuit(what string) tea.Cmd {
	text := m.opt.Keys.Quit.Help().Key[:2] + " " + what
	m.notice, m.noticeUntil = text, m.now().Add(quitWithin)
	if a := m.front(); a != nil {
		a.form.Say(text)
	}
	return tea.Tick(quitWithin, func(time.Time) tea.Msg { return staleMsg{} })
}

// leftBehind says what was typed and not sent.
func (m *Model) leftBehind() string {
	queued, drafts := 0, 0
	for _, p := range m.panes {
		queued += len(p.snap.Queue)
		drafts += len(p.kept)
		if strings.TrimSpace(p.composer.Value()) != "" {
			drafts++
		}
	}
	var parts []string
	if queued > 0 {
		parts = append(parts, fmt.Sprintf("%d queued %s", queued, plural(queued, "prompt", "prompts")))
	}
	if drafts > 0 {
		parts = append(parts, fmt.Sprintf("%d unsent %s", drafts, plural(drafts, "text", "texts")))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " stay for --continue"
}

// running counts the sessions in which a turn runs.
func (m *Model) running() int {
	n := 0
	for _, p := range m.panes {
		if p.remote == nil && p.busy() {
			n++
		}
	}
	return n
}
