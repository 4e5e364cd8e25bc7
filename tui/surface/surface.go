// Package surface turns the asks that a switchboard hands to a prompter into three kinds of news, for surfaces
// that settle an ask through its handle.
package surface

import (
	"context"
	"errors"

	"example.com/kitsoki/host"
)

// Surface is a host.OperatorPrompter that passes on what happens. Its functions are called from one goroutine an
// ask, in order; each returns soon.
type Surface struct {
	Opened  func(host.Ask)
	Changed func(host.AskInfo) // deadline, asker or drafts
	Ended   func(id string, end host.Resolution)
	Guests  bool // it shows the asks of guests too
}

var _ host.OperatorPrompter = Surface{}

// TakesGuests implements session.Receptive.
func (s Surface) TakesGuests() bool { return s.Guests }

var errNoHandle = errors.New("this surface can show only asks that come with a handle")

// Ask shows one ask until it is settled or withdrawn. The ask is settled through its handle, so what Ask returns
// never matters.
func (s Surface) Ask(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
	ask, ok := host.AskFrom(ctx)
	if !ok {
		return nil, errNoHandle
	}
	changed := ask.Changed()
	s.Opened(ask)
	for {
		select {
		case <-changed:
			changed = ask.Changed()
			s.Changed(ask.Info())
		case <-ctx.Done():
			end := host.Resolution{Outcome: host.Cancelled}
			var r *host.Resolution
			switch cause := context.Cause(ctx); {
			case errors.As(cause, &r):
				end = *r
			case errors.Is(cause, host.ErrLost):
				end.Reason = host.ErrLost.Error()
			}
			s.Ended(ask.Info().ID, end)
			return nil, context.Cause(ctx)
		}
	}
}
