package teatest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	listTools  = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
)

// callOfTool is a call of the tool with single-select questions. MCP wants a new id for each.
func callOfTool(id int, questions map[string][]string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":%s}}`+"\n", id, askInput(questions))
}

// grandchild is a running MCP server, as an agent starts one.
type grandchild struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startGrandchild(b *testing.B, env []string, argv ...string) *grandchild {
	b.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
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

func (g *grandchild) exchange(b *testing.B, lines string) string {
	b.Helper()
	g.send(b, lines)
	return g.receive(b)
}

func (g *grandchild) send(b *testing.B, lines string) {
	b.Helper()
	if _, err := io.WriteString(g.in, lines); err != nil {
		b.Fatal(err)
	}
}

func (g *grandchild) receive(b *testing.B) string {
	b.Helper()
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

// memory is what of the process is in memory, now and at its peak, in KiB.
func (g *grandchild) memory(b *testing.B) (now, peak float64) {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range map[string]*float64{"VmRSS:": &now, "VmHWM:": &peak} {
		_, rest, _ := strings.Cut(string(status), name)
		if _, err := fmt.Sscan(rest, value); err != nil {
			b.Fatalf("%s in %s: %v", name, status, err)
		}
	}
	return now, peak
}

// askSocket serves the asks of a grandchild with a switchboard, and returns the grandchild's environment.
func askSocket(b *testing.B, board host.OperatorPrompter, bridge host.BridgeOptions) (env []string) {
	b.Helper()
	dir, err := askbridge.NewDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	limits := askbridge.DefaultLimits()
	limits.PerMinute = 1 << 30
	bridge.Prompter = board
	listener, err := askbridge.Listen(dir, host.NewBridge(bridge), askbridge.ListenOptions{Limits: limits})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := listener.Close(); err != nil {
			b.Error(err)
		}
	})
	return append(plainEnv(b), agent.EnvAskSocket+"="+dir.Socket())
}

// start is what it cost to bring a server up: time, and memory in KiB.
type start struct {
	took      sample
	now, peak float64
}

// BenchmarkGrandchildStart is from spawning an MCP server to its reply to tools/list: mcp-operator-ask, which tells
// the host of that before it replies, beside the least that is made of the same library and the least in node. The
// aim is 1.5 times the bare one at most, in time (x-bare, of the medians) and in memory (rss-x-bare).
func BenchmarkGrandchildStart(b *testing.B) {
	bare := &start{}
	b.Run("server=bare", func(b *testing.B) { *bare = start{}; bare.run(b, nil, plainEnv(b), build(b, "./testdata/baremcp")) })
	b.Run("server=kitsoki", func(b *testing.B) {
		board := closed(b, host.NewSwitchboard(host.SwitchboardOptions{}))
		told := 0
		env := askSocket(b, board, host.BridgeOptions{ToolsListed: func(askbridge.ToolsListed) { told++ }})
		(&start{}).run(b, bare, env, release(b), "mcp-operator-ask")
		if told == 0 {
			b.Error("the host was never told that the tools were listed")
		}
	})
	node, err := exec.LookPath("node")
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s/server=node is left out: %v\n", b.Name(), err) // the reason of a skip is not printed
		return
	}
	b.Run("server=node", func(b *testing.B) { (&start{}).run(b, bare, plainEnv(b), node, "testdata/baremcp.js") })
}

func (s *start) run(b *testing.B, bare *start, env []string, argv ...string) {
	b.Helper()
	for b.Loop() {
		var g *grandchild
		s.took.measure(func() {
			g = startGrandchild(b, env, argv...)
			g.exchange(b, initialize)
			if reply := g.exchange(b, listTools); !strings.Contains(reply, `"ask"`) {
				b.Fatal(reply)
			}
		})
		b.StopTimer()
		now, peak := g.memory(b)
		s.now, s.peak = max(s.now, now), max(s.peak, peak)
		g.end(b)
		b.StartTimer()
	}
	s.took.report(b, time.Millisecond, "ms")
	b.ReportMetric(s.now, "rss-KiB")
	b.ReportMetric(s.peak, "peak-rss-KiB")
	if bare != nil && len(bare.took) > 0 {
		b.ReportMetric(s.took.in(time.Millisecond, 50)/bare.took.in(time.Millisecond, 50), "x-bare")
		b.ReportMetric(s.peak/bare.peak, "rss-x-bare")
	}
}

// closed closes a switchboard at the end of a benchmark.
func closed(b *testing.B, board *host.Switchboard) *host.Switchboard {
	b.Helper()
	b.Cleanup(func() {
		if err := board.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return board
}
