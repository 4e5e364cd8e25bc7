package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
)

// inboxPage lists the open asks of all sessions, oldest first, and on its other side the settled ones, newest first.
// A row never moves under the operator's hands: new ones come at the end, and one that is over stays, greyed.
type inboxPage struct {
	m     *Model
	rows  []*openAsk
	lit   *openAsk // nil while there is no row
	litAt time.Time
	top   int // first visible line
	early int

	settled bool // the other side
	litPast int
	filter  field.Model
	narrow  bool // the filter has the keyboard
}

// openAsks goes one step towards the asks: to the one that waits, or to the list of several, or of those that were.
func (m *Model) openAsks() {
	if len(m.asks) == 1 {
		m.show(m.asks[0])
		return
	}
	m.openInbox(nil)
}

// openInbox lists the asks, with the given one lit, else the oldest.
func (m *Model) openInbox(lit *openAsk) {
	p := &inboxPage{m: m, lit: lit, filter: field.New(m.opt.Keys.NewLine, m.opt.Styles.Plain)}
	p.filter.Resize(max(8, m.width-20), 1)
	m.turnTo(p)
	m.guard.Arm(m.now())
	p.sync()
}

// sync takes in asks that came.
func (p *inboxPage) sync() {
	for _, a := range p.m.asks {
		if !slices.Contains(p.rows, a) {
			p.rows = append(p.rows, a)
		}
	}
	if p.lit == nil && len(p.rows) > 0 {
		p.light(p.rows[0])
	}
}

func (p *inboxPage) light(a *openAsk) { p.lit, p.litAt = a, p.m.now() }

// over reports whether a row's ask takes no answer any more.
func (p *inboxPage) over(a *openAsk) bool {
	return a == nil || a.form.Ended() || a.sending || !slices.Contains(p.m.asks, a)
}

func (p *inboxPage) typing() bool { return p.narrow }

func (p *inboxPage) key(msg tea.KeyMsg) tea.Cmd {
	p.sync()
	m, k := p.m, p.m.opt.Keys
	m.say("")
	switch {
	case p.narrow:
		p.filterKey(msg)
		return nil
	case isEsc(k, msg), key.Matches(msg, k.Inbox):
		m.home()
		return nil
	case !m.guard.Admit(m.stroke, msg.Type == tea.KeyEnter):
		p.tooEarly(msg)
		return nil
	case msg.Paste: // a paste never acts as a key
		p.tooEarly(msg)
		return nil
	case key.Matches(msg, k.Help):
		m.openHelp()
		return nil
	case key.Matches(msg, k.Next), key.Matches(msg, k.Prev):
		p.settled, p.top = !p.settled, 0
		return nil
	case p.settled:
		return p.pastKey(msg)
	}
	return p.openKey(msg)
}

// tooEarly gives a key that came before the list could be read to the prompt.
func (p *inboxPage) tooEarly(msg tea.KeyMsg) {
	text, ok := keys.Printable(msg)
	if ok {
		p.m.at.composer.Insert(text)
		p.early++
	}
	if p.early == 0 {
		p.m.say("too quick: that key was not taken")
		return
	}
	p.m.say(fmt.Sprintf("%d early %s in the prompt", p.early, plural(p.early, "key is", "keys are")))
}

// openKey does what a key means on the open asks.
func (p *inboxPage) openKey(msg tea.KeyMsg) tea.Cmd {
	m, k, a := p.m, p.m.opt.Keys, p.lit
	switch {
	case key.Matches(msg, k.Up):
		p.move(-1)
		return nil
	case key.Matches(msg, k.Down):
		p.move(1)
		return nil
	case a == nil:
		return nil
	case p.over(a):
		m.say("this ask is over: " + p.state(a))
		return nil
	case a.proposal != nil:
		return p.proposalKey(a, msg)
	case key.Matches(msg, k.Row):
		return p.choose(a, int(msg.Runes[0]-'1'))
	case key.Matches(msg, k.Take):
		return p.take(a)
	case key.Matches(msg, k.More):
		return m.extend(a, question.ExtendBy)
	case key.Matches(msg, k.Decline), key.Matches(msg, k.AskBack):
		m.show(a)
		a.direct = true
		m.guard.Release()
		m.guard.Hold(m.now())
		return m.ask(a, a.sheet.Key(msg))
	case key.Matches(msg, k.Peek):
		return m.peek(a, p)
	case key.Matches(msg, k.Copy):
		said, cmd := m.copyText(a.form.CopyText())
		m.say(said)
		return cmd
	}
	return nil
}

