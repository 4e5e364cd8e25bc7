package teatest

import (
	"bufio"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/trace"
)

// BenchmarkAskRoundTrip is a tool call through grandchild, socket and switchboard to a surface that answers at
// once, and back (aims: median 300 µs, p99 1000 µs). The recorded one waits as well until the trace with the
// answer is on the disk, as every ask of a session does. Of both, there is until the surface was asked and back
// from its answer. Beside them a tool call of a bare MCP server, and the echo of a line over a bare socket.
func BenchmarkAskRoundTrip(b *testing.B) {
	b.Run("path=grandchild", func(b *testing.B) { askRoundTrip(b, nil) })
	b.Run("path=recorded", func(b *testing.B) {
		file := trace.NewFile(filepath.Join(b.TempDir(), trace.FileName), trace.Options{})
		askRoundTrip(b, file)
		if err := file.Close(); err != nil {
			b.Error(err)
		}
	})
	b.Run("path=bare", func(b *testing.B) {
		g := startGrandchild(b, plainEnv(b), build(b, "./testdata/baremcp"))
		roundTrips(b, g, func(_, _ time.Time) {})
	})
	b.Run("path=echo", func(b *testing.B) {
		l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err == nil {
				_, _ = io.Copy(conn, conn) // ends with the connection
			}
		}()
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		in := bufio.NewReader(conn)
		var took sample
		for b.Loop() {
			took.measure(func() {
				if _, err := conn.Write([]byte("line\n")); err != nil {
					b.Fatal(err)
				}
				if _, err := in.ReadString('\n'); err != nil {
					b.Fatal(err)
				}
			})
		}
		took.report(b, time.Microsecond, "µs")
		_ = conn.Close()
		_ = l.Close()
		<-done
	})
}

func askRoundTrip(b *testing.B, recorder host.Recorder) {
	b.Helper()
	board := closed(b, host.NewSwitchboard(host.SwitchboardOptions{Recorder: recorder}))
	b.Cleanup(board.Declare(nil))
	asked := make(chan time.Time, 1)
	board.Attach("bench", host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
		asked <- time.Now()
		return map[string]any{"Which DB?": "Postgres"}, nil
	}), nil)
	env := askSocket(b, board, host.BridgeOptions{SessionID: "s"})
	var there, back sample
	roundTrips(b, startGrandchild(b, env, release(b), "mcp-operator-ask"), func(called, replied time.Time) {
		at := <-asked
		there, back = append(there, at.Sub(called)), append(back, replied.Sub(at))
	})
	b.ReportMetric(there.in(time.Microsecond, 50), "median-there-µs")
	b.ReportMetric(back.in(time.Microsecond, 50), "median-back-µs")
}

// roundTrips calls the tool of a server again and again, tells done of each call, and ends the server.
func roundTrips(b *testing.B, g *grandchild, done func(called, replied time.Time)) {
	b.Helper()
	g.exchange(b, initialize)
	var took sample
	for n := 3; b.Loop(); n++ {
		call := callOfTool(n, map[string][]string{"Which DB?": {"Postgres", "SQLite"}})
		called := time.Now()
		reply := g.exchange(b, call)
		replied := time.Now()
		if !strings.Contains(reply, "Postgres") {
			b.Fatal(reply)
		}
		took = append(took, replied.Sub(called))
		done(called, replied)
	}
	took.report(b, time.Microsecond, "µs")
	g.end(b)
}
