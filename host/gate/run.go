package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// approved is a command that waits to be run, as it was shown.
type approved struct{ action *action }

// RunApproved is the hidden command that an agent's shell runs in place of an approved one: it has the host run what
// was stored under its token, and passes on what that prints.
const RunApproved = "run-approved"

// hand stores an approved command and returns the input that has it run. The agent's own shell never gets to see the
// command: what a shell makes of it can be poisoned.
func (t *Turn) hand(a *action) (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.socket == "" {
		return nil, errors.New("the run that wanted it is over")
	}
	token := host.NewID()
	t.tokens[token] = approved{action: a}
	words := append(append([]string{}, t.gate.opt.Self...), RunApproved, t.socket, token)
	for i, w := range words {
		words[i] = quote(w)
	}
	return withCommand(a.call.Input, strings.Join(words, " "))
}

// Run runs an approved command: the one that is stored under the token, once. The token's command was bound to its hash
// when it was shown, and is checked against it again.
func (t *Turn) Run(ctx context.Context, call askbridge.RunCall) (int, error) {
	t.mu.Lock()
	ap, ok := t.tokens[call.Token]
	delete(t.tokens, call.Token)
	ended := t.ended
	t.mu.Unlock()
	if !ok || ended {
		return 0, errors.New("kitsoki: this command was not allowed, or was run already")
	}
	canonical, err := canonical(ap.action.call)
	if err != nil || hash(ap.action.call.Tool, canonical, t.dir) != ap.action.hash {
		return 0, errors.New("kitsoki: this is not the command that was allowed")
	}
	exit, err := t.gate.opt.Exec(ctx, Execution{Command: ap.action.verdict.Command, Dir: t.dir, Stdout: call.Stdout, Stderr: call.Stderr})
	if err != nil {
		return 0, fmt.Errorf("kitsoki could not run the command: %w", err)
	}
	return exit, nil
}

// quote makes one word of a POSIX shell.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
