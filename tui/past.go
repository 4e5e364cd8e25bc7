package tui

import (
	"strings"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/question"
)

// settledAsk is one that is over, as the session's events told of it: the same for asks that were answered here,
// elsewhere, or by nobody.
type settledAsk struct {
	id       string
	session  string // its title then
	who      string
	question string // the questions, in short
	text     string // the answers, or the reason
	outcome  host.Outcome
	surface  string
	at       time.Time
	delivery delivery
}

// delivery is what became of an answer on its way to the agent.
type delivery int

const (
	sent delivery = iota
	taken
	notDelivered
)

func (d delivery) String() string {
	return [...]string{"sent", "taken", "not delivered"}[d]
}

// maxPast bounds how many settled asks are kept.
const maxPast = 1000

// remember keeps what the session's events say of asks.
func (m *Model) remember(p *pane, e session.Event) {
	switch e.Kind {
	case session.AskSettled:
		m.past = append(m.past, settledAsk{
			id: e.Key, session: p.snap.Title, who: strings.Join(append([]string{p.snap.Agent}, e.Path...), " › "),
			question: e.Question, text: e.Text, outcome: e.Outcome, surface: m.surface(e.Surface), at: e.Time,
		})
		if len(m.past) > maxPast+maxPast/4 {
			m.past = append(m.past[:0:0], m.past[len(m.past)-maxPast:]...)
		}
	case session.AskDelivery:
		if s := m.settledByID(e.Key); s != nil {
			s.delivery = taken
			if e.Failed {
				s.delivery = notDelivered
			}
		}
	}
}

// settledByID returns what is known of the end of an ask; nil when it has none, or it was too long ago.
func (m *Model) settledByID(id string) *settledAsk {
	for i := len(m.past) - 1; i >= 0; i-- {
		if m.past[i].id == id {
			return &m.past[i]
		}
	}
	return nil
}

// ending says how an ask ended, in a few words.
func (s *settledAsk) ending() string {
	words := strings.ReplaceAll(string(s.outcome), "_", " ")
	if s.surface != "" && s.surface != surfaceName {
		words += " on " + s.surface
	}
	if s.outcome == host.Answered {
		words += ", " + s.delivery.String()
	}
	return words
}

// matches reports whether the text is somewhere in what is known of the ask.
func (s *settledAsk) matches(text string) bool {
	all := strings.ToLower(strings.Join([]string{s.session, s.who, s.question, s.text, s.ending()}, "\n"))
	return strings.Contains(all, strings.ToLower(text))
}

// twinOf returns the place in the line, from 1, of another open ask with the same words; 0 when there is none. Two
// agents that ask the same can need different answers.
func (m *Model) twinOf(a *openAsk) int {
	for i, b := range m.asks {
		if a != b && question.SameWords(a.form.Info().Questions, b.form.Info().Questions) {
			return i + 1
		}
	}
	return 0
}
