package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/keys"
)

// composePage is a session's log over its composer.
type composePage struct {
	m      *Model
	search *field.Model // the field of the search in the log, while it is open
}

func (c *composePage) typing() bool { return true }

func (c *composePage) key(msg tea.KeyMsg) tea.Cmd {
	m, p, k := c.m, c.m.at, c.m.opt.Keys
	m.say("")
	escAt := p.escAt
	p.escAt = time.Time{} // any other key takes the first Esc back
	page := max(1, m.logHeight()-2)
	if c.search != nil && c.searchKey(msg) {
		return nil
	}
	switch {
	case msg.Paste:
	case key.Matches(msg, k.Stop):
		return m.escape(escAt)
	case key.Matches(msg, k.OpenAsk):
		m.openAsks()
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
		p.log.Scroll(page, m.logHeight())
		return nil
	case key.Matches(msg, k.PageDown):
		p.log.Scroll(-page, m.logHeight())
		return nil
	case key.Matches(msg, k.Bottom):
		p.log.Bottom()
		return nil
	case key.Matches(msg, k.Top):
		p.log.Scroll(1<<30, m.logHeight())
		return nil
	case key.Matches(msg, k.Search):
		c.openSearch()
		return nil
	case key.Matches(msg, k.Tools):
		p.log.ToggleFold()
		return nil
	case key.Matches(msg, k.Sessions):
		m.openSessions()
		return nil
	case key.Matches(msg, k.NextSession):
		if len(m.panes) == 1 {
			m.say(fmt.Sprintf("there is one session; %s makes another", k.Sessions.Help().Key))
			return nil
		}
		m.nextPane(1)
		return nil
	case key.Matches(msg, k.Older) && p.composer.AtTop():
		c.recall(-1)
		return nil
	case key.Matches(msg, k.Newer) && p.composer.AtBottom():
		c.recall(1)
		return nil
	}
	p.typed = m.now()
	p.composer.Key(msg)
	return nil
}

// recall puts an earlier prompt, or a later one, into the composer.
func (c *composePage) recall(n int) {
	p := c.m.at
	if text, ok := p.past.move(n, p.composer.Value()); ok {
		p.typed = c.m.now()
		p.composer.Set(text)
		c.m.layout()
	}
}

// openSearch opens the field of the search in the log.
func (c *composePage) openSearch() {
	f := field.New(c.m.opt.Keys.NewLine, c.m.opt.Styles.Plain)
	f.Resize(max(8, c.m.width-24), 1)
	f.Focus()
	c.search = &f
}

// searchKey does what a key means in the search's field: text narrows, arrows and Enter go from match to match, Esc
// closes it. It reports whether the key was taken.
func (c *composePage) searchKey(msg tea.KeyMsg) bool {
	log, k, h := c.m.at.log, c.m.opt.Keys, c.m.logHeight()
	switch {
	case msg.Paste:
	case key.Matches(msg, k.Stop):
		c.search = nil
		log.Search("")
		return true
	case key.Matches(msg, k.Submit), key.Matches(msg, k.Older):
		log.Next(-1, h)
		return true
	case key.Matches(msg, k.Newer):
		log.Next(1, h)
		return true
	case key.Matches(msg, k.PageUp), key.Matches(msg, k.PageDown), key.Matches(msg, k.Bottom), key.Matches(msg, k.Tools):
		return false
	case key.Matches(msg, k.NextSession), key.Matches(msg, k.Sessions), key.Matches(msg, k.OpenAsk):
		c.search = nil
		log.Search("")
		return false
	}
	c.search.Key(msg)
	log.Search(c.search.Value())
	log.Next(-1, h)
	return true
}

// escape stops the running turn at the second Esc in the composer. One that follows closely on an Esc elsewhere is
// still about that, and a held key is one key.
func (m *Model) escape(first time.Time) tea.Cmd {
	p, now := m.at, m.now()
	since := now.Sub(m.lastEsc)
	switch {
	case !p.busy():
		m.say("no turn is running")
		return nil
	case !first.IsZero() && since < escRepeat:
		p.escAt = first
		m.say(p.stopWords())
		return nil
	case first.IsZero() && since < escRest:
		m.say("Esc Esc stops the turn")
		return nil
	case first.IsZero() || now.Sub(first) >= stopWithin:
		p.escAt = now
		m.say(p.stopWords())
		return nil
	}
	m.say("stopping the turn")
	return m.io(func(ctx context.Context) tea.Msg { return failed(p.client.CancelTurn(ctx)) })
}

// stopWords say what the second Esc ends.
func (p *pane) stopWords() string {
	words := "Esc again stops the turn"
	if n := p.snap.Asks; n > 0 {
		words += fmt.Sprintf(": %d open %s without an answer", n, plural(n, "ask ends", "asks end"))
	}
	return words
}

func (p *pane) busy() bool { return p.snap.State == session.Working || p.snap.State == session.Asking }

