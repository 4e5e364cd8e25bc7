package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/question"
)

// openAsk is one ask with its form.
type openAsk struct {
	ask     host.Ask
	form    *question.Model
	folded  bool
	sending bool
	saved   []host.Draft // as the switchboard has them
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
	if a.sending {
		return nil
	}
	enter := msg.Type == tea.KeyEnter && !msg.Alt
	if msg.Type != tea.KeyEsc && !m.guard.Admit(m.now(), enter) {
		m.tooEarly(msg)
		return nil
	}
	if a.form.Ended() {
		if msg.Type == tea.KeyEsc || enter {
			m.close(a)
		}
		return nil
	}
	asked := a.form.Key(msg)
	if enter && (asked.Finished || asked.Warned || asked.Send != nil || asked.Decline != nil) {
		m.guard.Hold(m.now())
	}
	var cmds []tea.Cmd
	switch {
	case asked.Send != nil:
		a.sending = true
		cmds = append(cmds, m.settle(a, func(ctx context.Context) error { return a.ask.Answer(ctx, asked.Send) }))
	case asked.Decline != nil:
		a.sending = true
		cmds = append(cmds, m.settle(a, func(ctx context.Context) error {
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

// tooEarly keeps what was typed for something else: it is the composer's.
func (m *Model) tooEarly(msg tea.KeyMsg) {
	if msg.Alt || (msg.Type != tea.KeyRunes && msg.Type != tea.KeySpace) {
		return
	}
	m.composer.InsertString(string(msg.Runes))
	m.front.form.Early(len(msg.Runes))
}

func (m *Model) settle(a *openAsk, do func(context.Context) error) tea.Cmd {
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

// close takes an ask that is over away. What was typed into it and not sent goes to the composer.
func (m *Model) close(a *openAsk) {
	if texts := a.form.Sheet().Unsent(); len(texts) > 0 {
		text := strings.Join(texts, "\n")
		if m.composer.Value() != "" {
			text = m.composer.Value() + "\n" + text
		}
		m.composer.SetValue(text)
		m.notice = fmt.Sprintf("the ask is over; %d unsent %s in the prompt", len(texts), plural(len(texts), "text is", "texts are"))
	}
	m.remove(a)
	if m.front == a {
		m.next()
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
