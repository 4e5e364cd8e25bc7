package teatest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/tui"
)

// proposalsEnv makes the test binary show a screen on which proposals come, one after the other; its value is the
// directory of its state.
const proposalsEnv = "KITSOKI_TEST_PROPOSALS"

func proposingScreen(state string) int {
	ctx := context.Background()
	acts := play(func(ctx context.Context, _ func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		board, _ := host.OperatorPrompterFrom(ctx)
		for i, p := range []*host.Proposal{makeTest(), worldly(), rewrite(), sequence()} {
			say(propose(ctx, board, fmt.Sprintf("proposal-%d", i+1), p))
		}
		return nil
	})
	manager := session.NewManager(session.ManagerOptions{Runner: acts, State: state})
	s, err := manager.New(session.Options{Command: agent.Command{Name: "scripted"}, Dir: state, Access: agent.Edit})
	if err == nil {
		_, err = tui.Run(ctx, tui.Options{}, tui.Terminal{}, s)
	}
	closing, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if closed := manager.Close(closing, host.HostClosing); err != nil || closed != nil {
		fmt.Println(err, closed)
		return 1
	}
	return 0
}

// On a real terminal keys come as bytes, several in a read: none of these is two keys.
func TestBurstsAllowNothing(t *testing.T) {
	t.Parallel()
	term := openTerminal(t, claudecli.Env(t, "http://127.0.0.1:9", proposalsEnv+"="+t.TempDir()), os.Args[0])
	write := func(parts ...string) {
		t.Helper()
		for _, p := range parts {
			if p == "" {
				quiet()
				continue
			}
			if _, err := io.WriteString(term.ptm, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	term.waitFor("idle")
	write("go")
	term.waitFor("> go")
	write("\r")
	term.waitFor("PROPOSAL")
	for _, burst := range [][]string{
		{"\ry"}, {"\r", "y"}, {"\r\ry"}, {"\ry\ry\ry"}, {"1\ry"}, {"\r\x1b[Cy"}, {"\r", "", "yes"}, {"\r", "", "y\r"}, {"\r", "", "y\x1b[A"},
		{"\r", "", "\x1b[200~y\x1b[201~"}, {"\x1b[200~\ry\x1b[201~"}, {"\r", "", "\x1by"}, {"y\r"}, {"\r", "", "\x1b[Iy"}, {"\r", "", "\r\ry"},
	} {
		write("")
		write(burst...)
		write("", "x") // back, if it asks for the second key
		if out := term.output(); strings.Contains(out, "The gate heard") {
			t.Fatalf("%q was taken:\n%s", burst, out)
		}
	}
	write("", "\r")
	term.waitFor("any other key goes back")
	write("", "y")
	term.waitFor("The gate heard turn")
	write("\x03", "\x03")
	if code := term.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	term.checkRestored()
}
