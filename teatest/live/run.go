package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// Bounds of one run.
const (
	smallest  = 0.02 // dollars; with less left none is begun
	largest   = 0.50 // dollars
	mostTurns = 20
	mostTime  = 5 * time.Minute
	shortWait = 2 * time.Second // of an ask that is to time out
)

// live runs tasks until the money is used up.
type live struct {
	dispatcher *agent.Dispatcher
	cmd        agent.Command
	model      string
	left       float64 // dollars
}

// result is what one run came to.
type result struct {
	Task      string                    `json:"task"`
	Missing   bool                      `json:"decision_missing"`
	Outcome   host.Outcome              `json:"outcome"` // of each ask
	Asks      int                       `json:"asks"`
	Questions [][]host.OperatorQuestion `json:"questions,omitempty"`
	Mended    []string                  `json:"mended,omitempty"` // what was wrong with asks that could be shown all the same
	Refused   int                       `json:"refused"`          // asks that could not be shown, or that came too often
	Words     string                    `json:"words"`
	Error     string                    `json:"error,omitempty"`
	Files     []string                  `json:"files,omitempty"`
	CostUSD   float64                   `json:"cost_usd"`
}

// one runs a task in a directory of its own. Every ask of it ends with the outcome.
func (l *live) one(ctx context.Context, t task, o host.Outcome) result {
	r := result{Task: t.Name, Missing: t.Missing, Outcome: o}
	dir, err := os.MkdirTemp("", "kitsoki-live-")
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer func() { _ = os.RemoveAll(dir) }() // what was made there is nobody's
	for name, text := range t.Files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			r.Error = err.Error()
			return r
		}
	}
	board, asks := staffed(o)
	if o != host.NoOperator {
		ctx = host.WithOperatorPrompter(ctx, board)
	}
	calls := map[string]bool{} // of the ask tool
	res, err := l.dispatcher.Run(ctx, l.cmd, agent.Request{
		Verb: agent.Task, Prompt: t.Prompt, SessionID: "live", Model: l.model, Dir: dir, Access: agent.Edit,
		BudgetUSD: min(largest, l.left), MaxTurns: mostTurns, Limit: mostTime,
	}, agent.Observer{
		Normalised: func(_ string, notes []askbridge.Note) {
			for _, n := range notes {
				r.Mended = append(r.Mended, n.Path+": "+n.Text)
			}
		},
		Event: func(e agent.StreamEvent, _ []string) {
			switch e := e.(type) {
			case agent.ToolUse:
				calls[e.ID] = e.Name == agent.AskTool
			case agent.ToolResult: // an ask that was shown and not answered says so
				if calls[e.ID] && e.IsError && !strings.Contains(e.Text, "operator did not answer") {
					r.Refused++
				}
			}
		},
	})
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err = errors.Join(err, board.Close(closing))
	l.left -= res.CostUSD
	r.Questions = asks.all()
	r.Asks, r.Words, r.Files, r.CostUSD = len(r.Questions), res.Text, res.Files, res.CostUSD
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

// asked keeps what was asked.
type asked struct {
	mu   sync.Mutex
	list [][]host.OperatorQuestion
}

func (a *asked) all() [][]host.OperatorQuestion {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list
}

// staffed is a switchboard with an operator who gives every ask this outcome: takes the first option of each question,
// declines, or lets the time pass.
func staffed(o host.Outcome) (*host.Switchboard, *asked) {
	board, asks := host.NewSwitchboard(host.SwitchboardOptions{}), &asked{}
	if o == host.TimedOut {
		board = host.NewSwitchboard(host.SwitchboardOptions{Wait: shortWait})
	}
	board.Declare(nil)
	board.Attach("live", host.PrompterFunc(func(ctx context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
		asks.mu.Lock()
		asks.list = append(asks.list, qs)
		asks.mu.Unlock()
		a, _ := host.AskFrom(ctx)
		switch o {
		case host.Answered:
			_ = a.Answer(ctx, firstOf(qs)) // an ask that has ended needs no answer
		case host.Declined:
			_ = a.Decline(ctx, "", nil)
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}), nil)
	return board, asks
}

func firstOf(qs []host.OperatorQuestion) []host.Answer {
	out := make([]host.Answer, len(qs))
	for i, q := range qs {
		out[i] = host.Answer{Text: "as you think best"}
		if len(q.Options) > 0 {
			out[i] = host.Answer{Picked: []int{0}}
		}
	}
	return out
}
