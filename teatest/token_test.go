package teatest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.com/kitsoki/teatest/claudecli"
)

// Y2 (oh-my-pi#8596, gh-aw#25103): the token of a dispatch is in its file and nowhere else: not in a trace, a
// transcript, a log, an argument or on the screen.
func TestTheTokenIsInNoOutput(t *testing.T) {
	env := claudecli.Env(t, "http://127.0.0.1:9")
	log := filepath.Join(t.TempDir(), "log")
	term := openTerminal(t, env, program(t), "demo", "--cwd", t.TempDir(), "--log", log)
	term.waitFor("This is a demo")
	term.untilAsked()
	files, err := filepath.Glob(filepath.Join(lookup(env, "XDG_RUNTIME_DIR"), "kitsoki", "*", "token"))
	if err != nil || len(files) != 1 {
		t.Fatalf("tokens: %v, %v", files, err)
	}
	token, err := os.ReadFile(files[0])
	if err != nil || len(token) < 32 {
		t.Fatalf("the token is %d bytes, %v", len(token), err)
	}
	for _, pid := range childrenOf(t, term.cmd.Process.Pid) {
		arguments, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
		if err == nil && bytes.Contains(arguments, token) {
			t.Errorf("the token is in the arguments of process %d", pid)
		}
	}
	quiet()
	if _, err := term.ptm.WriteString("2\r"); err != nil {
		t.Fatal(err)
	}
	term.waitFor(`chose "SQLite"`)
	if err := term.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	term.waitExit()
	if strings.Contains(term.output(), string(token)) {
		t.Error("the token was on the screen")
	}
	searched := 0
	for _, root := range []string{lookup(env, "HOME"), log} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			searched++
			content, err := os.ReadFile(path)
			if bytes.Contains(content, token) {
				t.Errorf("the token is in %s", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if searched < 3 { // trace, transcript, log
		t.Errorf("only %d files were searched", searched)
	}
}
