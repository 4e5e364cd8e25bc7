// Package tmux drives a program in a real terminal for end-to-end tests: keys
// go in, screens come out, both through a tmux server of the test's own.
//
// It imports the standard library and needs. It starts no goroutine; the tmux
// server and the program in it end with the test.
package tmux

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/teatest/needs"
)

const (
	commandLimit = 10 * time.Second // for one tmux command on a busy machine
	killLimit    = 5 * time.Second  // for the program to end with its terminal
	drainLimit   = time.Second      // for a program's last words to be drawn
	pollEvery    = 30 * time.Millisecond
)

// Three shells stand between tmux and the program, as one does for an operator.
// They note its pid and exit code: tmux 3.3a at times loses a child's end, and
// the output of a program that ends right after it. $0 is the directory for the
// notes.
const (
	// leader owns the terminal. It dies when that is lost, upon which the
	// kernel sends the others a hangup; else it keeps the last screen up.
	leader = `sleep=$1; shift; trap : INT QUIT; exec 3>&2 2>/dev/null
"$1" -c "$2" "$0" "$@"
exec "$sleep" 86400`
	// keeper outlives the program's signals to note its end.
	keeper = `sh=$1 starter=$3; shift 3; trap : INT QUIT HUP
"$sh" -c "$starter" "$0" "$@" 2>&3 3>&-
echo $? >"$0/code"`
	// starter becomes the program.
	starter = `echo $$ >"$0/pid"; exec "$@"`
)

// Pane is a program in a terminal. Its methods belong to the test's goroutine;
// they end the test when tmux fails or a wait runs out.
type Pane struct {
	// Limit bounds every wait. Start sets it to 30 s.
	Limit time.Duration

	t    testing.TB
	bin  string
	dir  string // socket, and what the keeper notes
	env  []string
	pid  int
	lost bool // the terminal is closed
}

// Require is the path of tmux. Without it the test is skipped, or fails where
// nothing may be skipped.
func Require(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		needs.Missing(t, "tmux is not on PATH; install the package tmux")
	}
	return path
}

// Start runs argv in a terminal of w columns and h rows. Env is the program's
// whole environment; tmux adds what it adds for everybody: TERM, TMUX,
// TMUX_PANE and TERM_PROGRAM.
func Start(t testing.TB, w, h int, env []string, argv ...string) *Pane {
	t.Helper()
	bin := Require(t)
	dir, err := os.MkdirTemp("", "ktmux") //nolint:usetesting // sockets need a short path; that of t.TempDir carries the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &Pane{Limit: 30 * time.Second, t: t, bin: bin, dir: dir, env: slices.Clone(env)}
	// One invocation, so that the options hold before the program can end.
	args := []string{
		"start-server", ";",
		"set-option", "-g", "remain-on-exit", "on", ";",
		"set-option", "-gq", "remain-on-exit-format", "", ";",
		"set-option", "-g", "status", "off", ";",
		"set-option", "-g", "escape-time", "0", ";",
		"set-option", "-g", "focus-events", "on", ";",
		"set-option", "-g", "default-terminal", "tmux-256color", ";",
		"new-session", "-d", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h),
	}
	// By their full paths, since the program's PATH may be anything.
	sh, sleep := lookUp(t, "sh"), lookUp(t, "sleep")
	for _, a := range append([]string{sh, "-c", leader, dir, sleep, sh, keeper, starter}, argv...) {
		args = append(args, literal(a))
	}
	// Registered first: a server that started is ended even when this fails.
	t.Cleanup(p.close)
	p.command("", args...)
	p.poll(func(last bool) bool {
		pid, ok := p.note("pid")
		if !ok && last {
			t.Fatalf("tmux: the program did not start within %v\n%s", p.Limit, frame(p.Screen()))
		}
		p.pid = pid
		return ok
	})
	return p
}

func lookUp(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("tmux: %v", err)
	}
	return path
}

// Keys sends keys by their tmux names, one argument each: "Enter", "Escape",
// "C-c", "M-Enter", "Down", "a".
func (p *Pane) Keys(names ...string) {
	p.t.Helper()
	args := []string{"send-keys", "--"}
	for _, n := range names {
		args = append(args, literal(n))
	}
	p.command("", args...)
}

// Type sends text as if typed, in one burst. A newline is Enter's code.
func (p *Pane) Type(text string) {
	p.t.Helper()
	p.command("", "send-keys", "-l", "--", literal(strings.ReplaceAll(text, "\n", "\r")))
}

// Paste sends text as a terminal pastes: in brackets when the program asked
// for them, with newlines as carriage returns.
func (p *Pane) Paste(text string) {
	p.t.Helper()
	p.command(text, "load-buffer", "-b", "paste", "-")
	p.command("", "paste-buffer", "-p", "-d", "-b", "paste")
}

// Screen is what the terminal shows: a line a row, trailing blanks cut.
func (p *Pane) Screen() string {
	p.t.Helper()
	return p.command("", "capture-pane", "-p")
}

// StyledScreen is Screen with the escape sequences of its colours.
func (p *Pane) StyledScreen() string {
	p.t.Helper()
	return p.command("", "capture-pane", "-p", "-e")
}

// Resize changes the terminal's size.
func (p *Pane) Resize(w, h int) {
	p.t.Helper()
	p.command("", "resize-window", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h))
}

// PID is the program's process id.
func (p *Pane) PID() int { return p.pid }

// Hangup closes the terminal, as a lost connection does. What follows can only
// be learnt by Exited and WaitExit; there is no screen any more.
func (p *Pane) Hangup() {
	p.t.Helper()
	p.command("", "kill-server")
	p.lost = true
}

// CloseSession ends the tmux session, as an operator does who is done with it. What follows can only be learnt as
// after Hangup.
func (p *Pane) CloseSession() {
	p.t.Helper()
	p.command("", "kill-session")
	p.lost = true
}

// Rang says whether the program has rung the bell. tmux remembers it, since nobody looks at the terminal.
func (p *Pane) Rang() bool {
	p.t.Helper()
	return strings.TrimSpace(p.command("", "display-message", "-p", "#{window_bell_flag}")) == "1"
}

// Exited says whether the program has ended, and its exit code: 128 and the
// signal's number when a signal ended it. Its last words may reach the screen a
// moment later; the Wait methods allow for that.
func (p *Pane) Exited() (code int, ended bool) { return p.note("code") }

// note reads a number that a shell wrote; it is there once its line is whole.
func (p *Pane) note(name string) (int, bool) {
	raw, err := os.ReadFile(filepath.Join(p.dir, name))
	line, whole := strings.CutSuffix(string(raw), "\n")
	if err != nil || !whole {
		return 0, false
	}
	n, err := strconv.Atoi(line)
	return n, err == nil
}

func (p *Pane) command(stdin string, args ...string) string {
	p.t.Helper()
	out, err := p.run(stdin, args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

func (p *Pane) run(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	// The server takes the environment of the command that starts it, and the
	// program the server's. Its own socket and no configuration: nothing of
	// the machine's tmux is touched.
	cmd := exec.CommandContext(ctx, p.bin, append([]string{"-u", "-S", p.sock(), "-f", os.DevNull}, args...)...)
	cmd.Env = p.env
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

func (p *Pane) sock() string { return filepath.Join(p.dir, "s") }

// literal keeps tmux from reading a last semicolon as the end of a command.
func literal(arg string) string {
	if strings.HasSuffix(arg, ";") {
		return arg[:len(arg)-1] + `\;`
	}
	return arg
}
