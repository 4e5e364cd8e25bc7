package tui

import (
	"context"
	"errors"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
)

// The messages of the prompter.
type (
	askOpenedMsg  struct{ ask host.Ask }
	askChangedMsg struct{ info host.AskInfo }
	askEndedMsg   struct {
		id  string
		end host.Resolution
	}
)

// prompter is the terminal as a host.OperatorPrompter: it turns asks into messages of the program. The form
// settles an ask through its handle, so what Ask returns never matters.
type prompter struct{ send func(tea.Msg) }

// NewPrompter returns the surface of the program that send gives messages to, for a session to be attached to.
func NewPrompter(send func(tea.Msg)) host.OperatorPrompter { return prompter{send: send} }

var errNoHandle = errors.New("the terminal can show only asks that come with a handle")

func (p prompter) Ask(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
	ask, ok := host.AskFrom(ctx)
	if !ok {
		return nil, errNoHandle
	}
	changed := ask.Changed()
	p.send(askOpenedMsg{ask})
	for {
		select {
		case <-changed:
			changed = ask.Changed()
			p.send(askChangedMsg{ask.Info()})
		case <-ctx.Done():
			end := host.Resolution{Outcome: host.Cancelled}
			var r *host.Resolution
			if errors.As(context.Cause(ctx), &r) {
				end = *r
			}
			p.send(askEndedMsg{id: ask.Info().ID, end: end})
			return nil, context.Cause(ctx)
		}
	}
}
