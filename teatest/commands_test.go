package teatest

import (
	"context"
	"testing"

	"example.com/kitsoki/host"
)

// Commands in the prompt: the access of the next turn is on the screen at once, a wrong one is said and comes back with
// the arrow, and the list of keys names them all.
func TestCommandsInThePrompt(t *testing.T) {
	s := open(t, 100, 30, func(ctx context.Context, _ func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say("done with " + promptOf(ctx))
		return nil
	})
	s.press("/access read", "Enter")
	s.see("access is read", "access read")
	s.press("one", "Enter") // the agent waits at the gate
	s.see("working")
	s.press("/access full", "Enter")
	s.see("access is full from the next turn on; the running one keeps read", "access read, then full")
	s.letGo()
	s.see("done with one", "access full")
	s.press("/ask what is this?", "Enter")
	s.see("> /ask what is this?", "done with what is this?")
	s.press("/access everything", "Enter")
	s.see(`access "everything" is not known; use read, ask, edit or full`)
	s.press("Up")
	s.see("> /access everything")
	for range len("/access everything") {
		s.press("Backspace")
	}
	s.press("/decide which?", "Enter")
	s.see("not sent: /decide needs words to pick from: /decide yes|no Is this safe?", "> /decide which?")
	s.press("F1")
	s.see("/ask TEXT", "/decide a|b|c TEXT", "/task TEXT", "/access LEVEL")
}
