package teatest

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/kitsoki/host/gate/wall"
)

// BenchmarkWalledStart is from start to end of a program that does nothing: as it is, and behind each wall.
func BenchmarkWalledStart(b *testing.B) {
	kitsoki := release(b)
	tmp := b.TempDir()
	for _, level := range wall.Probe().Levels() {
		b.Run(string(level), func(b *testing.B) {
			for b.Loop() {
				w, err := wall.Prepare(wall.Spec{Writable: []string{tmp}}, level, nil)
				if err != nil {
					b.Fatal(err)
				}
				path, args, files := w.Wrap([]string{kitsoki}, "/bin/true", nil)
				if err := walledRun(b, w, exec.Command(path, args...), files); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWalledConnect is a connection of the agent's own process to a port where nobody listens, which is
// refused at once: socket, connect and close.
func BenchmarkWalledConnect(b *testing.B) {
	const script = `
import socket, time
n = 2000
start = time.perf_counter()
for i in range(n):
	with socket.socket() as s:
		s.connect_ex(("127.0.0.1", 1))
print((time.perf_counter() - start) / n * 1e9)
`
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("python3 is not installed")
	}
	kitsoki := release(b)
	for _, level := range []wall.Level{wall.None, wall.Kernel} {
		b.Run(string(level), func(b *testing.B) {
			w, err := wall.Prepare(wall.Spec{AgentConnects: true}, level, nil)
			if err != nil {
				b.Fatal(err)
			}
			path, args, files := w.Wrap([]string{kitsoki}, python, []string{"-c", script})
			out, err := os.CreateTemp(b.TempDir(), "out")
			if err != nil {
				b.Fatal(err)
			}
			cmd := exec.Command(path, args...)
			cmd.Stdout = out
			if err := walledRun(b, w, cmd, files); err != nil {
				b.Fatal(err)
			}
			text, err := os.ReadFile(out.Name())
			if err != nil {
				b.Fatal(err)
			}
			each, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(each, "ns/connect")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// walledRun runs a wrapped command to its end.
func walledRun(b *testing.B, w *wall.Wall, cmd *exec.Cmd, files []*os.File) error {
	b.Helper()
	defer func() { _ = w.Close() }()
	cmd.ExtraFiles, cmd.SysProcAttr = files, &syscall.SysProcAttr{}
	w.Attr(cmd.SysProcAttr)
	supervised := make(chan error, 1)
	go func() { supervised <- w.Run(b.Context()) }()
	err := cmd.Start()
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	return <-supervised
}
