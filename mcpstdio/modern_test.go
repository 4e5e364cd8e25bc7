package mcpstdio_test

import (
	"fmt"
	"strings"
	"testing"
)

// modern are the members with which a client of the stateless era introduces itself in each request.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"modern","version":"9"},"io.modelcontextprotocol/clientCapabilities":{}%s}`

func meta(more string) string { return fmt.Sprintf(modern, more) }

// The newest Claude Code makes no handshake at all.
func TestAClientWithoutAHandshake(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, meta(""))
	if m := receive(t, "the discovery", c.lines); !strings.Contains(string(m.Result), "2026-07-28") {
		t.Fatalf("the discovery was answered %s", m.raw)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{%s}}`, meta(""))
	if m := receive(t, "the list", c.lines); !strings.Contains(string(m.Result), `"name":"ask"`) || strings.Contains(string(m.Result), "outputSchema") {
		t.Errorf("the list is %s", m.raw)
	}
	if info := receive(t, "the word of the list", h.listed); info.Client != "modern 9" {
		t.Errorf("the host was told %+v", info)
	}
	c.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"ask","arguments":%s,%s}}`, simple, meta(`,"claudecode/toolUseId":"toolu_3"`))
	ask := receive(t, "the ask", h.asks)
	if ask.ToolUseID != "toolu_3" {
		t.Errorf("the host got the id %q", ask.ToolUseID)
	}
	delivered := ask.answer(map[string]any{"Q?": "a"})
	m := receive(t, "the result", c.lines)
	if r := m.toolResult(t); r.IsError || r.Content[0].Text != `{"answers":{"Q?":"a"}}` || string(r.Structured) != r.Content[0].Text {
		t.Errorf("the call was answered %s", m.raw)
	}
	if !receive(t, "the word of delivery", delivered) {
		t.Error("not delivered")
	}
}

// It probes for the newer era first and may then make the handshake of the older one.
func TestAProbeThenAHandshake(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{%s}}`, meta(""))
	receive(t, "the discovery", c.lines)
	c.initialize()
	c.call("2", simple)
	receive(t, "the ask", h.asks).answer(map[string]any{"Q?": "a"})
	if m := receive(t, "the result", c.lines); m.toolResult(t).IsError {
		t.Errorf("the call was answered %s", m.raw)
	}
}
