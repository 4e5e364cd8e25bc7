package teatest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

// grandchild is a running mcp-operator-ask.
type grandchild struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startGrandchild(b *testing.B, bin, socket string) *grandchild {
	b.Helper()
	cmd := exec.Command(bin, "mcp-operator-ask")
	cmd.Env = append(plainEnv(b), agent.EnvAskSocket+"="+socket)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return &grandchild{cmd: cmd, in: in, out: bufio.NewReader(out)}
}

func (g *grandchild) exchange(b *testing.B, line string) string {
	b.Helper()
	if _, err := io.WriteString(g.in, line); err != nil {
		b.Fatal(err)
	}
	reply, err := g.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return reply
}

func (g *grandchild) end(b *testing.B) {
	b.Helper()
	if err := g.in.Close(); err != nil {
		b.Fatal(err)
	}
	if err := g.cmd.Wait(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkGrandchildStart is from spawning mcp-operator-ask to its reply to initialize; rss-KiB is its peak.
func BenchmarkGrandchildStart(b *testing.B) {
	bin := release(b)
	peak := ""
	for b.Loop() {
		g := startGrandchild(b, bin, "")
		g.exchange(b, initialize)
		b.StopTimer()
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		peak = strings.Fields(rest)[0]
		g.end(b)
		b.StartTimer()
	}
	var kib float64
	if _, err := fmt.Sscan(peak, &kib); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(kib, "rss-KiB")
}

// BenchmarkAskRoundTrip is a tool call through grandchild, socket and switchboard to a surface that answers at
// once, and back. Beside it, on the same machine, the echo of a line over a bare socket.
func BenchmarkAskRoundTrip(b *testing.B) {
	b.Run("path=grandchild", func(b *testing.B) {
		dir, err := askbridge.NewDir(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		board := host.NewSwitchboard(host.SwitchboardOptions{})
		defer board.Declare(nil)()
		board.Attach("bench", host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
			return map[string]any{"Which DB?": "Postgres"}, nil
		}), nil)
		limits := askbridge.DefaultLimits()
		limits.PerMinute = 1 << 30
		bridge := host.NewBridge(host.BridgeOptions{Prompter: board, SessionID: "s"})
		listener, err := askbridge.Listen(dir, bridge, askbridge.ListenOptions{Limits: limits})
		if err != nil {
			b.Fatal(err)
		}
		g := startGrandchild(b, release(b), dir.Socket())
		g.exchange(b, initialize)
		call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask","arguments":` +
			string(askInput(map[string][]string{"Which DB?": {"Postgres", "SQLite"}})) + "}}\n"
		measure(b, func() {
			if reply := g.exchange(b, call); !strings.Contains(reply, "Postgres") {
				b.Fatal(reply)
			}
		})
		g.end(b)
		if err := listener.Close(); err != nil {
			b.Fatal(err)
		}
		if err := board.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
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
		measure(b, func() {
			if _, err := conn.Write([]byte("line\n")); err != nil {
				b.Fatal(err)
			}
			if _, err := in.ReadString('\n'); err != nil {
				b.Fatal(err)
			}
		})
		_ = conn.Close()
		_ = l.Close()
		<-done
	})
}

// measure reports the median and the 99th percentile beside the mean.
func measure(b *testing.B, do func()) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		do()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}
