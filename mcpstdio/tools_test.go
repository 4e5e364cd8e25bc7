package mcpstdio_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// connect connects mcp-go's own client to a server in this process, through the handshake.
func connect(t *testing.T, run serving) *client.Client {
	t.Helper()
	server, out := pipes(t.Context(), t, run)
	c := client.NewClient(transport.NewIO(out, server.stdin, io.NopCloser(strings.NewReader(""))))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = receive(t, "the end of the server", server.served)
	})
	var init mcp.InitializeRequest
	init.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	init.Params.ClientInfo = mcp.Implementation{Name: "go client", Version: "3"}
	if _, err := c.Initialize(t.Context(), init); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheToolAsClientsSeeIt(t *testing.T) {
	h := newHost(t)
	c := connect(t, serve(h.dir.Socket()))
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != 1 {
		t.Fatalf("listed %+v, %v", list, err)
	}
	tool := list.Tools[0]
	if tool.Name != "ask" || tool.Annotations.ReadOnlyHint == nil || !*tool.Annotations.ReadOnlyHint {
		t.Errorf("the tool is %q, %+v; want ask, read-only", tool.Name, tool.Annotations)
	}
	if n := utf8.RuneCountInString(tool.Description); n < 200 || n >= 2048 {
		t.Errorf("the description has %d characters", n)
	}
	for _, outcome := range []string{"declined", "timed_out", "cancelled", "no_operator", "host_closing", "invalid"} {
		if !strings.Contains(tool.Description, outcome) {
			t.Errorf("the description does not name the outcome %s", outcome)
		}
	}
	if info := receive(t, "the word of the list", h.listed); info.Client != "go client 3" || len(info.Tools) != 1 || info.Tools[0] != "ask" {
		t.Errorf("the host was told %+v", info)
	}
}

// Strict clients drop a tool, or fail, over a schema with references, unions or null in it; and clients that get
// an output schema read and check the structured result alone.
func TestTheSchemaIsPlain(t *testing.T) {
	h := newHost(t)
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	m := receive(t, "the list", c.lines)
	var list struct {
		Tools []struct {
			InputSchema  json.RawMessage `json:"inputSchema"`
			OutputSchema json.RawMessage `json:"outputSchema"`
			Annotations  map[string]any  `json:"annotations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(m.Result, &list); err != nil || len(list.Tools) != 1 {
		t.Fatalf("listed %s", m.raw)
	}
	tool := list.Tools[0]
	if tool.OutputSchema != nil {
		t.Errorf("it has an output schema: %s", tool.OutputSchema)
	}
	for _, word := range []string{"$ref", "$defs", "oneOf", "anyOf", "allOf", "null", "not\":", "const", "additionalProperties"} {
		if strings.Contains(string(tool.InputSchema), word) {
			t.Errorf("the schema has %s in it", word)
		}
	}
	var schema map[string]any
	if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	checkSchema(t, "arguments", schema)
	question := dig(schema, "properties", "questions", "items", "properties")
	option := dig(question, "options", "items", "properties")
	for name, in := range map[string]map[string]any{"question": question, "header": question, "options": question, "multiSelect": question, "label": option, "description": option, "preview": option} {
		if in[name] == nil {
			t.Errorf("the schema leaves out %s", name)
		}
	}
}

// checkSchema wants one type, as a string, at every node.
func checkSchema(t *testing.T, path string, node map[string]any) {
	t.Helper()
	kind, ok := node["type"].(string)
	if !ok {
		t.Errorf("%s has the type %v", path, node["type"])
	}
	if kind == "array" {
		checkSchema(t, path+"[]", dig(node, "items"))
	}
	properties, _ := node["properties"].(map[string]any)
	for name := range properties {
		checkSchema(t, path+"."+name, dig(properties, name))
	}
}

func dig(node map[string]any, path ...string) map[string]any {
	for _, name := range path {
		node, _ = node[name].(map[string]any)
	}
	return node
}

// The proof that the agent has the tool must not come after what the agent does with it.
func TestTheHostKnowsOfTheListBeforeTheClient(t *testing.T) {
	h := newHost(t)
	h.hold = make(chan struct{})
	c := start(t.Context(), t, serve(h.dir.Socket()))
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	receive(t, "the word of the list", h.listed)
	c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if m := receive(t, "the ping", c.lines); string(m.ID) != "2" {
		t.Errorf("before the host acknowledged, the client got %s", m.raw)
	}
	close(h.hold)
	if m := receive(t, "the list", c.lines); string(m.ID) != "1" || m.Result == nil {
		t.Errorf("the client got %s", m.raw)
	}
}

func TestTheListWithoutAHost(t *testing.T) {
	h := newHost(t)
	for name, run := range map[string]serving{"no socket": serve(""), "a socket that is gone": serve("/nowhere/ask.sock"), "a host that is gone": serve(h.dir.Socket())} {
		t.Run(name, func(t *testing.T) {
			c := start(t.Context(), t, run)
			_ = h.listener.Close()
			c.initialize()
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if m := receive(t, "the list", c.lines); !strings.Contains(string(m.Result), `"name":"ask"`) {
				t.Errorf("the client got %s", m.raw)
			}
		})
	}
}
