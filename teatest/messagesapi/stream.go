package messagesapi

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chunk is how many runes a delta carries at most, so that clients meet text
// and tool input in pieces, as the vendor's API sends them.
const chunk = 40

type apiMessage struct {
	ID           string     `json:"id"`
	Type         string     `json:"type"`
	Role         string     `json:"role"`
	Model        string     `json:"model"`
	Content      []apiBlock `json:"content"`
	StopReason   *string    `json:"stop_reason"`
	StopSequence *string    `json:"stop_sequence"`
	Usage        apiUsage   `json:"usage"`
}

type apiUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
}

type apiBlock struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// whole is what the block's deltas add up to.
func (b apiBlock) whole() string {
	if b.Text != nil {
		return *b.Text
	}
	return string(b.Input)
}

// message is the whole answer in the API's form. Ids count per server, so a
// test that gives none can still tell two calls apart.
func message(id int, model string, reply Reply) (apiMessage, error) {
	m := apiMessage{
		ID: fmt.Sprintf("msg_%d", id), Type: "message", Role: "assistant", Model: model,
		Usage: apiUsage{Input: 10, Output: 5},
	}
	stop := "end_turn"
	for i, b := range reply.Blocks {
		if b.Tool == nil {
			m.Content = append(m.Content, apiBlock{Type: "text", Text: &b.Text})
			continue
		}
		input, err := json.Marshal(b.Tool.Input)
		if err != nil {
			return apiMessage{}, fmt.Errorf("input of %s: %w", b.Tool.Name, err)
		}
		use := apiBlock{Type: "tool_use", ID: b.Tool.ID, Name: b.Tool.Name, Input: input}
		if use.ID == "" {
			use.ID = fmt.Sprintf("toolu_%d_%d", id, i)
		}
		m.Content = append(m.Content, use)
		stop = "tool_use"
	}
	m.StopReason = &stop
	return m, nil
}

// writeStream sends the message as the API's server-sent events.
func writeStream(w http.ResponseWriter, m apiMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	event := func(name string, data map[string]any) {
		data["type"] = name
		body, err := json.Marshal(data)
		if err != nil {
			panic(fmt.Sprintf("event %s: %v", name, err)) // only strings, numbers and raw JSON that message checked
		}
		// A failed write means that the client left, which is its right.
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, body)
		_ = control.Flush()
	}
	start, empty := m, ""
	start.Content, start.StopReason = []apiBlock{}, nil
	event("message_start", map[string]any{"message": start})
	for i, b := range m.Content {
		open, kind, field := b, "text_delta", "text"
		if b.Type == "tool_use" {
			open.Input, kind, field = json.RawMessage("{}"), "input_json_delta", "partial_json"
		} else {
			open.Text = &empty
		}
		event("content_block_start", map[string]any{"index": i, "content_block": open})
		for _, part := range pieces(b.whole(), chunk) {
			event("content_block_delta", map[string]any{"index": i, "delta": map[string]string{"type": kind, field: part}})
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil},
		"usage": m.Usage,
	})
	event("message_stop", map[string]any{})
}

// pieces cuts s between runes into parts of at most n runes.
func pieces(s string, n int) []string {
	var out []string
	start, count := 0, 0
	for i := range s {
		if count == n {
			out = append(out, s[start:i])
			start, count = i, 0
		}
		count++
	}
	return append(out, s[start:])
}

// errorType is the vendor's name for an HTTP status.
func errorType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}

func writeError(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]any{
		"type":       "error",
		"error":      map[string]string{"type": errorType(status), "message": text},
		"request_id": "req_scripted",
	})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A failed write means that the client left, which is its right.
	_ = json.NewEncoder(w).Encode(v)
}
