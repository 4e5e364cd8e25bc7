package teatest

import (
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

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
		for !strings.Contains(ansi.Strip(seen.String()), "F1 all") {
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
