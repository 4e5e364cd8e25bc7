// Package needs is the one rule for tests that need a program which may not be
// here: they are skipped with a reason, or fail where nothing may be skipped.
//
// It imports the standard library only and starts no goroutine.
package needs

import (
	"fmt"
	"os"
	"testing"
)

const (
	// Prefix starts the reason of every skipped end-to-end test, so that the
	// Makefile and CI can find them.
	Prefix = "SKIPPED E2E: "
	// RequireEnv set to 1 turns every such skip into a failure.
	RequireEnv = "KITSOKI_REQUIRE_E2E"
)

// Missing ends the test because something it needs is not here. The reason
// says what, and what to do about it.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	reason := fmt.Sprintf(format, args...)
	if os.Getenv(RequireEnv) == "1" {
		t.Fatalf("%s=1, and an end-to-end test cannot run: %s", RequireEnv, reason)
	}
	t.Skip(Prefix + reason)
}
