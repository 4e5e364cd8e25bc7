package teatest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

// perPrompt asks when the prompt says so, and else only answers.
func perPrompt(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
	prompt := promptOf(ctx)
	if !strings.HasPrefix(prompt, "ask") {
		say("done with " + prompt)
		return nil
	}
	answers, err := ask(host.Asker{Agent: "scripted"}, database)
	if err != nil {
		say(fmt.Sprintf("nobody answered %s: %v", prompt, err))
		return ctx.Err()
	}
	say(fmt.Sprintf("%s got %v", prompt, answers[database.Question]))
	return nil
}

// another opens one more session, api, in a directory of its own.
func (s *screen) another() {
	s.t.Helper()
	const title = "api"
	dir := s.t.TempDir()
	s.press("^L", "n")
	s.see("a new session", "> directory")
	for range len("/project") {
		s.press("Backspace")
	}
	s.press(dir, "Tab", "Tab", title, "Enter")
	s.see("[", title+": idle]")
}

func (s *screen) letGo() { close(s.gate) }

func TestSessionsSideBySide(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	s.another()
	s.see("1 project: idle")
	s.press("ask a", "Enter")
	s.rest()
	s.tick()
	s.see("ask 1 of 1 · api: scripted")
	s.rest()
	s.press("Esc")
	s.see("[>2 api: asking 1]", "folded", "api: scripted")
	s.press("^N")
	s.see("[>1 project: idle]", "2 api: asking 1", "folded")
	s.press("plain", "Enter")
	s.see("done with plain")
	if strings.Contains(s.view(), "> ask a") {
		t.Errorf("the log of another session is shown:\n%s", s.view())
	}
	s.press("^O")
	s.rest()
	s.press("2", "Enter")
	s.see("2 api: done, unseen")
	s.press("^N")
	s.see("ask a got SQLite", "[>2 api: idle]")
}

// A prompt that is being typed stays with its session.
func TestEachSessionHasItsOwnComposer(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	s.press("half a prompt")
	s.another()
	s.press("another half", "^N")
	s.see("> half a prompt")
	s.press("^N")
	s.see("> another half")
	s.press("^L")
	s.see("a draft in the prompt")
}

func TestSessionsAreRenamedAndClosed(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	s.press("^L", "x")
	s.see("this is the only session")
	s.press("Esc")
	s.another()
	s.press("^L", "r")
	for range len("api") {
		s.press("Backspace")
	}
	s.press("backend", "Enter")
	s.see("2  backend (shown)")
	s.press("Esc", "ask it", "Enter")
	s.rest()
	s.tick()
	s.see("ask 1 of 1 · backend: scripted")
	s.rest()
	s.press("i", "typed and not sent", "Esc", "Esc")
	s.see("folded")
	s.press("^L", "x")
	s.see("x again closes backend: 1 open ask ends without an answer and its turn is stopped")
	s.press("x")
	s.see("sessions: 1", "what was not sent")
	s.press("Esc")
	s.see("> typed and not sent")
}

// Another key takes the first x back.
func TestClosingASessionIsConfirmedByTheNextKeyOnly(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	s.another()
	s.press("ask it", "Enter")
	s.rest()
	s.tick()
	s.see("ask 1 of 1")
	s.rest()
	s.press("Esc", "^L", "x")
	s.see("x again closes api")
	s.press("Down", "x")
	s.see("x again closes api", "sessions: 2")
}

func TestNewSessionSaysWhatIsWrong(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.press("^L", "n")
	s.press("x", "Enter")
	s.see("directory /projectx does not exist", "> directory")
	for range len("/projectx") {
		s.press("Backspace")
	}
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/api", 0o700); err != nil {
		t.Fatal(err)
	}
	s.press(dir+"/api", "Tab", "wip", "Enter")
	s.see("no git repository")
	s.press("Backspace", "Backspace", "Backspace", "Enter")
	s.see("[>2 api: idle]")
}

func TestContinueOutsideIsWrittenIntoTheLog(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	s.press("^L", "o")
	s.see("has no conversation that goes on outside")
	s.press("Esc", "hello", "Enter")
	s.see("done with hello")
	s.press("^L", "o")
	s.see("to continue without kitsoki: cd /project && scripted --resume conversation-1")
}

// Prompts that were sent come back with the arrow, what stood there first, and edits on the way stay.
func TestPromptHistory(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	s.press("one", "Enter")
	s.see("done with one")
	s.press("two", "Enter")
	s.see("done with two")
	s.press("draft", "Up")
	s.see("> two")
	s.press("Up")
	s.see("> one")
	s.press("!", "Down", "Down")
	s.see("> draft")
	s.press("Up", "Up")
	s.see("> one!")
}

// The queue is listed; any of it can be taken back, and what is dropped is in the history.
func TestQueueIsListedAndEdited(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.press("zero", "Enter")
	s.see("working")
	for i, p := range []string{"one", "two", "three"} {
		s.press(p, "Enter")
		s.see(fmt.Sprintf("%d queued, next: one", i+1))
	}
	s.press("^P")
	s.see("3 queued, the next first", ">  3 three")
	s.press("Up", "Up", "Enter")
	s.see("> one", "2 queued")
	s.press("^U")
	for range 3 {
		s.press("Backspace")
	}
	s.press("^P")
	s.see("2 queued")
	s.press("x")
	s.see("dropped")
	s.press("Esc")
	s.see("1 queued, next: two")
	s.press("Up")
	s.see("> three")
}

func TestLogIsSearched(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	for i := range 40 {
		s.press(fmt.Sprintf("word%d", i), "Enter")
		s.see(fmt.Sprintf("done with word%d", i))
	}
	s.press("^F", "word7")
	s.see("search: word7", "done with word7", "of 2")
	s.press("Esc")
	s.gone("search:")
}

// A draft comes back after an earlier prompt was sent in its place.
func TestDraftComesBackAfterAnEarlierPrompt(t *testing.T) {
	s := open(t, 100, 24, perPrompt)
	s.letGo()
	s.press("one", "Enter")
	s.see("done with one")
	s.press("draft", "Up")
	s.see("> one")
	s.press("Enter")
	s.see("> draft")
}
