package messagesapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// Kind says who in the CLI made a request.
type Kind int

const (
	// Conversation is the agent's own loop.
	Conversation Kind = iota
	// SubAgent is the loop of an agent that the agent started.
	SubAgent
	// Side is a request beside any loop: a title, a search, a summary.
	Side
)

// String is the kind in words, for failures.
func (k Kind) String() string {
	return [...]string{"conversation", "sub-agent", "side"}[k]
}

// Request is one POST /v1/messages as it came.
type Request struct {
	// N counts from 1 among the requests of its list (Requests or
	// SideRequests).
	N int
	// Kind says who made it.
	Kind Kind
	// Header is the HTTP header.
	Header http.Header
	// Body is the JSON as it came.
	Body []byte
	// Model is the model asked for.
	Model string
	// Stream says that the client wants server-sent events.
	Stream bool
	// Tools are the names of the tools offered, in order.
	Tools []string
	// System is the text of the system prompt, blocks joined by newlines.
	// Text that the CLI adds later stands in Messages with role system.
	System string
	// Messages are the conversation so far.
	Messages []Message
}

// Message is one message of the conversation. Role is user, assistant or
// system.
type Message struct {
	Role    string
	Content []Content
}

// Content is one block of a message. Type says which fields are set.
type Content struct {
	Type string
	// Text is the text of a text block, or of a tool result.
	Text string
	// ID is the id of a tool_use, or the one that a tool_result belongs to.
	ID string
	// Name and Input belong to a tool_use.
	Name  string
	Input json.RawMessage
	// IsError belongs to a tool_result.
	IsError bool
}

// ToolResult is what a tool gave the model.
type ToolResult struct {
	Text    string
	IsError bool
}

// ToolResults maps the tool_use ids to the results that the request carries,
// those of earlier turns included.
func (r Request) ToolResults() map[string]ToolResult {
	out := map[string]ToolResult{}
	for _, m := range r.Messages {
		maps.Copy(out, m.results())
	}
	return out
}

// Prompt is the text that the person typed last: the last message of the user
// that has text of its own, without the reminders that the CLI puts around it.
func (r Request) Prompt() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "user" {
			continue
		}
		var parts []string
		for _, c := range r.Messages[i].Content {
			if c.Type == "text" && !strings.HasPrefix(strings.TrimSpace(c.Text), "<system-reminder>") {
				parts = append(parts, c.Text)
			}
		}
		if len(parts) > 0 {
			return strings.TrimSpace(strings.Join(parts, "\n"))
		}
	}
	return ""
}

// lastUser is the last message of the user. It need not be the last message:
// the CLI appends messages of role system.
func (r Request) lastUser() Message {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i]
		}
	}
	return Message{}
}

func (m Message) results() map[string]ToolResult {
	out := map[string]ToolResult{}
	for _, c := range m.Content {
		if c.Type == "tool_result" {
			out[c.ID] = ToolResult{Text: c.Text, IsError: c.IsError}
		}
	}
	return out
}

// wireRequest is the part of the API's request that tests look at.
type wireRequest struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Tools  []struct {
		Name string `json:"name"`
	} `json:"tools"`
	System   json.RawMessage `json:"system"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Thinking          json.RawMessage `json:"thinking"`
	ContextManagement json.RawMessage `json:"context_management"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
}

func decodeRequest(header http.Header, body []byte) (Request, error) {
	var w wireRequest
	if err := json.Unmarshal(body, &w); err != nil {
		return Request{}, fmt.Errorf("request body: %w", err)
	}
	r := Request{Header: header, Body: body, Model: w.Model, Stream: w.Stream}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	system, err := blocks(w.System)
	if err != nil {
		return Request{}, fmt.Errorf("system: %w", err)
	}
	r.System = joinText(system)
	for i, m := range w.Messages {
		content, err := blocks(m.Content)
		if err != nil {
			return Request{}, fmt.Errorf("messages[%d]: %w", i, err)
		}
		r.Messages = append(r.Messages, Message{Role: m.Role, Content: content})
	}
	r.Kind = kindOf(w, r.System)
	return r, nil
}

// kindOf tells the loops from the requests beside them. Seen with Claude Code
// 2.1.332: a sub-agent's billing header says so; both loops ask for thinking
// and context management where the model has them; a title offers no tools,
// and a web search forces its one tool.
func kindOf(w wireRequest, system string) Kind {
	loop := len(w.Thinking) > 0 || len(w.ContextManagement) > 0
	switch {
	case strings.Contains(system, "cc_is_subagent=true"):
		return SubAgent
	case !loop && (len(w.Tools) == 0 || len(w.ToolChoice) > 0):
		return Side
	}
	return Conversation
}

// blocks decodes content, which is a string or a list of blocks.
func blocks(raw json.RawMessage) ([]Content, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, err
		}
		return []Content{{Type: "text", Text: s}}, nil
	}
	var list []wireBlock
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	out := make([]Content, 0, len(list))
	for _, b := range list {
		c := Content{Type: b.Type, Text: b.Text, ID: b.ID, Name: b.Name, Input: b.Input, IsError: b.IsError}
		if b.Type == "tool_result" {
			inner, err := blocks(b.Content)
			if err != nil {
				return nil, fmt.Errorf("result of %s: %w", b.ToolUseID, err)
			}
			c.ID, c.Text = b.ToolUseID, joinText(inner)
		}
		out = append(out, c)
	}
	return out, nil
}

func joinText(cs []Content) string {
	var parts []string
	for _, c := range cs {
		if c.Type == "text" {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "\n")
}
