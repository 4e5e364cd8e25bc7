package tmux_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/kitsoki/teatest/tmux"
)

func env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "LANG=C.UTF-8", "GREETING=good day"}
}

func sh(t *testing.T, script string) *tmux.Pane {
	t.Helper()
	return tmux.Start(t, 60, 12, env(), "sh", "-c", script)
}

func TestTypedTextReachesTheProgramAndItsScreenComesBack(t *testing.T) {
	p := sh(t, `printf 'name? '; read -r name; echo "hello <$name>"; exit 7`)
	p.WaitFor("name?")
	p.Type("Ann; Bo;")
	p.WaitFor("Ann; Bo;")
	p.Keys("Enter")
	got := p.WaitMatch(regexp.MustCompile(`hello <([^>]*)>`))
	if got[1] != "Ann; Bo;" {
		t.Errorf("the program read %q", got[1])
	}
	if code := p.WaitExit(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

func TestEnvironmentIsTheOneGiven(t *testing.T) {
	t.Setenv("SECRET_OF_THE_MACHINE", "leaked")
	p := sh(t, `echo "<$GREETING|$SECRET_OF_THE_MACHINE|$TERM|${TMUX:+in tmux}>"; read -r _`)
	p.WaitFor("<good day||tmux-256color|in tmux>")
}

func TestPasteIsBracketedOnlyForProgramsThatAsk(t *testing.T) {
	tmux.Require(t)
	// The program says "ready" only when its terminal is raw.
	const show = `stty raw -echo; printf '%s'ready; head -c %d | od -An -c | tr -d ' \n'; stty sane`
	t.Run("asked", func(t *testing.T) {
		p := sh(t, fmt.Sprintf(show, `\033[?2004h`, 15))
		p.WaitFor("ready")
		p.Paste("a\nb")
		p.WaitFor(`ready033[200~a\rb033[201~`)
	})
	t.Run("not asked", func(t *testing.T) {
		p := sh(t, fmt.Sprintf(show, "", 3))
		p.WaitFor("ready")
		p.Paste("a\nb")
		p.WaitFor(`readya\rb`)
	})
}

func TestResizeReachesTheProgram(t *testing.T) {
	p := sh(t, `trap 'stty size' WINCH; stty size; while :; do read -r _ || sleep 0.1; done`)
	p.WaitFor("12 60")
	p.Resize(40, 10)
	p.Keys("Enter") // dash runs the trap when its read returns
	p.WaitFor("10 40")
}

func TestColoursAreThereForTheAsking(t *testing.T) {
	p := sh(t, `printf '\033[31mred\033[0m'; read -r _`)
	p.WaitFor("red")
	if strings.Contains(p.Screen(), "\x1b") {
		t.Error("Screen carries escape sequences")
	}
	if !strings.Contains(p.StyledScreen(), "\x1b[31m") {
		t.Errorf("StyledScreen carries no red: %q", p.StyledScreen())
	}
}

func TestASignalsEndIsToldApartFromAnExit(t *testing.T) {
	p := sh(t, `echo up; read -r _`)
	p.WaitFor("up")
	if _, ended := p.Exited(); ended {
		t.Fatal("the program waits, yet counts as ended")
	}
	if err := syscall.Kill(p.PID(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.WaitExit(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d, want 143", code)
	}
}

func TestHangupEndsTheProgramAndKeepsItsExitCode(t *testing.T) {
	p := sh(t, `trap 'exit 9' HUP; echo up; while :; do read -r _ || sleep 0.1; done`)
	p.WaitFor("up")
	p.Hangup()
	if code := p.WaitExit(); code != 9 {
		t.Errorf("exit code %d, want that of the program's hangup handler", code)
	}
}

func TestClosedSessionHangsUp(t *testing.T) {
	p := sh(t, `trap 'exit 9' HUP; echo up; while :; do read -r _ || sleep 0.1; done`)
	p.WaitFor("up")
	p.CloseSession()
	if code := p.WaitExit(); code != 9 {
		t.Errorf("exit code %d, want that of the program's hangup handler", code)
	}
}

func TestTheBellIsRemembered(t *testing.T) {
	p := sh(t, `echo up; read -r _; printf '\a'; echo rung; read -r _`)
	p.WaitFor("up")
	if p.Rang() {
		t.Error("the bell rang before the program rang it")
	}
	p.Keys("Enter")
	p.WaitFor("rung")
	if !p.Rang() {
		t.Error("the bell was not heard")
	}
}

func TestControlCIsTheProgramsOwn(t *testing.T) {
	p := sh(t, `trap 'echo interrupted' INT; echo up; while :; do read -r _ || sleep 0.1; done`)
	p.WaitFor("up")
	p.Keys("C-c")
	p.WaitFor("interrupted")
	if code, ended := p.Exited(); ended {
		t.Errorf("the program ended with %d", code)
	}
}

func TestWordsOfAProgramReachItUnchanged(t *testing.T) {
	p := tmux.Start(t, 60, 12, env(), "sh", "-c", `printf '<%s>' "$@"; read -r _`, "x", "two words", ";", "$HOME", `a\;`, "")
	p.WaitFor(`<two words><;><$HOME><a\;><>`)
}

func TestAProgramThatIsNotThere(t *testing.T) {
	p := tmux.Start(t, 60, 12, env(), "no-such-program")
	if code := p.WaitExit(); code != 127 {
		t.Errorf("exit code %d, want 127", code)
	}
	p.WaitFor("not found")
}

// ending catches the failure that a wait is meant to end with.
type ending struct {
	testing.TB
	failed string
}

func (e *ending) Helper() {}

func (e *ending) Fatalf(format string, args ...any) {
	e.failed = fmt.Sprintf(format, args...)
	panic(e)
}

func TestAWaitThatFailsShowsTheLastScreen(t *testing.T) {
	tmux.Require(t)
	e := &ending{TB: t}
	p := tmux.Start(e, 60, 12, env(), "sh", "-c", "echo only this; read -r _")
	p.WaitFor("only this")
	p.Limit = 100 * time.Millisecond
	expectFailure(t, e, func() { p.WaitFor("something else") }, `"something else" on the screen`, "only this")
	expectFailure(t, e, func() { p.WaitExit() }, "for the program to end", "only this")
}

func TestAWaitEndsWithTheProgram(t *testing.T) {
	tmux.Require(t)
	e := &ending{TB: t}
	p := tmux.Start(e, 60, 12, env(), "sh", "-c", "echo bye; exit 3")
	p.WaitFor("bye")
	p.WaitExit()
	began := time.Now()
	expectFailure(t, e, func() { p.WaitFor("something else") }, "ended with 3", "bye")
	if took := time.Since(began); took > p.Limit/3 {
		t.Errorf("waited %v for a program that had ended", took)
	}
}

func expectFailure(t *testing.T, e *ending, wait func(), want ...string) {
	t.Helper()
	e.failed = ""
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(e) {
				panic(r)
			}
		}()
		wait()
	}()
	if e.failed == "" {
		t.Fatal("the wait did not fail")
	}
	for _, w := range want {
		if !strings.Contains(e.failed, w) {
			t.Errorf("failure does not say %q:\n%s", w, e.failed)
		}
	}
}

func TestTheProgramEndsWithTheTest(t *testing.T) {
	tmux.Require(t)
	var pid int
	t.Run("inner", func(t *testing.T) {
		p := tmux.Start(t, 60, 12, env(), "sh", "-c", "echo up; read -r _")
		p.WaitFor("up")
		pid = p.PID()
	})
	if err := syscall.Kill(pid, 0); err == nil {
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %d is still there", pid)
		}
	}
}
