package teatest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/teatest/claudecli"
)

// terminal is a program on a pseudo-terminal of which the test keeps both ends, so that it sees in which state
// the program leaves it.
type terminal struct {
	t        *testing.T
	ptm, pts *os.File
	cmd      *exec.Cmd
	before   unix.Termios
	exited   chan struct{}
	read     chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func openTerminal(t *testing.T, env []string, argv ...string) *terminal {
	t.Helper()
	ptm, pts, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptm, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, ptm: ptm, pts: pts, exited: make(chan struct{}), read: make(chan struct{})}
	term.before = term.state()
	term.cmd = exec.Command(argv[0], argv[1:]...)
	term.cmd.Env = env
	term.cmd.Stdin, term.cmd.Stdout, term.cmd.Stderr = pts, pts, pts
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(term.read)
		buf := make([]byte, 4096)
		for {
			n, err := ptm.Read(buf)
			term.mu.Lock()
			term.out.Write(buf[:n])
			term.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { defer close(term.exited); _ = term.cmd.Wait() }()
	t.Cleanup(func() {
		_ = term.cmd.Process.Kill() // an error means that it has ended
		<-term.exited
		_ = pts.Close()
		_ = ptm.Close()
		<-term.read
	})
	return term
}

func (term *terminal) state() unix.Termios {
	state, err := unix.IoctlGetTermios(int(term.pts.Fd()), unix.TCGETS)
	if err != nil {
		term.t.Fatal(err)
	}
	return *state
}

func (term *terminal) output() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.out.String()
}

func (term *terminal) waitFor(text string) {
	term.t.Helper()
	if !eventually(func() bool { return strings.Contains(term.output(), text) }) {
		term.t.Fatalf("never saw %q in %q", text, term.output())
	}
}

// untilAsked sends a prompt and waits for the question that follows.
func (term *terminal) untilAsked() {
	term.t.Helper()
	for _, step := range [][2]string{{"go", "go"}, {"\r", "Which database"}} {
		if _, err := io.WriteString(term.ptm, step[0]); err != nil {
			term.t.Fatal(err)
		}
		term.waitFor(step[1])
	}
}

func (term *terminal) waitExit() int {
	term.t.Helper()
	select {
	case <-term.exited:
	case <-time.After(20 * time.Second):
		term.t.Fatalf("still running; output %q", term.output())
	}
	return term.cmd.ProcessState.ExitCode()
}

// checkRestored checks that the terminal is as it was: its modes, the main screen, the cursor, no mouse or paste
// mode left on.
func (term *terminal) checkRestored() {
	term.t.Helper()
	if now := term.state(); now != term.before {
		term.t.Errorf("the terminal's modes are %+v, were %+v", now, term.before)
	}
	out := term.output()
	for on, off := range map[string]string{
		"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?2004h": "\x1b[?2004l", "\x1b[?1004h": "\x1b[?1004l",
	} {
		if strings.LastIndex(out, on) > strings.LastIndex(out, off) {
			term.t.Errorf("%q was never taken back", on)
		}
	}
}

func TestTerminalIsRestoredAfterSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			env := claudecli.Env(t, "http://127.0.0.1:9")
			term := openTerminal(t, env, program(t), "demo", "--on-hangup", "end", "--cwd", t.TempDir())
			term.waitFor("This is a demo")
			if term.state() == term.before {
				t.Fatal("the terminal was never raw")
			}
			term.untilAsked()
			if err := term.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := term.waitExit(); code != 130 {
				t.Errorf("exit code %d", code)
			}
			term.checkRestored()
			want := "host_closing"
			if sig == syscall.SIGHUP {
				want = "no_operator"
			}
			for id, outcome := range checkTrace(t, env) {
				if outcome != want {
					t.Errorf("ask %s ended as %s, want %s", id, outcome, want)
				}
			}
			checkNothingLeft(t, env)
		})
	}
}

// S5 (dot-agent-deck#1138): a terminal that is closed with a question open ends the program and the ask; nothing
// spins.
func TestClosedTerminalEndsTheProgram(t *testing.T) {
	env := claudecli.Env(t, "http://127.0.0.1:9")
	term := openTerminal(t, env, program(t), "demo", "--on-hangup", "end", "--cwd", t.TempDir())
	term.waitFor("This is a demo")
	term.untilAsked()
	if err := errors.Join(term.pts.Close(), term.ptm.Close()); err != nil {
		t.Fatal(err)
	}
	if code := term.waitExit(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	for id, outcome := range checkTrace(t, env) {
		if outcome != "no_operator" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
	checkNothingLeft(t, env)
}

// Without a terminal everything is lines; the end of the input answers nothing and lets the turn end.
func TestWithoutATerminal(t *testing.T) {
	env := claudecli.Env(t, "http://127.0.0.1:9")
	cmd := exec.Command(program(t), "demo", "--ask-wait", "2s", "--cwd", t.TempDir())
	cmd.Env = env
	cmd.Stdin = strings.NewReader("start the service\n")
	out, err := cmd.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("\x1b")) {
		t.Errorf("ended with %v", err)
	}
	if !strings.Contains(string(out), "the input has ended") || !strings.Contains(string(out), "operator did not answer") {
		t.Errorf("said %q", out)
	}
	for id, outcome := range checkTrace(t, env) {
		if outcome != "no_operator" && outcome != "timed_out" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
	checkNothingLeft(t, env)
}

// Line mode answers over a pipe too, as long as somebody reads before answering.
func TestLineModeOverAPipe(t *testing.T) {
	env := claudecli.Env(t, "http://127.0.0.1:9")
	cmd := exec.Command(program(t), "demo", "--plain", "--cwd", t.TempDir())
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	see := func(text string) {
		t.Helper()
		if !eventually(func() bool { return strings.Contains(out.String(), text) }) {
			t.Errorf("never said %q: %s", text, out.String())
		}
	}
	for _, step := range [][2]string{{"start it", "answer with a row"}, {"2", `chose "SQLite"`}, {"", "the turn has ended"}, {"/quit", ""}} {
		quiet()
		if _, err := io.WriteString(in, step[0]+"\n"); err != nil {
			t.Fatal(err)
		}
		see(step[1])
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("ended with %v: %s", err, out.String())
	}
	checkTrace(t, env)
	checkNothingLeft(t, env)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// bubbletea would ask the terminal for its background, in every command, and wait for the answer: 5 s where none
// comes.
func TestHelpAsksTheTerminalNothing(t *testing.T) {
	term := openTerminal(t, claudecli.Env(t, "http://127.0.0.1:9"), program(t), "--help")
	if code := term.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	term.waitFor("Usage:")
	if out := term.output(); strings.Contains(out, "\x1b") {
		t.Errorf("wrote escapes: %q", out)
	}
}
