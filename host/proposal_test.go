package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// A proposal is answered by one of its rows: own words, a skip, a draft of several rows allow nothing and leave it open.
func TestOnlyARowAnswersAProposal(t *testing.T) {
	board := host.NewSwitchboard(host.SwitchboardOptions{})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := board.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	board.Declare(nil)
	var shown *host.Proposal
	board.Attach("test", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		a, _ := host.AskFrom(ctx)
		shown = a.Info().Proposal
		for _, bad := range []host.Answer{{Text: "yes"}, {Picked: []int{0}, Text: "but only once"}, {Skipped: true}, {None: true}, {}, {Picked: []int{0, 1}}} {
			var fields *host.FieldErrors
			if err := a.Answer(ctx, []host.Answer{bad}); !errors.As(err, &fields) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		if err := a.Answer(ctx, []host.Answer{{Picked: []int{1}}}); err != nil {
			t.Error(err)
		}
		return nil, context.Cause(ctx)
	}), nil)
	q := host.OperatorQuestion{Question: "Run it?", Options: []host.OperatorOption{{Label: string(host.ScopeTurn)}, {Label: host.Deny}}}
	got, err := board.Ask(host.WithAskRequest(context.Background(), host.AskRequest{
		Kind: host.KindProposal, Proposal: &host.Proposal{Text: "rm -rf \x1b[2J\nx"},
	}), "s", []host.OperatorQuestion{q})
	if err != nil || got["Run it?"] != host.Deny {
		t.Errorf("got %v, %v", got, err)
	}
	if shown == nil || shown.Text != "rm -rf ‹ESC›[2J\nx" {
		t.Errorf("shown was %+v", shown)
	}
}
