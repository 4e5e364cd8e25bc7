package transcript

import (
	"strings"

	"example.com/kitsoki/host/session"
)

// Proposed writes down that the host proposes an action of an agent's.
func (m *Model) Proposed(e session.Event, title string) {
	m.append(&block{kind: session.AskOpened, mark: "? ", text: strings.TrimSpace(strings.Join(e.Path, " › ") + " proposes: " + title)})
}

// Verdict writes down how a proposal ended, in words.
func (m *Model) Verdict(e session.Event, words string, allowed bool) {
	mark := "- "
	if allowed {
		mark = "= "
	}
	m.append(&block{kind: session.AskSettled, key: e.Key, mark: mark, text: from(e.Path) + words + on(e.Surface)})
}
