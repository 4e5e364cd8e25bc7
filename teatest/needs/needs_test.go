package needs_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"example.com/kitsoki/teatest/needs"
)

// ending records how a test was ended. Like the real ones, its ending calls do
// not return.
type ending struct {
	testing.TB
	skipped, failed string
}

func (e *ending) Helper() {}

func (e *ending) Skip(args ...any) {
	e.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (e *ending) Fatalf(format string, args ...any) {
	e.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// missing runs Missing on a goroutine of its own, which Goexit ends.
func missing(t *testing.T) *ending {
	e := &ending{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		needs.Missing(e, "no %s here; install it", "tmux")
	}()
	<-done
	return e
}

func TestMissingSkipsWithTheReason(t *testing.T) {
	t.Setenv(needs.RequireEnv, "")
	e := missing(t)
	if e.failed != "" || e.skipped != "SKIPPED E2E: no tmux here; install it" {
		t.Fatalf("got skip %q, failure %q", e.skipped, e.failed)
	}
}

func TestMissingFailsWhereNothingMayBeSkipped(t *testing.T) {
	t.Setenv(needs.RequireEnv, "1")
	e := missing(t)
	if e.skipped != "" || !strings.Contains(e.failed, "no tmux here") {
		t.Fatalf("got skip %q, failure %q", e.skipped, e.failed)
	}
}
