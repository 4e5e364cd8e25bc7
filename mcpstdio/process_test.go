package mcpstdio_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// spawn starts the server as a process of its own.
func spawn(t *testing.T, socket string) (c *rpc, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+socket)
	cmd.WaitDelay = soon
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c = &rpc{t: t, stdin: stdin, lines: make(chan message, 256), served: make(chan error, 1)}
	go func() {
		c.read(bufio.NewReader(stdout))
		c.served <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		for range c.lines {
		}
	})
	return c, cmd
}

func TestAsAProcess(t *testing.T) {
	h := newHost(t)
	began := time.Now()
	c, _ := spawn(t, h.dir.Socket())
	c.initialize()
	t.Logf("from the start to the handshake: %v", time.Since(began))
	c.call("1", simple)
	delivered := receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
	if r := receive(t, "the result", c.lines).toolResult(t); r.Content[0].Text != `{"answers":{"Q?":"a"}}` {
		t.Errorf("the call was answered %+v", r)
	}
	if !receive(t, "the word of delivery", delivered) {
		t.Error("not delivered")
	}
	c.call("2", simple)
	ask := receive(t, "the next ask", h.asks)
	_ = c.stdin.Close()
	wantCause(t, ask, askbridge.ErrAskerGone)
	if err := receive(t, "the end of the process", c.served); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}

// gentle-pi#1162
func TestT7AKilledProcessWithdrawsItsAsk(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		h := newHost(t)
		c, cmd := spawn(t, h.dir.Socket())
		c.initialize()
		c.call("1", simple)
		ask := receive(t, "the ask", h.asks)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		wantCause(t, ask, askbridge.ErrAskerGone)
		if err := receive(t, "the end of the process", c.served); err == nil || !strings.Contains(err.Error(), "signal") {
			t.Errorf("%v: the process ended with %v", signal, err)
		}
	}
}