// proposalKey does what a key means on the row of a proposal. It is allowed on its own page alone, where what would run
// can be read; here it can be denied.
func (p *inboxPage) proposalKey(a *openAsk, msg tea.KeyMsg) tea.Cmd {
	m, k := p.m, p.m.opt.Keys
	switch {
	case key.Matches(msg, k.Take):
		m.show(a)
	case key.Matches(msg, k.Deny, k.Decline) && m.now().Sub(p.litAt) < question.Quiet:
		m.say("too quick: that key was not taken") // the row has only now been lit, and nobody is asked twice
	case key.Matches(msg, k.Deny):
		cmd := m.ask(a, a.proposal.Deny())
		p.next()
		return cmd
	case key.Matches(msg, k.Decline):
		m.show(a)
		a.direct = true
		m.guard.Release()
		m.guard.Hold(m.now())
		a.proposal.OpenReason()
	case key.Matches(msg, k.More):
		return m.extend(a, question.ExtendBy)
	case key.Matches(msg, k.Peek):
		return m.peek(a, p)
	case key.Matches(msg, k.Row):
		m.say(fmt.Sprintf("a proposal is allowed where it can be read: %s opens it, %s denies it", k.Take.Help().Key, k.Deny.Help().Key))
	}
	return nil
}

// oneChoice reports whether the ask can be answered from its row.
func (a *openAsk) oneChoice() bool { return a.sheet != nil && a.sheet.OneChoice() }

// chosen is the option that was chosen in the row.
func (a *openAsk) chosen() (n int, ok bool) {
	if a.sheet == nil {
		return 0, false
	}
	return a.sheet.Chosen()
}

// choose lights an option of an ask that is one single select. It becomes the ask's draft and is shown by its label;
// Enter sends it.
func (p *inboxPage) choose(a *openAsk, n int) tea.Cmd {
	if !a.oneChoice() {
		p.m.say(fmt.Sprintf("this ask has %s: Enter opens it", sizeOf(a)))
		return nil
	}
	if !a.sheet.Choose(n) {
		p.m.say(fmt.Sprintf("there is no option %d", n+1))
		return nil
	}
	return tea.Batch(p.m.save(a), p.m.touch(a))
}

// take sends the option that was chosen in the row, or opens the ask.
func (p *inboxPage) take(a *openAsk) tea.Cmd {
	if _, ok := a.chosen(); !ok {
		p.m.show(a)
		return nil
	}
	p.m.guard.Hold(p.m.now())
	cmd := p.m.ask(a, a.sheet.TakeChosen())
	if a.sending {
		p.next()
	}
	return cmd
}

// next lights the next row that takes an answer, behind the guard.
func (p *inboxPage) next() {
	at := slices.Index(p.rows, p.lit)
	for n := 1; n < len(p.rows); n++ {
		if a := p.rows[(at+n)%len(p.rows)]; !p.over(a) {
			p.light(a)
			p.m.guard.Arm(p.m.now())
			return
		}
	}
}

func (p *inboxPage) move(n int) {
	if at := slices.Index(p.rows, p.lit); at >= 0 {
		p.light(p.rows[max(0, min(at+n, len(p.rows)-1))])
	}
}

