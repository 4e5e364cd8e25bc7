package agent

import (
	"reflect"
	"strings"
	"testing"
)

func decodeAll(lines ...string) []StreamEvent {
	d := &decoder{}
	var out []StreamEvent
	for _, l := range lines {
		out = append(out, d.decode([]byte(l))...)
	}
	return out
}

func TestStreamSaysWhatHappens(t *testing.T) {
	got := decodeAll(
		`{"type":"system","subtype":"init","cwd":"/w","session_id":"c1","tools":["Bash","mcp__operator__ask"],"mcp_servers":[{"name":"operator","status":"connected"}],"model":"m"}`,
		`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_0","content":[]}},"session_id":"c1","parent_tool_use_id":null}`,
		`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I will"}},"parent_tool_use_id":null}`,
		`{"type":"assistant","message":{"id":"msg_0","content":[{"type":"text","text":"I will look."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"parent_tool_use_id":null}`,
		`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":[{"type":"text","text":"a"},{"type":"image"}],"is_error":true}]},"parent_tool_use_id":"p1"}`,
		`{"type":"system","subtype":"api_retry","attempt":2,"error_status":529,"error":"overloaded"}`,
		`{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"c1","total_cost_usd":0.5,"num_turns":2,"usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5,"cache_creation_input_tokens":6},"terminal_reason":"completed","permission_denials":[{"tool_use_id":"t9"}]}`,
	)
	want := []StreamEvent{
		Init{Conversation: "c1", Model: "m", Dir: "/w", Tools: []string{"Bash", "mcp__operator__ask"}, Servers: map[string]string{"operator": "connected"}},
		Unknown{Type: "stream_event", Raw: []byte(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_0","content":[]}},"session_id":"c1","parent_tool_use_id":null}`)},
		TextDelta{MessageID: "msg_0", Text: "I will"},
		Text{MessageID: "msg_0", Text: "I will look."},
		ToolUse{ID: "t1", MessageID: "msg_0", Name: "Bash", Input: []byte(`{"command":"ls"}`)},
		ToolResult{Parent: "p1", ID: "t1", Text: "a\n[image]", IsError: true},
		Retry{Attempt: 2, Status: 529, Error: "overloaded"},
		Ended{
			Result:  Result{Text: "Done.", Conversation: "c1", CostUSD: 0.5, Turns: 2, Denials: 1, Usage: Usage{Input: 3, Output: 4, CacheRead: 5, CacheWrite: 6}},
			Subtype: "success", Terminal: "completed", Denied: []string{"t9"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got\n%#v\nwant\n%#v", got, want)
	}
}

func TestStreamKeepsWhatItDoesNotKnow(t *testing.T) {
	for _, line := range []string{
		`{"type":"hologram","subtype":"x","n":1}`, `{"type":"assistant","message":"text"}`, `{"type":"result","result":7}`, `{"x":1}`,
		`{"type":"user","message":{"content":"plain"}}`,
	} {
		got := decodeAll(line)
		if len(got) != 1 {
			t.Fatalf("%s became %#v", line, got)
		}
		if u, ok := got[0].(Unknown); !ok || string(u.Raw) != line {
			t.Errorf("%s became %#v", line, got[0])
		}
	}
	for _, line := range []string{"oops", `{"type":`, `[1]`, "\x1b[2J"} {
		if got := decodeAll(line); len(got) != 1 || got[0] != (Garbled{Line: line}) {
			t.Errorf("%q became %#v", line, got)
		}
	}
	if got := decodeAll("", "  ", "\r"); got != nil {
		t.Errorf("blank lines became %#v", got)
	}
}

// Lines come in pieces of any size and can be of any length.
func TestLinesOfAnyLengthInAnyPieces(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	text := "one\n\n" + long + "\nlast without newline"
	for _, piece := range []int{1 << 30, 1 << 16, 4099, 7} {
		if piece == 7 {
			text = "one\n\nshort\nlast without newline"
		}
		var got []string
		w := &lineWriter{line: func(l []byte) { got = append(got, string(l)) }}
		for rest := text; rest != ""; {
			n := min(piece, len(rest))
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		w.flush()
		if !reflect.DeepEqual(got, strings.Split(text, "\n")) {
			t.Errorf("pieces of %d: %d lines", piece, len(got))
		}
	}
}

func TestAnEndlessLineIsLeftOutAndTheStreamGoesOn(t *testing.T) {
	var got []string
	w := &lineWriter{line: func(l []byte) { got = append(got, string(l)) }}
	block := []byte(strings.Repeat("x", 1<<20))
	for range maxLine>>20 + 2 {
		_, _ = w.Write(block)
	}
	_, _ = w.Write([]byte("\nnext\n"))
	if len(got) != 2 || !strings.Contains(got[0], "was left out") || got[1] != "next" {
		t.Fatalf("got %d lines", len(got))
	}
}

func TestTailKeepsTheLastWords(t *testing.T) {
	var w tail
	_, _ = w.Write([]byte(strings.Repeat("noise\n", 5000)))
	_, _ = w.Write([]byte("error: no such model\n\n"))
	if got := w.lastLine(); got != "error: no such model" || len(w.buf) > tailBytes {
		t.Fatalf("%q, %d bytes", got, len(w.buf))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}]}}`))
	f.Add([]byte(`{"type":"stream_event","event":{"type":"content_block_delta"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		d := &decoder{}
		if len(strings.TrimSpace(string(line))) > 0 && len(d.decode(line)) == 0 {
			t.Fatal("a line was lost")
		}
	})
}
