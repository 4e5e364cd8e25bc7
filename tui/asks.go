package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/question"
)

// openAsk is one ask with its form.
type openAsk struct {
	ask      host.Ask
	form     *question.Model
	eager    bool // it may open by itself as soon as the composer is at rest
	passed   bool // the operator went elsewhere while it waited
	direct   bool // it was opened in a field: nobody has looked at its rows yet
	folded   bool
	sending  bool
	sent     []host.Answer // what goes out while sending
	declined bool          // a reason goes out with it
	saved    []host.Draft  // as the switchboard has them
	saving   bool
	over     *askEndedMsg // it ended while it was being sent
	theirs   []bool       // by question: what stands there was made on another surface
	settled  bool         // on another surface, by an answer or a decline
	from     *Origin      // where it is one of another process; nil: it is one of a pane's
}

type (
	settledMsg struct {
		id  string
		err error
	}
	savedMsg struct {
		id     string
		drafts []host.Draft // as they are now, by question
		err    error
	}
)

func (m *Model) find(id string) *openAsk {
	for _, a := range m.asks {
		if a.form.Info().ID == id {
			return a
		}
	}
	return nil
}

// askOpened takes in a new ask. It comes to the front unless the operator is busy with something.
func (m *Model) askOpened(ask host.Ask, from *Origin) tea.Cmd {
	info := ask.Info()
	if m.find(info.ID) != nil || (from != nil && m.hasPane(info.SessionID)) {
		return nil // it is here already
	}
	a := &openAsk{ask: ask, from: from}
	for i := range info.Questions {
		a.saved, a.theirs = append(a.saved, ask.Draft(i)), append(a.theirs, true)
	}
	a.form = question.NewModel(info, a.saved, m.opt.Keys, m.opt.Styles)
	a.form.Resize(m.width, m.height)
	at, _ := slices.BinarySearchFunc(m.asks, info.Opened, func(b *openAsk, t time.Time) int {
		if b.form.Info().Opened.After(t) {
			return 1
		}
		return -1 // before the later ones
	})
	m.asks = slices.Insert(m.asks, at, a) // oldest first, whichever was shown first
	mayOpen := from == nil || m.opt.OpenElsewhere
	a.eager, a.passed = mayOpen && m.composing() && m.at.composer.Value() == "", !mayOpen
	if front := m.front(); mayOpen && front != nil && m.unseen(front) && slices.Index(m.asks, front) > at {
		m.show(a) // the older of two that came at once comes first, whichever was heard of first
	}
	m.openWaiting()
	return tea.Batch(m.tick(), m.alarmed(info.ID, info.Opened))
}

// openWaiting opens an ask that came to a composer in which nothing stood, once nothing was typed there for a while.
// One that came while the operator was busy elsewhere, or that was passed by, waits to be opened.
func (m *Model) openWaiting() {
	if !m.composing() || m.help || m.at.inUse(m.now()) {
		return
	}
	for _, a := range m.asks {
		if a.eager && !a.folded {
			m.show(a)
			return
		}
	}
}

// unseen reports whether the ask in front opened by itself a moment ago, so that nobody can have read it.
func (m *Model) unseen(front *openAsk) bool {
	return front.eager && !front.form.Drafted() && m.now().Sub(m.shownAt) < question.Quiet
}

// leaveAsks is called when the operator goes elsewhere: what waits then does not follow by itself.
func (m *Model) leaveAsks() {
	for _, a := range m.asks {
		a.eager, a.passed = false, true
	}
}

// inUse reports whether the composer must not be taken away: it holds text, or was used a moment ago.
func (p *pane) inUse(now time.Time) bool {
	return p.composer.Value() != "" || now.Sub(p.typed) < typingRest
}

// show brings an ask to the front, behind the guard.
func (m *Model) show(a *openAsk) {
	m.turnTo(&askPage{m: m, ask: a})
	a.folded, a.passed = false, false
	m.shownAt = m.now()
	m.guard.Arm(m.now())
}

// waiting returns the ask to open next: the oldest that is not folded, else the oldest.
func (m *Model) waiting() *openAsk {
	for _, a := range m.asks {
		if !a.folded {
			return a
		}
	}
	if len(m.asks) > 0 {
		return m.asks[0]
	}
	return nil
}

// next goes on after an ask: to the next one that waits and was not folded, else back to the composer.
func (m *Model) next() {
	m.home()
	for _, a := range m.asks {
		if !a.folded && (a.from == nil || m.opt.OpenElsewhere) {
			m.show(a)
			return
		}
	}
}

func (m *Model) remove(a *openAsk) {
	m.alarm.Settled(a.form.Info().ID)
	m.asks = slices.DeleteFunc(m.asks, func(b *openAsk) bool { return a == b })
}

// settle sends the end of an ask. sent is what of the sheet goes out with it.
func (m *Model) settle(a *openAsk, sent []host.Answer, declined bool, do func(context.Context) error) tea.Cmd {
	a.sending, a.sent, a.declined = true, sent, declined
	id := a.form.Info().ID
	return m.io(func(ctx context.Context) tea.Msg { return settledMsg{id: id, err: do(ctx)} })
}

