package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
)

// remote is what the client of a session of another process has beside.
type remote interface {
	PID() int
	Gone() <-chan struct{} // closed when the connection to that process is
}

// gone is the state of a session that is not there any more, with its log and what was typed in it.
const gone session.State = "gone"

// paneGone leaves a session of another process on the screen as it was.
func (m *Model) paneGone(p *pane) {
	why := "it was closed there"
	select {
	case <-p.remote.Gone():
		why = fmt.Sprintf("its kitsoki (process %d) has ended or was killed", p.remote.PID())
	default:
	}
	p.gone = true
	p.snap.State, p.snap.Asks = gone, 0
	p.log.Note("this session is gone: " + why + "; what you typed is still here, and kitsoki --resume " + p.snap.ID + " takes the session up again")
	if p == m.at {
		m.say("this session is gone: " + why)
	}
}

// surface is what a surface is called here: this terminal by no other name than at home.
func (m *Model) surface(name string) string {
	if name == m.opt.Surface {
		return surfaceName
	}
	return name
}

// endedBy says how an ask ended, and who ended it, where it was not this terminal.
func (m *Model) endedBy(end host.Resolution) string {
	if end.Reason == host.ErrLost.Error() {
		return end.Reason
	}
	why := strings.ReplaceAll(string(end.Outcome), "_", " ")
	if by := m.surface(end.Surface); by != "" && by != surfaceName {
		why += " on " + by + " at " + m.now().Local().Format("15:04:05")
	}
	return why
}

// unresolved reports whether an error of a settling says nothing about the ask, which is open still.
func unresolved(err error) bool {
	var end *host.Resolution
	return !errors.As(err, &end)
}

// leaving are the sessions that go on without this terminal.
func (m *Model) leaving() []*pane {
	var out []*pane
	for _, p := range m.panes {
		if p.remote != nil {
			out = append(out, p)
		}
	}
	return out
}

// unsent is what was typed and is kept nowhere: of sessions that are gone, or that have another terminal's desk.
func (m *Model) unsent() []string {
	var out []string
	for _, p := range m.panes {
		if !p.gone && !p.apart {
			continue
		}
		out = append(out, p.kept...)
		for _, a := range m.asks {
			if p.gone && m.paneOf(a) == p {
				out = append(out, a.form.Sheet().Unsent(nil, false)...)
			}
		}
		if text := p.composer.Value(); strings.TrimSpace(text) != "" {
			out = append(out, text)
		}
	}
	return out
}

// lost is what was typed into an ask that ended and did not go out with it. What was typed on another surface, while an
// answer or a decline of another one ended the ask, is theirs to keep.
func (a *openAsk) lost() []string {
	texts := a.form.Sheet().Unsent(nil, false)
	if !a.settled {
		return texts
	}
	for i, d := range a.form.Sheet().Drafts {
		if a.theirs[i] && sameDraft(d, a.saved[i]) {
			texts = slices.DeleteFunc(texts, func(t string) bool { return t == d.Text || t == d.Note })
		}
	}
	return texts
}

// takeDrafts takes over what was made of an ask on another surface, where nothing newer was made of it here.
func (m *Model) takeDrafts(a *openAsk) {
	if a.saving || a.sending || a.form.Ended() {
		return
	}
	for i, before := range a.saved {
		d := a.ask.Draft(i)
		if d.Rev <= before.Rev || !sameDraft(a.form.Sheet().Drafts[i], before) {
			continue
		}
		a.saved[i], a.theirs[i] = d, true
		if sameDraft(d, before) {
			continue
		}
		a.form.SetDraft(i, d)
		if m.front() == a && (!slices.Equal(d.Picked, before.Picked) || d.Taken != before.Taken || d.Skipped != before.Skipped || d.None != before.None) {
			m.guard.Arm(m.now()) // what Enter would send is another thing now
		}
	}
}

// elsewhere reports whether an ask is one of another process.
func (a *openAsk) elsewhere(m *Model) bool { return a.from != nil || m.paneOf(a).remote != nil }

// ending counts the open asks that end with this program.
func (m *Model) ending() int {
	n := 0
	for _, a := range m.asks {
		if !a.elsewhere(m) {
			n++
		}
	}
	return n
}

// mayDetach reports whether something runs that can go on without the terminal.
func (m *Model) mayDetach() bool { return m.opt.Detach && m.running()+m.ending() > 0 }

// toldElsewhere reports whether the operator's program is told of an ask by its own process, and was not to be told twice.
func (m *Model) toldElsewhere(a *openAsk) bool {
	return a.from != nil || (m.opt.Apart && a.elsewhere(m))
}
