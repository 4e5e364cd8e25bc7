package tui

import "time"

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
