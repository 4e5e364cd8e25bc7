package trace

import (
	"errors"
	"io"
	"os"
	"time"

	"example.com/kitsoki/host"
)

// Summary is a session in one line. Its texts are as they stand in the file, which anybody may have written.
type Summary struct {
	ID       string               `json:"session_id"`
	Path     string               `json:"path"`
	State    State                `json:"state"`
	Agent    string               `json:"agent"`
	Dir      string               `json:"dir"`
	Started  time.Time            `json:"started"`
	Last     time.Time            `json:"last"` // record
	Turns    int                  `json:"turns"`
	Failed   int                  `json:"failed_turns"`
	Asks     int                  `json:"asks"`
	Outcomes map[host.Outcome]int `json:"outcomes,omitempty"` // of asks
	CostUSD  float64              `json:"cost_usd"`
	Tokens   int64                `json:"tokens"`
	Lost     uint64               `json:"lost,omitempty"`
}

// Summarise reads a trace to its end. What could be read is in the summary beside an error too.
func Summarise(s Stored) (Summary, error) {
	sum := Summary{ID: s.ID, Path: s.Path, State: Killed, Outcomes: map[host.Outcome]int{}}
	live := Live(s.Path)
	f, err := os.Open(s.Path)
	if err != nil {
		return sum, err
	}
	defer func() { _ = f.Close() }()
	rd := NewReader(f)
	for {
		rec, err := rd.Next()
		var bad *LineError
		switch {
		case err == nil:
			sum.add(rec)
		case errors.As(err, &bad):
		case errors.Is(err, io.EOF):
			if live {
				sum.State = Open
			}
			if sum.Started.IsZero() {
				sum.Started = rd.Header().Created
			}
			return sum, nil
		default:
			return sum, err
		}
	}
}

func (s *Summary) add(rec Record) {
	s.Last = rec.Time
	if s.Started.IsZero() {
		s.Started = rec.Time
	}
	e, err := rec.Decode()
	if err != nil {
		return // the checker says it
	}
	switch e := e.(type) {
	case SessionOpened:
		s.Agent, s.Dir, s.State = e.Agent, e.Dir, Killed
	case SessionClosed:
		s.State = Closed
	case TurnStarted:
		s.Turns++
	case TurnEnded:
		s.CostUSD += e.CostUSD
		s.Tokens += e.Tokens
		if e.Outcome == "failed" {
			s.Failed++
		}
	case host.QuestionAsked:
		s.Asks++
	case host.QuestionAnswered:
		s.Outcomes[e.Outcome]++
	case host.QuestionUnanswered:
		s.Outcomes[e.Outcome]++
	case Gap:
		s.Lost += e.Lost
	}
}
