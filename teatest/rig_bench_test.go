package teatest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/creack/pty"
)

// release builds kitsoki as it is shipped, without the race detector.
func release(b *testing.B) string {
	b.Helper()
	return build(b, "..")
}

// build builds the program in a directory.
func build(b *testing.B, dir string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", path, dir).CombinedOutput(); err != nil {
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

// sample is how long something took each time. A benchmark reports of it what an average hides.
type sample []time.Duration

// measure takes the time of one operation.
func (s *sample) measure(do func()) {
	began := time.Now()
	do()
	*s = append(*s, time.Since(began))
}

// report reports the median and the 99th percentile, in the unit that its name ends with.
func (s sample) report(b *testing.B, unit time.Duration, name string) {
	b.Helper()
	b.ReportMetric(s.in(unit, 50), "median-"+name)
	b.ReportMetric(s.in(unit, 99), "p99-"+name)
}

// in is the time that so many of a hundred stay below, in a unit.
func (s sample) in(unit time.Duration, percent int) float64 {
	sorted := slices.Sorted(slices.Values(s))
	return float64(sorted[len(sorted)*percent/100]) / float64(unit)
}
