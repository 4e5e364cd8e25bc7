package mcpstdio_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/mcpstdio"
)

// gatedHost is a host with a gate whose decisions are functions of the call.
type gatedHost struct {
	*host

	decide func(*askbridge.PermissionCall) askbridge.Decision
}

func (h *gatedHost) Permission(_ context.Context, c *askbridge.PermissionCall) askbridge.Decision {
	_ = c.Deadline(time.Now().Add(time.Hour))
	return h.decide(c)
}

func (h *gatedHost) Run(context.Context, askbridge.RunCall) (int, error) { return 0, nil }

// deciding is a client of a server with the permission tool.
func deciding(t *testing.T, decide func(*askbridge.PermissionCall) askbridge.Decision) (*rpc, *gatedHost) {
	t.Helper()
	h := &gatedHost{host: newHost(t), decide: decide}
	if err := h.listener.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if h.listener, err = askbridge.Listen(h.dir, h, askbridge.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	c := start(t.Context(), t, serveGate(h.dir.Socket(), false))
	c.initialize()
	return c, h
}

func serveGate(socket string, alone bool) serving {
	return func(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
		return mcpstdio.Serve(ctx, mcpstdio.Options{Socket: socket, Gate: true, Alone: alone, Version: "test"}, stdin, stdout, io.Discard)
	}
}

// decision is what claude reads of a permission.
type decision struct {
	Behavior     string          `json:"behavior"`
	Message      string          `json:"message"`
	UpdatedInput json.RawMessage `json:"updatedInput"`
}

func (c *rpc) permit(arguments string) decision {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"permit","arguments":%s}}`, arguments)
	var d decision
	m := receive(c.t, "the decision", c.lines)
	r := m.toolResult(c.t)
	if err := json.Unmarshal([]byte(r.Content[0].Text), &d); err != nil || r.IsError || r.Structured != nil {
		c.t.Fatalf("the decision is %s", m.raw)
	}
	return d
}

// The agent's program has its call decided, and gets all of what it may do: its own input, or another one.
func TestPermit(t *testing.T) {
	const input = `{"command":"echo \"<é>\"","n":1.50,"nested":{"a":[1,2]}}`
	answer := askbridge.Decision{Allow: true}
	c, _ := deciding(t, func(call *askbridge.PermissionCall) askbridge.Decision {
		if call.Tool != "Bash" || call.ToolUseID != "toolu_1" || string(call.Input) != input || call.ID == "" {
			t.Errorf("the host was asked for %+v, %s", call, call.Input)
		}
		return answer
	})
	arguments := `{"tool_name":"Bash","input":` + input + `,"tool_use_id":"toolu_1"}`
	if d := c.permit(arguments); d.Behavior != "allow" || string(d.UpdatedInput) != input {
		t.Errorf("%+v, %s", d, d.UpdatedInput)
	}
	answer.Input = json.RawMessage(`{"command":"other"}`)
	if d := c.permit(arguments); d.Behavior != "allow" || string(d.UpdatedInput) != `{"command":"other"}` {
		t.Errorf("%+v, %s", d, d.UpdatedInput)
	}
	answer = askbridge.Decision{Message: "denied: no <b>way</b>", Input: json.RawMessage(`{}`)}
	if d := c.permit(arguments); d.Behavior != "deny" || d.Message != answer.Message || d.UpdatedInput != nil {
		t.Errorf("%+v", d)
	}
	answer = askbridge.Decision{}
	if d := c.permit(arguments); d.Behavior != "deny" || d.Message == "" {
		t.Errorf("without a word: %+v", d)
	}
}

// Whatever goes wrong is a denial in words, and never a failed call: its words are for the model.
func TestPermitFailsClosed(t *testing.T) {
	asked := 0
	c, h := deciding(t, func(*askbridge.PermissionCall) askbridge.Decision { asked++; return askbridge.Decision{Allow: true} })
	for _, arguments := range []string{
		`{}`, `[]`, `null`, `"x"`, `{"tool_name":7,"input":{}}`, `{"input":{}}`, `{"tool_name":"Bash"}`, `{"tool_name":"","input":{}}`,
		`{"tool_name":"Bash","input":{"a":"` + strings.Repeat("a", 1<<20) + `"}}`,
	} {
		if d := c.permit(arguments); d.Behavior != "deny" || !strings.Contains(d.Message, "denied") {
			t.Errorf("%.60s: %+v", arguments, d)
		}
	}
	if asked != 0 {
		t.Errorf("the gate was asked %d times", asked)
	}
	if err := h.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if d := c.permit(`{"tool_name":"Bash","input":{}}`); d.Behavior != "deny" || !strings.Contains(d.Message, "socket") {
		t.Errorf("with the host gone: %+v", d)
	}
	lost := start(t.Context(), t, serveGate("", false))
	lost.initialize()
	if d := lost.permit(`{"tool_name":"Bash","input":{}}`); d.Behavior != "deny" || !strings.Contains(d.Message, "no operator takes part") {
		t.Errorf("without a host: %+v", d)
	}
}

// The tool is there where there is a gate, and the tool to ask with where somebody can be asked.
func TestWhichToolsThereAre(t *testing.T) {
	h := newHost(t)
	for want, run := range map[string]serving{
		"ask": serve(h.dir.Socket()), "ask,permit": serveGate(h.dir.Socket(), false), "permit": serveGate(h.dir.Socket(), true),
	} {
		c := start(t.Context(), t, run)
		c.initialize()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		m := receive(t, "the list", c.lines)
		var list struct{ Tools []struct{ Name string } }
		if err := json.Unmarshal(m.Result, &list); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if told := receive(t, "the word of the list", h.listed); strings.Join(names, ",") != want || strings.Join(told.Tools, ",") != want {
			t.Errorf("listed are %v, told was %v, want %s", names, told.Tools, want)
		}
		missing := map[bool]string{true: "ask", false: "permit"}[want == "permit"]
		if !strings.Contains(want, missing) {
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, missing)
			if m := receive(t, "the refusal", c.lines); m.Error == nil {
				t.Errorf("%s could be called: %s", missing, m.raw)
			}
		}
	}
}

// A client that cancels a permission, and one that goes away, take it back.
func TestPermitIsTakenBack(t *testing.T) {
	causes := make(chan error, 1)
	waits := make(chan struct{})
	h := newHost(t)
	_ = h.listener.Close()
	l, err := askbridge.Listen(h.dir, &takingBack{host: h, waits: waits, causes: causes}, askbridge.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for _, end := range []func(*rpc){
		func(c *rpc) {
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"gone"}}`)
		},
		func(c *rpc) { _ = c.stdin.Close() },
	} {
		c := start(t.Context(), t, serveGate(h.dir.Socket(), false))
		c.initialize()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"permit","arguments":{"tool_name":"Bash","input":{}}}}`)
		receive(t, "the permission", waits)
		end(c)
		if err := receive(t, "its end", causes); err == nil {
			t.Error("it ended without a cause")
		}
	}
}

type takingBack struct {
	*host

	waits  chan struct{}
	causes chan error
}

func (h *takingBack) Permission(ctx context.Context, _ *askbridge.PermissionCall) askbridge.Decision {
	h.waits <- struct{}{}
	<-ctx.Done()
	h.causes <- context.Cause(ctx)
	return askbridge.Decision{Allow: true}
}

func (h *takingBack) Run(context.Context, askbridge.RunCall) (int, error) { return 0, nil }
