package teatest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.com/kitsoki/teatest/claudecli"
)

func (term *terminal) typed(text string) {
	term.t.Helper()
	if _, err := io.WriteString(term.ptm, text); err != nil {
		term.t.Fatal(err)
	}
}

// A process that is killed in the middle of an ask loses nothing: the next one shows the log, asks again with the
// draft, and the answer goes to the agent as the next message.
func TestContinueAfterAKill(t *testing.T) {
	env := append(claudecli.Env(t, "http://127.0.0.1:9"), "TERM=xterm-256color", "NO_COLOR=1")
	term := openTerminal(t, env, program(t), "demo")
	term.waitFor("access ask")
	term.untilAsked()
	quiet()
	term.typed("i")
	term.typed("half an answer")
	term.waitFor("half an answer")
	home := lookup(env, "HOME")
	if !eventually(func() bool { return strings.Contains(readAll(t, home, "desk.json"), "half an answer") }) {
		t.Fatal("the draft is not kept")
	}
	if err := term.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-term.exited

	again := openTerminal(t, env, program(t), "demo", "--continue")
	again.waitFor("asked again")
	again.waitFor("half an answer")
	quiet()
	again.typed("\r") // into the field of the own answer
	quiet()
	again.typed("\r") // takes it
	again.waitFor(`{"answers":{"Which database`)
	again.waitFor("Which database should the new service use?") // the next turn asks the same
	again.typed("\x03")
	again.waitFor("again quits")
	again.typed("\x03")
	if code := again.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	checkTrace(t, env)
}

// readAll is the content of the files of a name below a directory.
func readAll(t *testing.T, dir, name string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, ".local/state/kitsoki/sessions/*", name))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
