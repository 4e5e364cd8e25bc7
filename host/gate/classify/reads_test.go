package classify

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// What agents run all day passes unasked, and changes nothing.
func TestEverydayReadsPass(t *testing.T) {
	entries := corpus(t, "testdata/reads.txt")
	if len(entries) < 30 {
		t.Fatalf("only %d commands", len(entries))
	}
	tp := newTemplate(t)
	hardened := Environment(os.Getenv)
	for _, e := range entries {
		t.Run(fmt.Sprintf("line%d", e.line), func(t *testing.T) {
			t.Parallel()
			s := tp.sandbox(t)
			if v := s.judge(t, e.command); !v.Free() {
				t.Errorf("is asked: %q: %s", e.command, v.Reason)
			}
			if name := tp.missing(e.needs); name != "" {
				t.Logf("no %s here: the command is judged, and not run", name)
				return
			}
			if out, err := s.run(t.Context(), e.setup); err != nil {
				t.Fatalf("the preparation failed: %v\n%s", err, out)
			}
			before := s.hash(t)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			out, err := s.run(ctx, e.command, hardened...)
			if s.hash(t) != before {
				t.Errorf("changed something: %q (%v)\n%s", e.command, err, out)
			}
			if ctx.Err() != nil {
				t.Errorf("did not end: %q", e.command)
			}
		})
	}
}
