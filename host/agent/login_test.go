package agent

import (
	"context"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

// A login that has run out cannot be renewed behind the wall, and a failure that is about it says what to do. Others say
// no more than the agent does, and without the gate none does.
func TestALoginThatRanOutBehindTheWall(t *testing.T) {
	for _, c := range []struct {
		words  string
		access Access
		hint   bool
	}{
		{"OAuth token has expired", Gated, true},
		{"Not logged in · Please run /login", Gated, true},
		{"API Error: 401 authentication_error", Gated, true},
		{"API Error: 400 the prompt is too long", Gated, false},
		{"OAuth token has expired", Edit, false},
	} {
		r := &run{
			req: Request{Verb: Task, Access: c.access}, askers: newAskers(host.Asker{}),
			ended: &Ended{IsError: true, Result: Result{Text: c.words}},
		}
		_, err := r.verdict(context.Background(), nil, "")
		if err == nil || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "run claude once") != c.hint {
			t.Errorf("%q with %s: %v", c.words, c.access, err)
		}
	}
}
