package teatest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// asker is one of several agents that ask at once.
type asker struct {
	who host.Asker
	qs  []host.OperatorQuestion
}

// together is an agent whose sub-agents ask one after the other and wait side by side; each answer is written into
// the log under the name of who asked.
func together(askers ...asker) play {
	return func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		var wg sync.WaitGroup
		var mu sync.Mutex
		board, _ := host.OperatorPrompterFrom(ctx)
		for i, a := range askers {
			open := make(chan struct{})
			wg.Go(func() {
				answers, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{Asker: a.who, Opened: func(host.OpenedAsk) { close(open) }}), sessionID(ctx), a.qs)
				text := fmt.Sprint(answers)
				var u *host.Unanswered
				if errors.As(err, &u) {
					text = string(u.Outcome) + ": " + u.Reason
				}
				mu.Lock()
				defer mu.Unlock()
				say(a.who.Agent + " got " + text)
			})
			<-open
			if shown, _ := ctx.Value(shownKey{}).(func() int); !eventually(func() bool { return shown() > i }) {
				return errors.New("the ask never came onto the screen")
			}
			clockOf(ctx).Advance(time.Millisecond) // so that they are in this order
		}
		wg.Wait()
		return ctx.Err()
	}
}

func simple(name string, qs ...host.OperatorQuestion) asker {
	return asker{who: host.Asker{Agent: name, Dir: "/src/" + name}, qs: qs}
}

// T5 (everything-evenhub#40): three asks within ten milliseconds are a list of three, each with its own answer.
func TestInboxAnswersEachRow(t *testing.T) {
	s := open(t, 80, 24, together(simple("api", database), simple("web", database), simple("docs", releaseName)))
	s.prompt()
	s.see("ask 1 of 3", "same words as ask 2")
	s.rest()
	s.press("^O")
	s.see("inbox: 3 open", "> 1  api [Database]", "2  web [Database]", "3  docs [Name]", "in /src/api", "same words as ask 2")
	s.rest()
	s.press("Down", "2")
	s.see("“SQLite” draft", "Enter sends “SQLite” to web")
	s.press("Enter")
	s.see("inbox: 2 open", "answered, ", "> 3  docs [Name]") // the next one that waits
	s.rest()
	s.press("Up", "Up", "3", "Enter")
	s.see("inbox: 1 open, 2 settled")
	s.rest()
	s.press("1", "Enter")
	s.see("inbox: 0 open", "answered, ")
	s.press("Esc")
	s.see("web got map[Which database should the new service use?:SQLite]", "api got map[Which database should the new service use?:None yet]",
		"docs got map[What should the release be called?:By date]")
}

// A digit is a draft and no answer, in the row as in the form, and is there in both.
func TestInboxDigitIsADraft(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("waits")
	s.rest()
	s.press("^O")
	s.rest()
	s.press("2")
	s.see("“SQLite” draft")
	s.press("^O", "^O") // closed, and the ask itself
	s.see("> 2 (x) SQLite")
}

func TestInboxOpensWhatIsMoreThanAChoice(t *testing.T) {
	s := open(t, 80, 24, together(simple("api", database, checks), simple("web", releaseName)))
	s.prompt()
	s.see("ask 1 of 2")
	s.rest()
	s.press("^O")
	s.see("api [Database] · 2 questions")
	s.rest()
	s.press("1")
	s.see("this ask has 2 questions: Enter opens it")
	s.press("Enter")
	s.see("ask 1 of 2", "[>Database")
}

// Keys that were on their way when the list appeared choose nothing; what they type is in the prompt.
func TestInboxIsGuarded(t *testing.T) {
	s := open(t, 80, 24, together(simple("api", database), simple("web", releaseName)))
	s.prompt()
	s.see("ask 1 of 2")
	s.rest()
	s.press("^O", "2", "Enter")
	s.see("1 early key is in the prompt", "inbox: 2 open")
	s.press("Esc")
	s.see("> 2")
}

