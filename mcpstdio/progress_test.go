package mcpstdio_test

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"example.com/kitsoki/mcpstdio"
)

func withProgress(h *host, every time.Duration) serving {
	return func(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
		return mcpstdio.ServeWithProgress(ctx, h.dir.Socket(), every, stdin, stdout, io.Discard)
	}
}

// openclaw#85581: clients that cap a call wait longer while progress comes.
func TestT3ProgressWhileTheOperatorThinks(t *testing.T) {
	for _, token := range []string{`"tok<en>"`, `7`} {
		t.Run(token, func(t *testing.T) {
			h := newHost(t)
			c := start(t.Context(), t, withProgress(h, 20*time.Millisecond))
			c.initialize()
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"progressToken":%s},"arguments":%s}}`, token, simple)
			ask := receive(t, "the ask", h.asks)
			var want any
			_ = json.Unmarshal([]byte(token), &want)
			for n := 1; n <= 3; n++ {
				m := receive(t, "progress", c.lines)
				var p struct {
					ProgressToken any     `json:"progressToken"`
					Progress      float64 `json:"progress"`
				}
				if err := json.Unmarshal(m.Params, &p); err != nil || m.Method != "notifications/progress" || p.ProgressToken != want || p.Progress != float64(n) {
					t.Errorf("word %d is %s", n, m.raw)
				}
			}
			delivered := ask.answer(map[string]any{"Q?": "a"})
			for {
				m := receive(t, "the result", c.lines)
				if m.Method == "notifications/progress" {
					continue // was under way
				}
				if r := m.toolResult(t); r.IsError {
					t.Errorf("the call was answered %s", m.raw)
				}
				break
			}
			if !receive(t, "the word of delivery", delivered) {
				t.Error("not delivered")
			}
		})
	}
}

func TestNoProgressWithoutAToken(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, withProgress(h, time.Millisecond))
	c.initialize()
	c.call("1", simple)
	ask := receive(t, "the ask", h.asks)
	select {
	case m := <-c.lines:
		t.Errorf("unasked for: %s", m.raw)
	case <-time.After(50 * time.Millisecond):
	}
	ask.answer(map[string]any{"Q?": "a"})
	if m := receive(t, "the result", c.lines); m.Method != "" {
		t.Errorf("unasked for: %s", m.raw)
	}
}
