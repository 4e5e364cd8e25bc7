package teatest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// O12 (claude-code#43883, #87053): keys that were on their way when the ask opened answer nothing; what they
// typed is in the prompt.
func TestEarlyKeysAnswerNothingAndAreKept(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("waits", "Postgres")
	for _, k := range []string{"a", "s", "d", "Enter"} {
		s.clock.Advance(60 * time.Millisecond)
		s.press(k)
	}
	s.see("3 early keys are in the prompt", "( ) Postgres")
	s.rest()
	s.press("Esc")
	s.see("> asd", "folded", "asking")
	s.press("^O")
	s.rest()
	s.press("2", "Enter")
	s.see("map[Which database should the new service use?:SQLite]", "> asd")
}

func TestSecondQuickEnterDoesNotAnswerTheNextAsk(t *testing.T) {
	s := open(t, 80, 24, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		first := make(chan struct{})
		go func() { defer close(first); _, _ = ask(host.Asker{Agent: "one"}, database) }()
		second, err := ask(host.Asker{Agent: "two"}, releaseName)
		<-first
		if err == nil {
			say(fmt.Sprint("second: ", second[releaseName.Question]))
		}
		return ctx.Err()
	})
	s.prompt()
	s.see("of 2")
	s.rest()
	s.press("Enter")
	s.see("ask 1 of 1")
	s.clock.Advance(40 * time.Millisecond)
	s.press("Enter")
	s.see("ask 1 of 1", "waits")
	s.rest()
	s.press("Down", "Enter")
	s.see("idle")
}

// O13 (claude-code#87179): stopping the turn ends its ask as cancelled; no label is in the result.
func TestStoppedTurnEndsItsAskWithoutAnAnswer(t *testing.T) {
	got := make(chan error, 1)
	s := open(t, 80, 24, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), _ func(string)) error {
		_, err := ask(builder, host.OperatorQuestion{Question: "Drop the table?", Options: []host.OperatorOption{{Label: "Yes (Recommended)"}, {Label: "No"}}})
		got <- err
		return context.Cause(ctx)
	})
	s.prompt()
	s.see("Drop the table?")
	s.rest()
	s.press("Esc")
	s.see("folded", "asking")
	s.press("Esc") // still about the ask
	s.see("Esc Esc stops the turn")
	s.rest()
	s.press("Esc")
	s.clock.Advance(150 * time.Millisecond)
	s.press("Esc")
	s.see("the operator stopped the turn", "not answered: cancelled", "idle")
	var u *host.Unanswered
	if err := <-got; !errors.As(err, &u) || u.Outcome != host.Cancelled || strings.Contains(err.Error(), "Recommended") {
		t.Errorf("the agent got %v", err)
	}
}

// T7 (gentle-pi#1162): an ask whose asker is gone is greyed where it is being read, gone everywhere else, and what
// was typed into it is kept.
func TestAskOfADeadAgentGoesAndItsTextIsKept(t *testing.T) {
	die := make(chan struct{})
	s := open(t, 80, 24, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		ctx, cancel := context.WithCancelCause(ctx)
		go func() { <-die; cancel(&host.Unanswered{Outcome: host.AskerGone}) }()
		board, _ := host.OperatorPrompterFrom(ctx)
		_, err := board.Ask(ctx, sessionID(ctx), []host.OperatorQuestion{database})
		say(err.Error())
		return nil
	})
	s.prompt()
	s.see("Postgres")
	s.rest()
	s.press("i", "my own words")
	s.see("my own words")
	close(die)
	s.see("ended: asker gone", "my own words")
	s.rest()
	s.press("Enter", "Enter") // closes nothing and sends nothing
	s.press(", and more")
	s.see("own answer: my own words, and more")
	s.press("Esc")
	s.see("> my own words, and more", "not answered: asker gone", "idle")
}

// O11 (claude-code#90529, opencode#36915): a second ask does not take the focus or the text of the first.
func TestSecondAskWaitsWhileTheFirstIsTypedInto(t *testing.T) {
	second := make(chan struct{})
	s := open(t, 80, 24, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-second
			answers, _ := ask(host.Asker{Agent: "two"}, releaseName)
			say(fmt.Sprint("two got ", answers[releaseName.Question]))
		}()
		answers, err := ask(host.Asker{Agent: "one"}, database)
		if err == nil {
			say(fmt.Sprint("one got ", answers[database.Question]))
		}
		<-done
		return ctx.Err()
	})
	s.prompt()
	s.see("ask 1 of 1")
	s.rest()
	s.press("i", "half an ans")
	close(second)
	s.see("ask 1 of 2", "half an ans")
	s.press("wer", "Enter")
	s.see("What should the release be called?", "ask 1 of 1")
	s.rest()
	s.press("2", "Enter")
	s.see("one got half an answer", "two got By feature")
}