// The row of an ask that is over stays where it is and takes no answer.
func TestInboxRowOfADeadAskTakesNoAnswer(t *testing.T) {
	gone := make(chan struct{})
	s := open(t, 80, 24, func(ctx context.Context, _ func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		board, _ := host.OperatorPrompterFrom(ctx)
		first, cancel := context.WithCancelCause(ctx)
		opened := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, _ = board.Ask(host.WithAskRequest(first, host.AskRequest{Asker: host.Asker{Agent: "api"}, Opened: func(host.OpenedAsk) { close(opened) }}),
				sessionID(ctx), []host.OperatorQuestion{database})
		})
		<-opened
		wg.Go(func() {
			answers, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{Asker: host.Asker{Agent: "web"}}), sessionID(ctx), []host.OperatorQuestion{database})
			if err == nil {
				say(fmt.Sprint("web got ", answers))
			}
		})
		<-gone
		cancel(&host.Unanswered{Outcome: host.AskerGone, Reason: "the agent died"})
		wg.Wait()
		return ctx.Err()
	})
	s.prompt()
	s.see("of 2")
	s.rest()
	s.press("^O")
	s.see("> 1  api")
	s.rest()
	close(gone)
	s.see("inbox: 1 open", "asker gone")
	s.press("2", "Enter")
	s.see("this ask is over: asker gone", "> 1  api", "inbox: 1 open")
	s.press("Down")
	s.rest()
	s.press("3", "Enter")
	s.see("inbox: 0 open")
	s.press("Esc")
	s.see("web got map[Which database should the new service use?:None yet]")
}

func TestInboxDeclinesExtendsAndAsksBack(t *testing.T) {
	s := open(t, 80, 24, together(simple("api", database), simple("web", releaseName)))
	s.prompt()
	s.see("ask 1 of 2")
	s.rest()
	s.press("^O")
	s.rest()
	s.press("+")
	s.see("6:5")
	s.press("e")
	s.see("explain:", "asks the agent to explain")
	s.press("what does it cost?")
	s.rest()
	s.press("Enter")
	s.see("ask 1 of 1") // the next one
	s.rest()
	s.press("^O")
	s.rest()
	s.press("^X", "later")
	s.rest()
	s.press("Enter")
	s.see("api got declined: the operator asks back before deciding: what does it cost?", "web got declined: later")
}

func TestSettledAsksAreListedSearchedAndNamed(t *testing.T) {
	s := open(t, 80, 24, together(simple("api", database), simple("web", releaseName)))
	s.prompt()
	s.see("ask 1 of 2")
	s.rest()
	s.press("2", "Enter")
	s.see("ask 1 of 1")
	s.rest()
	s.press("^X", "not now", "Enter")
	s.see("> ", "idle")
	s.press("^O")
	s.see("inbox: 0 open, 2 settled")
	s.rest()
	s.press("Tab")
	s.see("settled: 2 of 2", "declined", "answered, ", "= not now")
	s.press("/", "sqlite", "Enter")
	s.see("settled: 1 of 2", "= Database: SQLite")
	s.press("y")
	s.press("Tab", "Tab", "/", "Esc")
	s.see("settled: 2 of 2")
}

func TestInboxMarksDraftsAndTime(t *testing.T) {
	s := open(t, 80, 24, together(simple("api", database), simple("web", releaseName)))
	s.prompt()
	s.see("ask 1 of 2")
	s.rest()
	s.press("i", "half a thought", "Esc")
	s.press("^O")
	s.see("draft  4:5")
	s.clock.Advance(4 * time.Minute)
	s.tick()
	s.see("draft  0:5")
}

// The same words from two agents are marked as twins, in the line and in the form, by their place.
func TestTwinsAreMarked(t *testing.T) {
	s := open(t, 100, 24, together(simple("api", database), simple("web", releaseName), simple("docs", database)))
	s.prompt()
	s.see("ask 1 of 3 · api", "same words as ask 3")
	s.rest()
	s.press("Enter")
	s.see("ask 1 of 2 · web")
	s.rest()
	s.press("^O")
	s.see("2  docs")
	if strings.Contains(s.view(), "same words") {
		t.Errorf("the other one is settled, and it is still marked:\n%s", s.view())
	}
}
