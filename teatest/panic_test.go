package teatest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/tui"
)

// panicEnv makes the test binary show a screen that panics.
const panicEnv = "KITSOKI_TEST_PANIC"

// broken is a session whose events panic once the screen is up.
type broken struct{ session.Client }

func (broken) Snapshot(context.Context) (session.Snapshot, error) { return session.Snapshot{}, nil }

func (broken) Desk(context.Context) (session.Desk, error) { return session.Desk{}, nil }

func (broken) Attach(string, host.OperatorPrompter) (func(), error) { return func() {}, nil }

func (broken) Events(context.Context, uint64) (session.Batch, error) {
	panic("the test wants this")
}

func panickingScreen() int {
	_, err := tui.Run(context.Background(), tui.Options{}, tui.Terminal{}, broken{})
	fmt.Println("Run returned:", err)
	if err == nil {
		return 0
	}
	return 7
}

func TestTerminalIsRestoredAfterAPanic(t *testing.T) {
	term := openTerminal(t, claudecli.Env(t, "http://127.0.0.1:9", panicEnv+"=1"), os.Args[0])
	if code := term.waitExit(); code != 7 {
		t.Errorf("exit code %d, output %q", code, term.output())
	}
	term.waitFor("Run returned: the screen failed")
	term.checkRestored()
}