func (m *Model) settled(msg settledMsg) {
	a := m.find(msg.id)
	if a == nil {
		return
	}
	a.sending = false
	var fields *host.FieldErrors
	switch {
	case msg.err == nil:
		m.keep(m.paneOf(a), a.form.Sheet().Unsent(a.sent, a.declined), "the ask")
		m.guard.Hold(m.now()) // the Enter that sent must not send once more, wherever the keyboard is now
		m.settledElsewhere(a, m.opt.Surface)
		front := m.front() == a
		m.remove(a)
		if front {
			m.next()
		}
	case errors.As(msg.err, &fields):
		a.form.Say(fields.Error())
	case a.over != nil:
		m.ended(*a.over)
	case a.elsewhere(m) && unresolved(msg.err):
		a.form.Say("not known to be sent: " + msg.err.Error())
		if m.front() != a {
			m.say("not known to be sent: " + msg.err.Error())
		}
	default:
		end := host.Resolution{Outcome: host.Cancelled, Reason: msg.err.Error()}
		var r *host.Resolution
		if errors.As(msg.err, &r) {
			end = *r
		}
		m.ended(askEndedMsg{id: msg.id, end: end})
	}
}

func (m *Model) extend(a *openAsk, d time.Duration) tea.Cmd {
	return m.io(func(ctx context.Context) tea.Msg {
		if err := a.ask.Extend(ctx, d); err != nil {
			return errorMsg{err}
		}
		return askChangedMsg{a.ask.Info()}
	})
}

func (m *Model) touch(a *openAsk) tea.Cmd {
	return m.io(func(context.Context) tea.Msg { a.ask.Touch(); return doneMsg{} })
}

// save brings the changed drafts of an ask into the ask itself, one batch at a time.
func (m *Model) save(a *openAsk) tea.Cmd {
	if a.saving {
		return nil
	}
	drafts := a.form.Sheet().Drafts
	changed := false
	for i, d := range drafts {
		changed = changed || !sameDraft(d, a.saved[i])
	}
	if !changed {
		return nil
	}
	a.saving = true
	id, ask, saved := a.form.Info().ID, a.ask, slices.Clone(a.saved)
	return m.io(func(ctx context.Context) tea.Msg {
		msg := savedMsg{id: id, drafts: saved}
		for i, d := range drafts {
			if sameDraft(d, saved[i]) {
				continue
			}
			d.Rev = saved[i].Rev
			err := ask.SetDraft(ctx, i, d)
			if errors.Is(err, host.ErrStaleDraft) {
				d.Rev = ask.Draft(i).Rev // what is being typed here is newer than what came from elsewhere
				err = ask.SetDraft(ctx, i, d)
			}
			if err != nil {
				msg.err = err
				continue
			}
			d.Rev++
			saved[i] = d
		}
		return msg
	})
}

func (m *Model) saved(msg savedMsg) tea.Cmd {
	a := m.find(msg.id)
	if a == nil {
		return nil
	}
	for i, d := range msg.drafts {
		a.theirs[i] = a.theirs[i] && sameDraft(d, a.saved[i])
	}
	a.saving, a.saved = false, msg.drafts
	m.takeDrafts(a)
	if msg.err != nil {
		return nil // an ask that is over keeps what is on the screen
	}
	return m.save(a)
}

func sameDraft(a, b host.Draft) bool {
	return a.Text == b.Text && a.Note == b.Note && a.Skipped == b.Skipped && a.None == b.None && a.Taken == b.Taken &&
		slices.Equal(a.Picked, b.Picked)
}

// ended takes in that an ask is over by something other than this form. In front it stays, greyed, so that the
// screen does not jump under the operator's hands.
func (m *Model) ended(msg askEndedMsg) {
	a := m.find(msg.id)
	switch {
	case a == nil || a.form.Ended():
		return
	case a.sending:
		a.over = &msg
		return
	}
	a.settled = msg.end.Outcome == host.Answered || msg.end.Outcome == host.Declined
	a.form.End(m.endedBy(msg.end))
	if m.front() == a && !m.exiting() {
		m.guard.Arm(m.now())
		return
	}
	m.close(a)
}

// close takes an ask that is over away. What was typed into it and not sent is kept.
func (m *Model) close(a *openAsk) {
	m.keep(m.paneOf(a), a.lost(), "the ask")
	front := m.front() == a
	m.remove(a)
	if front {
		m.next()
	}
}

// keep saves texts that were typed into something that is gone now and did not go out with it. They become the
// draft of their session's prompt, unless a prompt is being typed: then they wait, are written to the log whole, and
// can be taken with a key.
func (m *Model) keep(p *pane, texts []string, of string) {
	if len(texts) == 0 {
		return
	}
	text := strings.Join(texts, "\n")
	where := "the prompt"
	if p != m.at {
		where = "the prompt of " + p.snap.Title
	}
	free := p.composer.Value() == ""
	if p == m.at {
		free = !m.composing() || !p.inUse(m.now())
	}
	if free {
		if early := p.composer.Value(); early != "" {
			text += "\n" + early // typed later than the ask's own
		}
		p.composer.Set(text)
		m.sayFor("what was not sent of " + of + " is in " + where)
		return
	}
	p.kept = append(p.kept, text)
	p.log.Note("not sent with " + of + " that ended: " + askbridge.SafeText(text))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// isOpen reports whether an ask is in the line still.
func (m *Model) isOpen(a *openAsk) bool { return slices.Contains(m.asks, a) }
