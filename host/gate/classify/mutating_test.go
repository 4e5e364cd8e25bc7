package classify

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Every command of the corpus changes something, which is shown by running it, and none passes unasked.
func TestWhatMutatesIsAsked(t *testing.T) {
	entries := corpus(t, "testdata/mutating.txt")
	if len(entries) < 150 {
		t.Fatalf("only %d commands", len(entries))
	}
	tp := newTemplate(t)
	// What git writes by itself must not stand for what a case is about.
	quiet := []string{"GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=diff.autoRefreshIndex", "GIT_CONFIG_VALUE_0=false"}
	for _, e := range entries {
		t.Run(fmt.Sprintf("line%d", e.line), func(t *testing.T) {
			t.Parallel()
			s := tp.sandbox(t)
			port, connections := listener(t)
			s.port = port
			if e.setup != "" {
				if out, err := s.run(t.Context(), s.fill(e.setup)); err != nil {
					t.Fatalf("the preparation failed: %v\n%s", err, out)
				}
			}
			command := s.fill(e.command)
			v := s.judge(t, command)
			if v.Free() {
				t.Errorf("passes unasked: %q", command)
			}
			if e.external && v.Effect != External {
				t.Errorf("is %s, and leaves the machine: %q", v.Effect, command)
			}
			if name := tp.missing(e.needs); name != "" {
				t.Logf("no %s here: the command is judged, and not run", name)
				return
			}
			before := s.hash(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			out, err := s.run(ctx, command, quiet...)
			changed := func() bool { return connections.Load() > 0 || (!e.external && s.hash(t) != before) }
			if !eventually(changed, 3*time.Second) {
				t.Errorf("changes nothing: %q (%v)\n%s", command, err, out)
			}
		})
	}
}

// eventually waits for a condition, since some commands work in the background.
func eventually(is func() bool, limit time.Duration) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !is(); <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
