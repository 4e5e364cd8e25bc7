package teatest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
)

// The Enter that answers an ask does not also send what early keys left in the prompt.
func TestTheEnterThatAnswersSendsNoPrompt(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("Postgres")
	s.press("rm junk")
	s.rest()
	for range 4 {
		s.press("Enter")
		s.clock.Advance(40 * time.Millisecond)
	}
	s.see("Database: Postgres", "> rm junk", "idle")
	if view := s.view(); strings.Contains(view, "queued") || strings.Contains(view, "You want") {
		t.Errorf("the early keys were sent:\n%s", view)
	}
	s.rest()
	s.press("Enter")
	s.gone("> rm junk|")
}

// On a terminal that is too small to show the ask, no key answers it.
func TestNoKeyAnswersWhatCannotBeSeen(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("Postgres")
	s.rest()
	s.tm.Send(tea.WindowSizeMsg{Width: 39, Height: 9})
	s.see("1 ask waits")
	s.press("Enter", "2", "Enter")
	s.tm.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.see("( ) SQLite")
	s.press("Enter") // within the guard that the resize armed
	s.rest()
	s.press("Enter")
	s.see("Database: Postgres", "> 2")
}

// What was typed and did not go out with a decline is in the prompt afterwards.
func TestDeclineKeepsWhatWasTyped(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("Postgres")
	s.rest()
	s.press("i", "half a thought", "^X", "not now")
	s.rest()
	s.press("Enter")
	s.see("not answered: declined", "> half a thought")
}

// A draft whose ask times out does not get mixed into the prompt that is being typed.
func TestTimedOutDraftDoesNotGetIntoThePromptInHand(t *testing.T) {
	first := true
	s := open(t, 80, 24, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		if first {
			first = false
			return asks(database)(ctx, ask, say)
		}
		say("Done.")
		return nil
	})
	s.prompt()
	s.see("Postgres")
	s.rest()
	s.press("i", "secret draft", "Esc", "Esc")
	s.see("folded")
	s.press("another prompt")
	s.see("> another prompt")
	s.clock.Advance(5 * time.Minute)
	s.press("s")
	s.see("> another prompts", "not sent with the ask that ended: secret draft", "1 unsent text")
	s.rest()
	s.press("Enter")
	s.see("Done.", "idle")
	s.press("^P")
	s.see("> secret draft")
}

// One Esc that is held down leaves the field and folds; it does not also stop the turn.
func TestHeldEscDoesNotStopTheTurn(t *testing.T) {
	s := open(t, 80, 24, asks(releaseName))
	s.prompt()
	s.see("By date")
	s.rest()
	s.press("i", "x")
	for range 30 {
		s.press("Esc")
		s.clock.Advance(30 * time.Millisecond)
	}
	s.see("all", "asking") // in the composer, with the ask still open
}

// Every printable key on the own answer's row is text, those with another meaning elsewhere too.
func TestEveryPrintableKeyOnTheOwnRowIsText(t *testing.T) {
	for _, text := range []string{"+5", "?why", "j1", "iks", "9"} {
		s := open(t, 80, 24, asks(releaseName))
		s.prompt()
		s.see("By date")
		s.rest()
		s.press("Down", "Down", text)
		s.see("> own answer: " + text)
		s.press("Enter")
		s.see("Name: “" + text + "”")
	}
}

// A burst that opens with a key of another meaning, such as ?, stays text while the guard is up.
func TestBurstIsKeptWhole(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("Postgres")
	burst := "what is this? yes 1 + go"
	s.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(burst)})
	s.see(fmt.Sprintf("%d early keys", len(burst)))
	s.rest()
	s.press("Esc")
	s.see("> " + burst)
}

// T5 (everything-evenhub#40): three asks in ten milliseconds are three asks, each answered for itself.
func TestThreeAsksAtOnce(t *testing.T) {
	s := open(t, 80, 24, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		type got struct {
			who    string
			answer any
		}
		all := make(chan got, 3)
		for _, who := range []string{"one", "two", "three"} {
			go func() {
				q := host.OperatorQuestion{Question: "Which for " + who + "?", Options: []host.OperatorOption{{Label: who + " a"}, {Label: who + " b"}}}
				answers, _ := ask(host.Asker{Agent: who}, q)
				all <- got{who, answers[q.Question]}
			}()
		}
		for range 3 {
			g := <-all
			say(fmt.Sprintf("%s got %v.", g.who, g.answer))
		}
		return ctx.Err()
	})
	s.prompt()
	s.see("of 3")
	for n := 3; n > 0; n-- {
		s.see(fmt.Sprintf("ask 1 of %d", n))
		s.rest()
		s.press("2", "Enter")
	}
	s.see("one got one b.", "two got two b.", "three got three b.")
}
