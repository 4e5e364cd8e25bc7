package messagesapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"example.com/kitsoki/teatest/messagesapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prompt is a request of the conversation: it asks for thinking, as the CLI
// does in its loop.
func prompt(text string, tools ...string) map[string]any {
	return body(tools, map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "<system-reminder>\nnoise\n</system-reminder>"},
		map[string]any{"type": "text", "text": text + "\n"},
	}})
}

func body(tools []string, messages ...map[string]any) map[string]any {
	offered := []any{}
	for _, name := range tools {
		offered = append(offered, map[string]any{"name": name})
	}
	// What the CLI appends to a conversation it also sends as role system.
	messages = append(messages, map[string]any{"role": "system", "content": "more context"})
	return map[string]any{
		"model": "some-model", "stream": true, "thinking": map[string]any{"type": "adaptive"},
		"tools": offered, "messages": messages,
		"system": []any{map[string]any{"type": "text", "text": "header"}, map[string]any{"type": "text", "text": "You are an agent."}},
	}
}

func toolResult(id string, content any, isError bool) map[string]any {
	return map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "tool_result", "tool_use_id": id, "content": content, "is_error": isError},
	}}
}

func request(t testing.TB, method, url string, v any) *http.Request {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", messagesapi.FakeKey)
	return req
}

func do(t testing.TB, req *http.Request) (status int, text string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func post(t testing.TB, s *messagesapi.Server, v any) (status int, text string) {
	t.Helper()
	return do(t, request(t, http.MethodPost, s.URL()+"/v1/messages?beta=true", v))
}

// streamed is what a client makes of the events.
type streamed struct {
	Model, StopReason string
	Texts             []string
	Tools             []called
	Events            []string
	Deltas            int
}

type called struct{ ID, Name, Input string }

// say posts and reads the stream.
func say(t testing.TB, s *messagesapi.Server, v any) streamed {
	t.Helper()
	status, text := post(t, s, v)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	var out streamed
	var parts []*strings.Builder
	var isTool []bool
	scan := bufio.NewScanner(strings.NewReader(text))
	for scan.Scan() {
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type    string
			Index   int
			Message struct{ Model string }
			Block   struct{ Type, ID, Name string } `json:"content_block"`
			Delta   struct {
				Text       string
				Partial    string `json:"partial_json"`
				StopReason string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("event %s: %v", data, err)
		}
		out.Events = append(out.Events, e.Type)
		switch e.Type {
		case "message_start":
			out.Model = e.Message.Model
		case "content_block_start":
			parts, isTool = append(parts, &strings.Builder{}), append(isTool, e.Block.Type == "tool_use")
			if e.Block.Type == "tool_use" {
				out.Tools = append(out.Tools, called{ID: e.Block.ID, Name: e.Block.Name})
			}
		case "content_block_delta":
			out.Deltas++
			parts[e.Index].WriteString(e.Delta.Text + e.Delta.Partial)
		case "message_delta":
			out.StopReason = e.Delta.StopReason
		}
	}
	tool := 0
	for i, p := range parts {
		if isTool[i] {
			out.Tools[tool].Input = p.String()
			tool++
		} else {
			out.Texts = append(out.Texts, p.String())
		}
	}
	return out
}

// recorder is a test whose failures are looked at, and whose cleanups run when
// asked.
type recorder struct {
	testing.TB

	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) end() []string {
	for _, f := range r.cleanups {
		f()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures
}