// pastKey does what a key means on the settled asks.
func (p *inboxPage) pastKey(msg tea.KeyMsg) tea.Cmd {
	m, k, list := p.m, p.m.opt.Keys, p.pastRows()
	p.litPast = max(0, min(p.litPast, len(list)-1))
	switch {
	case key.Matches(msg, k.Up):
		p.litPast = max(0, p.litPast-1)
	case key.Matches(msg, k.Down):
		p.litPast = min(max(0, len(list)-1), p.litPast+1)
	case key.Matches(msg, k.OptionsUp):
		p.litPast = max(0, p.litPast-m.height/3)
	case key.Matches(msg, k.OptionsDown):
		p.litPast = min(max(0, len(list)-1), p.litPast+m.height/3)
	case key.Matches(msg, k.Filter):
		p.narrow = true
		p.filter.Focus()
	case key.Matches(msg, k.Copy) && len(list) > 0:
		s := list[p.litPast]
		said, cmd := m.copyText(s.question + "\n" + s.text)
		m.say(said)
		return cmd
	}
	return nil
}

// filterKey does what a key means in the filter of the settled asks.
func (p *inboxPage) filterKey(msg tea.KeyMsg) {
	k := p.m.opt.Keys
	switch {
	case !msg.Paste && key.Matches(msg, k.Accept):
		p.narrow = false
	case !msg.Paste && key.Matches(msg, k.Leave):
		p.narrow = false
		p.filter.Set("")
	default:
		p.filter.Key(msg)
		p.litPast = 0
		return
	}
	p.filter.Blur()
}

// pastRows are the settled asks that are listed, the newest first.
func (p *inboxPage) pastRows() []*settledAsk {
	var out []*settledAsk
	for i := len(p.m.past) - 1; i >= 0; i-- {
		if s := &p.m.past[i]; s.matches(p.filter.Value()) {
			out = append(out, s)
		}
	}
	return out
}

// sizeOf says what an ask holds, where it is more than one choice.
func sizeOf(a *openAsk) string {
	qs := a.form.Info().Questions
	switch {
	case a.proposal != nil:
		return "a proposal"
	case len(qs) > 1:
		return fmt.Sprintf("%d questions", len(qs))
	case qs[0].MultiSelect:
		return "a choice of several"
	case len(qs[0].Options) == 0:
		return "a question for words"
	}
	return "one question"
}

func (p *inboxPage) bindings() []key.Binding {
	k := p.m.opt.Keys
	tab := keys.As(k.Next, "settled")
	back := keys.As(k.Fold, "back")
	switch {
	case p.narrow:
		return []key.Binding{keys.As(k.Accept, "keep"), keys.As(k.Leave, "all"), keys.As(k.Help, "all keys")}
	case p.settled && len(p.m.past) == 0:
		return []key.Binding{back, keys.As(k.Next, "open asks"), k.Help}
	case p.settled:
		return []key.Binding{keys.As(k.Down, "older"), back, keys.As(k.Next, "open asks"), k.Filter, k.Copy, k.Help}
	case p.lit == nil:
		return []key.Binding{back, tab, k.Help}
	case p.over(p.lit):
		return []key.Binding{keys.As(k.Down, "next"), back, tab, k.Help}
	}
	open := keys.As(k.Take, "open")
	if p.lit.proposal != nil {
		return []key.Binding{open, back, k.Deny, keys.As(k.Decline, "deny, why"), keys.As(k.Down, "next"), tab, k.Peek, k.More, k.Help}
	}
	if _, ok := p.lit.chosen(); ok {
		open = keys.As(k.Take, "send")
	}
	out := []key.Binding{open, back}
	if p.lit.oneChoice() {
		out = append(out, keys.As(k.Row, "choose"))
	}
	return append(out, keys.As(k.Down, "next"), tab, k.Decline, k.AskBack, k.Peek, k.More, k.Copy, k.Help)
}

func (p *inboxPage) keys() (string, []key.Binding) {
	return "Keys in the inbox", append(p.bindings(), p.m.opt.Keys.Up)
}
