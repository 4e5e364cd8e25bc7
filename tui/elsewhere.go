package tui

import (
	"context"
	"fmt"
	"strings"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
)

// Origin is where an ask of another process comes from.
type Origin struct {
	Title   string         // of its session
	PID     int            // of its process
	Session session.Client // for a look at what its agent did
}

// ShowElsewhere shows an ask of another process until ctx ends, which says why in its cause.
type ShowElsewhere func(ctx context.Context, a host.Ask, from Origin)

// name is what a session of another process is called here.
func (o *Origin) name() string { return fmt.Sprintf("%s (process %d)", o.Title, o.PID) }

func (m *Model) hasPane(sessionID string) bool {
	for _, p := range m.panes {
		if p.snap.ID == sessionID {
			return true
		}
	}
	return false
}

// clientOf is the session of an ask.
func (m *Model) clientOf(a *openAsk) session.Client {
	if a.from != nil {
		return a.from.Session
	}
	return m.paneOf(a).client
}

// settledElsewhere remembers what was made here of an ask of another process: no event of a session tells of it.
func (m *Model) settledElsewhere(a *openAsk, by string) {
	if a.from == nil {
		return
	}
	info := a.form.Info()
	s := settledAsk{
		id: info.ID, session: a.from.name(), who: strings.Join(append([]string{info.Asker.Agent}, info.Asker.Path...), " › "),
		outcome: host.Answered, surface: m.surface(by), at: m.now(),
	}
	if a.declined {
		s.outcome = host.Declined
	}
	var asked, said []string
	for i, q := range info.Questions {
		asked = append(asked, q.Question)
		if i < len(a.sent) && !a.sent[i].Empty() {
			said = append(said, words(q, a.sent[i]))
		}
	}
	s.question, s.text = strings.Join(asked, "; "), strings.Join(said, "; ")
	m.past = append(m.past, s)
}

// words are an answer as it can be listed.
func words(q host.OperatorQuestion, a host.Answer) string {
	var parts []string
	for _, n := range a.Picked {
		parts = append(parts, q.Options[n].Label)
	}
	if a.Text != "" {
		parts = append(parts, "“"+a.Text+"”")
	}
	if a.None {
		parts = append(parts, "none of them")
	}
	return strings.Join(parts, ", ")
}
