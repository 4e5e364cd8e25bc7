package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/question"
)

// openAsk is one ask with its form.
type openAsk struct {
	ask     host.Ask
	form    *question.Model
	folded  bool
	sending bool
	sent    []host.Answer // what goes out while sending; not nil
	saved   []host.Draft  // as the switchboard has them
	saving  bool
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

// opened takes in a new ask. It comes to the front unless the operator is busy with something.
func (m *Model) opened(ask host.Ask) tea.Cmd {
	info := ask.Info()
	a := &openAsk{ask: ask}
	for i := range info.Questions {
		a.saved = append(a.saved, ask.Draft(i))
	}
	a.form = question.NewModel(info, a.saved, m.opt.Keys, m.opt.Styles)
	a.form.Resize(m.width, m.height)
	m.asks = append(m.asks, a)
	m.openWaiting()
	return m.tick()
}

// openWaiting opens the next ask that was not folded, unless the operator is busy with something.
func (m *Model) openWaiting() {
	if a := m.waiting(); a != nil && !a.folded && m.mode == ModeCompose && !m.composing() && !m.help {
		m.show(a)
	}
}

// composing reports whether the composer must not be taken away: it holds text, or was used a moment ago.
func (m *Model) composing() bool {
	return m.composer.Value() != "" || m.now().Sub(m.typed) < typingRest
}

// show brings an ask to the front, behind the guard.
func (m *Model) show(a *openAsk) {
	m.mode, m.front, m.notice = ModeOperatorQuestion, a, ""
	a.folded = false
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
	m.mode, m.front = ModeCompose, nil
	if a := m.waiting(); a != nil && !a.folded {
		m.show(a)
	}
}

func (m *Model) remove(a *openAsk) {
	m.asks = slices.DeleteFunc(m.asks, func(b *openAsk) bool { return a == b })
}

// questionKey gives a key to the ask in front.
func (m *Model) questionKey(msg tea.KeyMsg) tea.Cmd {
	a := m.front
	enter := msg.Type == tea.KeyEnter && !msg.Alt
	if a.form.Ended() {
		m.endedKey(a, msg)
		return nil
	}
	if a.sending || (msg.Type != tea.KeyEsc && !m.guard.Admit(m.now(), enter)) {
		m.tooEarly(msg)
		return nil
	}
	if key.Matches(msg, m.opt.Keys.Help) && !m.typing() {
		m.openHelp()
		return nil
	}
	if key.Matches(msg, m.opt.Keys.Editor) && !a.form.Sheet().OnReview() {
		return m.edit()
	}
	if enter {
		m.guard.Hold(m.now())
	}
	asked := a.form.Key(msg)
	var cmds []tea.Cmd
	switch {
	case asked.Send != nil:
		cmds = append(cmds, m.settle(a, asked.Send, func(ctx context.Context) error { return a.ask.Answer(ctx, asked.Send) }))
	case asked.Decline != nil:
		cmds = append(cmds, m.settle(a, asked.Decline.Partial, func(ctx context.Context) error {
			return a.ask.Decline(ctx, asked.Decline.Reason, asked.Decline.Partial)
		}))
	case asked.Extend > 0:
		cmds = append(cmds, m.extend(a, asked.Extend))
	case asked.Fold:
		a.folded = true
		m.mode = ModeCompose
	}
	return tea.Batch(append(cmds, m.save(a), m.touch(a))...)
}

// endedKey takes a key for an ask that is over. Esc closes it; text goes on to where it was going.
func (m *Model) endedKey(a *openAsk, msg tea.KeyMsg) {
	if msg.Type == tea.KeyEsc {
		m.close(a)
		return
	}
	if !a.form.KeyAfterEnd(msg) {
		m.tooEarly(msg)
	}
}

// tooEarly keeps what was typed for something else: it is the composer's. Other keys are dropped, and the screen
// says so.
func (m *Model) tooEarly(msg tea.KeyMsg) {
	if msg.Alt || (msg.Type != tea.KeyRunes && msg.Type != tea.KeySpace) {
		m.front.form.Dropped()
		return
	}
	m.composer.Insert(string(msg.Runes))
	m.front.form.Early()
}

// settle sends the end of an ask. sent is what of the sheet goes out with it.
func (m *Model) settle(a *openAsk, sent []host.Answer, do func(context.Context) error) tea.Cmd {
	a.sending, a.sent = true, sent
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
		m.keep(a.form.Sheet().Unsent(a.sent))
		m.guard.Hold(m.now()) // the Enter that sent must not send once more, wherever the keyboard is now
		m.remove(a)
		if m.front == a {
			m.next()
		}
	case errors.As(msg.err, &fields):
		a.form.Say(fields.Error())
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
	a.saving, a.saved = false, msg.drafts
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
	if a == nil || a.form.Ended() || a.sending {
		return
	}
	why := strings.ReplaceAll(string(msg.end.Outcome), "_", " ")
	if msg.end.Surface != "" && msg.end.Surface != surfaceName {
		why += " on " + msg.end.Surface
	}
	a.form.End(why)
	if m.front == a && m.mode == ModeOperatorQuestion && !m.exiting() {
		m.guard.Arm(m.now())
		return
	}
	m.close(a)
}

// close takes an ask that is over away. What was typed into it and not sent is kept.
func (m *Model) close(a *openAsk) {
	m.keep(a.form.Sheet().Unsent(nil))
	m.remove(a)
	if m.front == a {
		m.next()
	}
}

// keep saves texts that were typed into an ask and did not go out with it. They become the prompt's draft, unless
// a prompt is being typed: then they wait, are written to the log whole, and can be taken with a key.
func (m *Model) keep(texts []string) {
	if len(texts) == 0 {
		return
	}
	text := strings.Join(texts, "\n")
	if !m.composing() || m.mode == ModeOperatorQuestion {
		if early := m.composer.Value(); early != "" {
			text += "\n" + early // typed later than the ask's own
		}
		m.composer.Set(text)
		m.say("what was not sent of the ask is in the prompt")
		return
	}
	m.kept = append(m.kept, text)
	m.log.Note("not sent with the ask that ended: " + askbridge.SafeText(text))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
