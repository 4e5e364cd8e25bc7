package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// saidFor is how long a notice stays that nothing else takes away.
const saidFor = 10 * time.Second

// sayFor puts a notice over the composer until the next key, or until a while has passed; what happens in the
// session meanwhile does not take it away.
func (m *Model) sayFor(text string) { m.notice, m.noticeUntil = text, m.now().Add(saidFor) }

// staleNotices takes away what was said of a moment that is over.
func (m *Model) staleNotices() {
	if !m.noticeUntil.IsZero() && !m.now().Before(m.noticeUntil) {
		m.say("")
	}
	if a := m.front(); a != nil {
		a.form.Settle(m.now())
	}
}

// pasted takes a paste on a page that has no field: it is the prompt's, as every text that has no other place.
func (m *Model) pasted(msg tea.KeyMsg) {
	m.at.composer.Insert(string(msg.Runes))
	m.sayFor("the paste is in the prompt")
}
