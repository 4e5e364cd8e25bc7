package askbridge_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// BenchmarkExchange is one ask over a dispatch's socket, from the client's Ask until the host was told that the
// answer was delivered, with a host that answers at once; median-ready-µs is until the answer was there. Beside it what
// the system takes for a connection of its own with a line there and a line back.
func BenchmarkExchange(b *testing.B) {
	b.Run("path=bridge", func(b *testing.B) {
		runtime := b.TempDir()
		if err := os.Chmod(runtime, 0o700); err != nil { //nolint:gosec // a directory
			b.Fatal(err)
		}
		dir, err := askbridge.NewDir(runtime)
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan bool, 1)
		limits := askbridge.DefaultLimits()
		limits.PerMinute = 1 << 30
		l, err := askbridge.Listen(dir, &handler{ask: func(_ context.Context, c *askbridge.Call) askbridge.Final {
			if err := c.Deadline(time.Now().Add(time.Minute)); err != nil {
				b.Error(err)
			}
			return askbridge.Final{Answers: map[string]any{"Which DB?": "Postgres"}, Done: func(ok bool) { done <- ok }}
		}}, askbridge.ListenOptions{Limits: limits})
		if err != nil {
			b.Fatal(err)
		}
		client, err := askbridge.Dial(dir.Socket())
		if err != nil {
			b.Fatal(err)
		}
		arguments := json.RawMessage(simple)
		var ready []time.Duration
		for n := 0; b.Loop(); n++ {
			began := time.Now()
			ex, err := client.Ask(context.Background(), askbridge.AskParams{ID: strconv.Itoa(n), Arguments: arguments})
			if err != nil {
				b.Fatal(err)
			}
			if final, err := ex.Wait(context.Background()); err != nil || final.Error != "" {
				b.Fatal(final.Error, err)
			}
			ready = append(ready, time.Since(began))
			if err := ex.Delivered(); err != nil {
				b.Fatal(err)
			}
			if !<-done {
				b.Fatal("the answer was not noted as delivered")
			}
			_ = ex.Close()
		}
		report(b, ready)
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("path=connect", func(b *testing.B) {
		l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); echoLines(l) }()
		var ready []time.Duration
		for b.Loop() {
			began := time.Now()
			conn, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := conn.Write([]byte("line\n")); err != nil {
				b.Fatal(err)
			}
			if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
				b.Fatal(err)
			}
			ready = append(ready, time.Since(began))
			_ = conn.Close()
		}
		report(b, ready)
		_ = l.Close()
		<-done
	})
}

// echoLines sends one line of each connection back, until the listener is closed.
func echoLines(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if line, err := bufio.NewReader(conn).ReadBytes('\n'); err == nil {
			_, _ = conn.Write(line) // whoever waits for it sees that it failed
		}
		_ = conn.Close()
	}
}

// report reports the median and the 99th percentile until an answer was there.
func report(b *testing.B, ready []time.Duration) {
	b.Helper()
	slices.Sort(ready)
	b.ReportMetric(float64(ready[len(ready)/2].Nanoseconds())/1e3, "median-ready-µs")
	b.ReportMetric(float64(ready[len(ready)*99/100].Nanoseconds())/1e3, "p99-ready-µs")
}
