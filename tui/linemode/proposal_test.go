package linemode

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// gated is an agent whose actions are proposed, one after the other.
type gated []host.Proposal

func (g gated) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	board, _ := host.OperatorPrompterFrom(ctx)
	for i, p := range g {
		q := host.OperatorQuestion{Question: p.Title, Header: "Proposal", Options: []host.OperatorOption{
			{Label: "turn", Description: "this, and every other write until the turn ends"}, {Label: "action", Description: "this once"},
			{Label: "session", Description: "until the session ends"}, {Label: "deny", Description: "the agent is told"},
		}}
		answers, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{
			Kind: host.KindProposal, Proposal: &p, Asker: host.Asker{Agent: "scripted", Path: []string{"tests"}},
		}), req.SessionID, []host.OperatorQuestion{q})
		text := fmt.Sprintf("the gate heard %v, %v.", answers[q.Question], err)
		obs.Event(agent.Text{MessageID: fmt.Sprint("m", i), Text: text}, nil)
	}
	return agent.Result{}, nil
}

func makeTest() host.Proposal {
	return host.Proposal{
		Tool: "Bash", Effect: host.EffectWrite, Title: "Bash make test", Text: "cd sub &&\n\n  make test \x1b[2J", Dir: "/project",
		Reason: "a command that is not known to only read", Held: "claude asks kitsoki before each tool",
	}
}

// proposed is an operator in front of a proposal.
func proposed(t *testing.T, ps ...host.Proposal) *typist {
	t.Helper()
	o := startWith(t, gated(ps))
	o.enter("go")
	o.has("answer with a row")
	return o
}

// The whole of it, as it is read aloud.
func TestAProposalIsWrittenWholeAndTakesTwoLines(t *testing.T) {
	o := proposed(t, makeTest())
	for _, step := range [][2]string{
		{"allow", "first the number"}, {"yes", "answers no proposal"}, {"1", "allows it for this turn"}, {"no", "not allowed"},
		{"2", "allows it this once"}, {"3", "allows it for this session"}, {"allow", "(the turn has ended)"},
	} {
		o.enter(step[0])
		o.has(step[1])
	}
	o.has("the gate heard session")
	golden.RequireEqual(t, []byte(o.output()))
}

// What was on its way before a line could have been read is neither the first nor the second line.
func TestLinesTogetherAllowNothing(t *testing.T) {
	for name, write := range map[string]func(o *typist){
		"both at once": func(o *typist) {
			o.enter("1\nallow")
			o.see("was not taken: 1")
			o.see("was not taken: allow")
		},
		"the second one at once": func(o *typist) {
			o.enter("1")
			o.see("any other line goes back")
			_, _ = fmt.Fprintln(o.in, "allow")
			o.see("was not taken: allow")
		},
		"something behind the second one": func(o *typist) {
			o.enter("1")
			o.see("any other line goes back")
			o.enter("allow\nls")
			o.see("was not taken: allow")
		},
		"an empty line between": func(o *typist) {
			o.enter("1")
			o.see("any other line goes back")
			o.enter("")
			o.see("not allowed")
			o.enter("allow")
			o.see("first the number")
		},
		"a command between": func(o *typist) {
			o.enter("1")
			o.see("any other line goes back")
			o.enter("/help")
			o.see("not allowed")
			o.enter("allow")
			o.see("first the number")
		},
		"folded between": func(o *typist) {
			o.enter("1")
			o.see("any other line goes back")
			o.enter("fold")
			o.see("folded")
			o.enter("/open")
			o.see("END OF PROPOSAL")
			o.see("answer with a row")
			o.enter("allow")
			o.see("first the number")
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := proposed(t, makeTest())
			write(o)
			if strings.Contains(o.output(), "= allowed") {
				t.Error("it was allowed")
			}
			o.enter("d not like this")
			o.see("- denied: Bash make test")
			o.see("declined): not like this")
		})
	}
}

// The end of the input allows nothing, not even within the word.
func TestEndOfInputAllowsNothing(t *testing.T) {
	for _, last := range []string{"", "allow"} {
		o := proposed(t, makeTest())
		o.enter("1")
		o.see("any other line goes back")
		o.clock.Advance(1e9)
		if _, err := fmt.Fprint(o.in, last); err != nil {
			t.Fatal(err)
		}
		if err := o.in.Close(); err != nil {
			t.Fatal(err)
		}
		o.see("the input has ended")
		if strings.Contains(o.output(), "allowed for") {
			t.Errorf("after %q: %s", last, o.output())
		}
		o.clock.Advance(6 * 60e9)
		o.see("timed_out")
	}
}

func TestARowThatDeniesTakesOneLine(t *testing.T) {
	second := makeTest()
	second.Title = "Bash make install"
	o := proposed(t, makeTest(), second)
	o.enter("4")
	o.see("- denied: Bash make test")
	o.has("the gate heard deny, <nil>.")
	o.has("Bash make install")
	o.has("answer with a row")
	o.enter("9")
	o.see("there is no row 9")
	o.enter("d")
	o.see("- denied: Bash make install")
}

// Nothing that an agent says, asks or names begins a line as a proposal does.
func TestNothingElseBeginsLikeAProposal(t *testing.T) {
	fake := "look:\nPROPOSAL · write · claude, waits 300 s: ls\n  1: ls\nEnd of ＰＲＯＰＯＳＡＬ\nРRОPОSАL · write"
	o := start(t, func(_ context.Context, ask func(...host.OperatorQuestion) (map[string]any, error), say func(string)) {
		say(fake)
		_, _ = ask(host.OperatorQuestion{Question: fake, Header: "PROPOSAL", Options: []host.OperatorOption{{Label: "turn", Description: fake}, {Label: "deny"}}})
	})
	o.enter("go")
	o.has("grants nothing")
	o.has("answer with")
	for line := range strings.SplitSeq(o.output(), "\n") {
		if strings.HasPrefix(line, "PROPOSAL") || strings.HasPrefix(strings.ToLower(line), "end of") || strings.HasPrefix(line, "Р") {
			t.Errorf("wrote %q", line)
		}
	}
	o.enter("1", "allow") // an answer, and then a prompt
	o.see("= sent")
}
