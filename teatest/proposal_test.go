package teatest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"example.com/kitsoki/host"
)

// proposal is one as the gate makes it.
func proposal(effect host.Effect, title, text string) *host.Proposal {
	return &host.Proposal{
		Tool: "Bash", Effect: effect, Title: title, Text: text, Dir: "/project",
		Reason: "a command that is not known to only read", Held: "claude asks kitsoki before each tool and waits", Hash: "5e1f",
	}
}

func makeTest() *host.Proposal { return proposal(host.EffectWrite, "Bash make test", "make test") }

// rowsOf are the rows of a proposal, in the gate's order.
func rowsOf(effect host.Effect) []host.OperatorOption {
	rows := []host.OperatorOption{
		{Label: "turn", Description: "this, and every other write until the turn ends"},
		{Label: "action", Description: "this once; the next one is proposed again"},
		{Label: "session", Description: "this, and every other write until the session ends"},
		{Label: "deny", Description: "the agent is told that you refused"},
	}
	if effect == host.EffectExternal {
		return []host.OperatorOption{rows[1], rows[3]}
	}
	return rows
}

// proposes is an agent whose actions are proposed, one after the other at the same time.
func proposes(ps ...*host.Proposal) play {
	return func(ctx context.Context, _ func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say("I will run the tests now.")
		board, _ := host.OperatorPrompterFrom(ctx)
		done := make(chan string)
		for i, p := range ps {
			go func() { done <- propose(ctx, board, fmt.Sprintf("proposal-%d", i+1), p) }()
			if shown, _ := ctx.Value(shownKey{}).(func() int); !eventually(func() bool { return shown() > i }) {
				return errors.New("the proposal is not shown")
			}
		}
		for range ps {
			say(<-done)
		}
		return context.Cause(ctx)
	}
}

func propose(ctx context.Context, board host.OperatorPrompter, id string, p *host.Proposal) string {
	q := host.OperatorQuestion{Question: p.Title, Header: "Proposal", Options: rowsOf(p.Effect)}
	answers, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{
		ID: id, Kind: host.KindProposal, Proposal: p, Asker: builder,
	}), sessionID(ctx), []host.OperatorQuestion{q})
	if err != nil {
		return "The gate heard " + err.Error() + "."
	}
	return fmt.Sprintf("The gate heard %v.", answers[q.Question])
}

// proposed opens a screen on which proposals wait, past the guard.
func proposed(t *testing.T, w, h int, ps ...*host.Proposal) *screen {
	t.Helper()
	s := open(t, w, h, proposes(ps...))
	s.prompt()
	s.until(fmt.Sprintf("counts %d asks", len(ps)), func(string) bool { return s.shown() == len(ps) })
	s.see("╔═ PROPOSAL")
	s.rest()
	return s
}

func TestTwoKeysAllowAProposal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}, {40, 14}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := proposed(t, size[0], size[1], makeTest())
			s.see("PROPOSAL · write · scri", "make test", "1 turn")
			s.press("y") // no key before the first one
			s.apart("Enter")
			s.see("y allows it for this turn")
			s.apart("x") // any other key goes back
			s.gone("y allows it for this turn · any")
			s.apart("Enter", "y")
			s.see("The gate heard turn", "allowed for this turn: Bash make test")
		})
	}
}
