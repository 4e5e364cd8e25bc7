package teatest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// release builds kitsoki as it is shipped, without the race detector.
func release(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "kitsoki")
	if out, err := exec.Command("go", "build", "-o", path, "..").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func onTerminal(b *testing.B, env []string, argv ...string) (*os.File, *exec.Cmd) {
	b.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	ptm, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		b.Fatal(err)
	}
	return ptm, cmd
}

func plainEnv(b *testing.B) []string {
	b.Helper()
	home := b.TempDir()
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "TERM=xterm-256color", "LANG=C.UTF-8"}
}

// BenchmarkHelpOnASilentTerminal is from start to exit, on a terminal that answers no queries (budget: 50 ms).
func BenchmarkHelpOnASilentTerminal(b *testing.B) {
	bin, env := release(b), plainEnv(b)
	for b.Loop() {
		ptm, cmd := onTerminal(b, env, bin, "--help")
		_, _ = io.Copy(io.Discard, ptm) // ends with EIO when the program does
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		_ = ptm.Close()
	}
}

// BenchmarkFirstFrame is from start until the first whole screen was drawn.
func BenchmarkFirstFrame(b *testing.B) {
	bin, env := release(b), plainEnv(b)
	for b.Loop() {
		ptm, cmd := onTerminal(b, env, bin, "demo")
		var seen strings.Builder
		buf := make([]byte, 4096)
		for !strings.Contains(seen.String(), "F1 all") {
			n, err := ptm.Read(buf)
			seen.Write(buf[:n])
			if err != nil {
				b.Fatalf("%v after %q", err, seen.String())
			}
		}
		b.StopTimer()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, ptm)
		_ = cmd.Wait() // ended by the signal
		_ = ptm.Close()
		b.StartTimer()
	}
}
