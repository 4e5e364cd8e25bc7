package tui

import (
	"strings"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/proposal"
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
	verdict  string // of a proposal: allowed or denied, in a word; else empty
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
		s := settledAsk{
			id: e.Key, session: p.snap.Title, who: strings.Join(append([]string{p.snap.Agent}, e.Path...), " › "),
			question: e.Question, text: e.Text, outcome: e.Outcome, surface: m.surface(e.Surface), at: e.Time,
		}
		if info, ok := m.proposed[e.Key]; ok {
			words, allowed := howEnded(info, e)
			s.question, s.text, s.verdict = proposal.Of(info).Title, words, "denied"
			if allowed {
				s.verdict = "allowed"
			}
		}
		m.past = append(m.past, s)
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

// howEnded says how a proposal ended. Its session tells of the answer in a line that ends with the row.
func howEnded(info host.AskInfo, e session.Event) (words string, allowed bool) {
	title := oneLine(proposal.Of(info).Title)
	switch e.Outcome {
	case host.Answered:
		row := e.Text[strings.LastIndex(e.Text, " ")+1:]
		return proposal.Settled(row, title), proposal.Allows(row)
	case host.Declined:
		words = proposal.Settled(host.Deny, title)
	default:
		words = "not allowed: " + title + ", " + strings.ReplaceAll(string(e.Outcome), "_", " ")
	}
	if e.Text != "" {
		words += " (" + e.Text + ")"
	}
	return words, false
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
	if s.verdict != "" && (s.outcome == host.Answered || s.outcome == host.Declined) {
		words = s.verdict
	}
	if s.surface != "" && s.surface != surfaceName {
		words += " on " + s.surface
	}
	if s.outcome == host.Answered && s.verdict == "" {
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
		if a != b && proposal.Twins(a.form.Info(), b.form.Info()) {
			return i + 1
		}
	}
	return 0
}