// submit sends the prompt, or lets the queue go on, or opens what waits.
func (m *Model) submit() tea.Cmd {
	p := m.at
	prompt := p.composer.Value()
	if strings.TrimSpace(prompt) == "" {
		if p.snap.Held {
			return m.io(func(ctx context.Context) tea.Msg { return failed(p.client.ReleaseQueue(ctx)) })
		}
		if a := m.waiting(); a != nil {
			m.show(a)
		}
		return nil
	}
	if do, ok := session.Control(prompt); ok {
		p.composer.Set(p.past.add(prompt))
		return m.io(func(ctx context.Context) tea.Msg { return failed(do(ctx, p.client)) })
	}
	p.composer.Set(p.past.add(prompt))
	p.log.Bottom()
	if a := m.waiting(); a != nil && !a.folded && !a.passed {
		m.show(a)
	}
	p.outbox = append(p.outbox, prompt)
	return m.post(p)
}

type postedMsg struct {
	pane   *pane
	prompt string
	err    error
}

// post hands the prompts of a pane to its session one after the other: they are to be worked off in the order in
// which they were sent.
func (m *Model) post(p *pane) tea.Cmd {
	if p.posting || len(p.outbox) == 0 {
		return nil
	}
	prompt := p.outbox[0]
	p.outbox, p.posting = p.outbox[1:], true
	return m.io(func(ctx context.Context) tea.Msg {
		err := p.client.StartTurn(ctx, prompt)
		if errors.Is(err, session.ErrBusy) {
			err = p.client.Queue(ctx, prompt)
		}
		return postedMsg{p, prompt, err}
	})
}

func (m *Model) posted(msg postedMsg) tea.Cmd {
	p := msg.pane
	p.posting = false
	if msg.err != nil {
		back := append([]string{msg.prompt}, p.outbox...)
		p.outbox = nil
		switch gone := p.closing || !slices.Contains(m.panes, p); {
		case gone:
			m.keep(m.at, back, "the session")
		case p.composer.Value() == "":
			p.composer.Set(strings.Join(back, "\n")) // to be mended
			m.layout()
		default:
			m.keep(p, back, "the prompt")
		}
		m.sayFor("not sent: " + msg.err.Error())
	}
	return m.post(p)
}

func failed(err error) tea.Msg {
	if err != nil {
		return errorMsg{err}
	}
	return doneMsg{}
}

type unqueuedMsg struct {
	pane *pane
	text string
}

// unqueue takes back what waits: a text that an ask left behind, else the prompt that was queued last.
func (m *Model) unqueue() tea.Cmd {
	p := m.at
	full := p.composer.Value() != ""
	if n := len(p.snap.Queue); n > 1 || (n > 0 && full) {
		m.turnTo(&queuePage{m: m, pane: p, lit: n - 1})
		return nil
	}
	if full {
		m.say("send the prompt first: what is taken back comes into it")
		return nil
	}
	if n := len(p.kept); n > 0 {
		p.composer.Set(p.kept[n-1])
		p.kept = p.kept[:n-1]
		return nil
	}
	return m.takeBack(p, -1)
}

// takeBack brings a queued prompt into the composer.
func (m *Model) takeBack(p *pane, n int) tea.Cmd {
	return m.io(func(ctx context.Context) tea.Msg {
		prompt, ok, err := p.client.Unqueue(ctx, n)
		if err != nil {
			return errorMsg{err}
		}
		if !ok {
			return errorMsg{errors.New("no prompt is queued")}
		}
		return unqueuedMsg{p, prompt}
	})
}

// keys are the keys that work in the composer now, the most important first.
func (c *composePage) keys() (string, []key.Binding) {
	if c.search != nil {
		return "Keys in the search", append(c.bindings(), c.m.opt.Keys.PageUp, c.m.opt.Keys.PageDown, c.m.opt.Keys.Tools)
	}
	return "Keys in the prompt", append(c.bindings(), c.m.opt.Keys.PageDown, c.m.opt.Keys.Top, c.m.opt.Keys.Bottom, c.m.opt.Keys.Older, c.m.opt.Keys.Newer)
}

func (c *composePage) bindings() []key.Binding {
	m, p, k := c.m, c.m.at, c.m.opt.Keys
	help := k.Help
	help.SetHelp("F1", "all")
	if c.search != nil {
		return []key.Binding{keys.As(k.Submit, "older match"), keys.As(k.Newer, "newer match"), keys.As(k.Leave, "close"), help}
	}
	out := []key.Binding{k.Submit}
	if p.snap.Held && p.composer.Value() == "" {
		out = []key.Binding{keys.As(k.Submit, "go on with the queue")}
	}
	if p.busy() {
		out = []key.Binding{keys.As(k.Submit, "queue")}
	}
	switch n := len(m.asks); {
	case n == 1:
		out = append(out, k.OpenAsk)
	case n > 1:
		out = append(out, keys.As(k.OpenAsk, "inbox"))
	}
	if p.busy() {
		out = append(out, k.Stop)
	}
	if len(p.snap.Queue)+len(p.kept) > 0 {
		out = append(out, k.Unqueue)
	}
	out = append(out, k.NewLine, k.PageUp)
	if len(m.panes) > 1 {
		out = append(out, k.NextSession)
	}
	out = append(out, k.Sessions)
	if len(m.asks) == 0 {
		out = append(out, keys.As(k.OpenAsk, "inbox"))
	}
	return append(out, k.Search, k.Editor, k.Tools, k.Quit, help)
}
