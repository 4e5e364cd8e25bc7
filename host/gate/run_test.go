package gate

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/kitsoki/askbridge"
)

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

var handed = regexp.MustCompile(`^'/bin/kitsoki' 'run-approved' '/run/it'\\''s/sock' '([0-9a-f]{32})'$`)

// tokenOf is the token of a command that was allowed.
func tokenOf(t fataler, d askbridge.Decision) string {
	t.Helper()
	var in struct {
		Command string `json:"command"`
	}
	if err := json.Unmarshal(d.Input, &in); err != nil || !d.Allow {
		t.Fatalf("%+v, %v", d, err)
	}
	m := handed.FindStringSubmatch(in.Command)
	if m == nil {
		t.Fatalf("the agent's shell would run %q", in.Command)
	}
	return m[1]
}

// A token is good for the one command that was shown, once, and in its turn.
func TestATokenIsGoodOnce(t *testing.T) {
	r := newRig(t)
	run := func(turn *Turn, token string) error {
		_, err := turn.Run(t.Context(), askbridge.RunCall{Token: token, Dir: "/elsewhere"})
		return err
	}
	d := r.permit("action", "Bash", `{"command":"touch 'a b' && exit 7","description":"d","timeout":5000,"run_in_background":true}`)
	token := tokenOf(t, d)
	if strings.Contains(string(d.Input), "touch") || !strings.Contains(string(d.Input), `"timeout":5000`) || !strings.Contains(string(d.Input), `"run_in_background":true`) {
		t.Errorf("the agent's shell is given %s", d.Input)
	}
	for _, forged := range []string{"", "0123456789abcdef0123456789abcdef", token[:31], strings.ToUpper(token) + "0"} {
		if err := run(r.turn, forged); err == nil || !strings.Contains(err.Error(), "was not allowed") {
			t.Errorf("%q: %v", forged, err)
		}
	}
	exit, err := r.turn.Run(t.Context(), askbridge.RunCall{Token: token, Dir: "/elsewhere"})
	if err != nil || exit != 7 || len(r.ran) != 1 || r.ran[0].Command != "touch 'a b' && exit 7" || r.ran[0].Dir != r.dir {
		t.Fatalf("%d, %v, ran %+v", exit, err, r.ran)
	}
	if err := run(r.turn, token); err == nil || !strings.Contains(err.Error(), "was run already") {
		t.Errorf("a second time: %v", err)
	}
	late, early := tokenOf(t, r.permit("action", "Bash", runs("touch b"))), r.turn
	r.next(2)
	for _, turn := range []*Turn{early, r.turn} {
		if err := run(turn, late); err == nil {
			t.Error("a token of an earlier turn was good")
		}
	}
	if len(r.ran) != 1 {
		t.Errorf("ran %+v", r.ran)
	}
}

func TestATokenIsGoodOnceForManyAtOnce(t *testing.T) {
	r := newRig(t)
	token := tokenOf(t, r.permit("action", "Bash", runs("touch a")))
	var good atomic.Int32
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if _, err := r.turn.Run(context.Background(), askbridge.RunCall{Token: token}); err == nil {
				good.Add(1)
			}
		})
	}
	all.Wait()
	if good.Load() != 1 || len(r.ran) != 1 {
		t.Errorf("it was good %d times, and ran %d times", good.Load(), len(r.ran))
	}
}

// Somebody who gets at what waits to be run and changes it runs nothing.
func TestAnApprovalIsBoundToWhatWasShown(t *testing.T) {
	r := newRig(t)
	token := tokenOf(t, r.permit("action", "Bash", runs("touch a")))
	r.turn.tokens[token].action.call.Input = json.RawMessage(`{"command":"touch b"}`)
	if _, err := r.turn.Run(t.Context(), askbridge.RunCall{Token: token}); err == nil || !strings.Contains(err.Error(), "not the command that was allowed") || len(r.ran) != 0 {
		t.Errorf("%v, ran %+v", err, r.ran)
	}
}

func TestWhatCannotBeRunIsSaid(t *testing.T) {
	r := newRig(t)
	r.gate.opt.Exec = func(context.Context, Execution) (int, error) { return 0, errors.New("no shell") }
	token := tokenOf(t, r.permit("action", "Bash", runs("touch a")))
	if _, err := r.turn.Run(t.Context(), askbridge.RunCall{Token: token}); err == nil || !strings.Contains(err.Error(), "could not run the command: no shell") {
		t.Error(err)
	}
	r.turn.socket = ""
	if d := r.permit("action", "Bash", runs("touch b")); d.Allow || !strings.Contains(d.Message, "is over") {
		t.Errorf("without a run: %+v", d)
	}
}

// The words that a shell is given mean themselves.
func TestQuote(t *testing.T) {
	for _, word := range []string{"", "a b", "it's", "''", "$HOME `x` \\ \n *", "‹é›"} {
		out, err := exec.Command("sh", "-c", "printf %s "+quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q came as %q, %v", word, out, err)
		}
	}
}
