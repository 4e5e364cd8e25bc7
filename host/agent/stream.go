package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// StreamEvent is one thing that an agent's stream says. A line can say several, in order.
type StreamEvent interface{ streamEvent() }

type (
	// Init opens a run.
	Init struct {
		Conversation, Model, Dir string
		Tools                    []string
		Servers                  map[string]string // MCP server name to status: connected, failed, pending …
	}
	// TextDelta is a piece of a message that is being written.
	TextDelta struct{ Parent, MessageID, Text string }
	// Text is a whole block of a message; it repeats what deltas said of it.
	Text struct{ Parent, MessageID, Text string }
	// ToolUse is a call of a tool. Parent is the id of the call that started the sub-agent, empty for the agent itself.
	ToolUse struct {
		Parent, ID, Name string
		Input            json.RawMessage
		MessageID        string
	}
	// ToolResult is what a call of a tool came back with.
	ToolResult struct {
		Parent, ID, Text string
		IsError          bool
	}
	// Retry says that the agent's API failed and is tried again.
	Retry struct {
		Attempt int
		Status  int
		Error   string
	}
	// Ended is a result event. A run can have more than one, when sub-agents work in the background.
	Ended struct {
		Result
		IsError  bool
		Subtype  string
		Terminal string // terminal_reason
		Errors   []string
		Denied   []string // the calls, by id, that Denials counts
		OwnCost  bool     // CostUSD counts since the result before; else since the start of the run
	}
	// Unknown is any other line, kept as it came.
	Unknown struct {
		Type, Subtype string
		Raw           json.RawMessage
	}
	// Garbled is a line that is no JSON object.
	Garbled struct{ Line string }
)

func (Init) streamEvent()       {}
func (TextDelta) streamEvent()  {}
func (Text) streamEvent()       {}
func (ToolUse) streamEvent()    {}
func (ToolResult) streamEvent() {}
func (Retry) streamEvent()      {}
func (Ended) streamEvent()      {}
func (Unknown) streamEvent()    {}
func (Garbled) streamEvent()    {}

// parentOf returns the call that started the sub-agent which an event comes from.
func parentOf(e StreamEvent) string {
	switch ev := e.(type) {
	case TextDelta:
		return ev.Parent
	case Text:
		return ev.Parent
	case ToolUse:
		return ev.Parent
	case ToolResult:
		return ev.Parent
	}
	return ""
}

// modelEvent reports whether an event shows that the model was called, with the tools that were there by then.
func modelEvent(e StreamEvent) bool {
	switch e.(type) {
	case TextDelta, Text, ToolUse:
		return true
	}
	return false
}

type wireLine struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	SessionID string          `json:"session_id"`
	Parent    string          `json:"parent_tool_use_id"`
	Message   json.RawMessage `json:"message"`
	Event     json.RawMessage `json:"event"`

	Model      string                          `json:"model"`
	Dir        string                          `json:"cwd"`
	Tools      []string                        `json:"tools"`
	MCPServers []struct{ Name, Status string } `json:"mcp_servers"`

	Attempt     int    `json:"attempt"`
	ErrorStatus int    `json:"error_status"`
	Error       string `json:"error"`

	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Terminal   string          `json:"terminal_reason"`
	Errors     []string        `json:"errors"`
	CostUSD    float64         `json:"total_cost_usd"`
	Usage      Usage           `json:"usage"`
	Turns      int             `json:"num_turns"`
	Denials    []wireDenial    `json:"permission_denials"`
	Structured json.RawMessage `json:"structured_output"`

	ModelUsage map[string]struct{ CostUSD float64 } `json:"model_usage_since_last_result"`
}

type wireDenial struct {
	ToolUseID string `json:"tool_use_id"`
}

type wireMessage struct {
	ID      string          `json:"id"`
	Content json.RawMessage `json:"content"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// decoder reads the lines of one stream. It remembers which message is being written, because deltas name it
// only at their start; sub-agents write theirs at the same time, hence one a parent.
type decoder struct{ writing map[string]string }

// decode reads one line. It never fails: what it does not know it keeps.
func (d *decoder) decode(line []byte) []StreamEvent {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	var w wireLine
	if line[0] != '{' || json.Unmarshal(line, &w) != nil {
		var loose struct{ Type, Subtype string }
		if line[0] == '{' && json.Unmarshal(line, &loose) == nil {
			return []StreamEvent{Unknown{Type: loose.Type, Subtype: loose.Subtype, Raw: bytes.Clone(line)}}
		}
		return []StreamEvent{Garbled{Line: string(line)}}
	}
	var out []StreamEvent
	switch {
	case w.Type == "system" && w.Subtype == "init":
		out = append(out, initEvent(w))
	case w.Type == "system" && w.Subtype == "api_retry":
		out = append(out, Retry{Attempt: w.Attempt, Status: w.ErrorStatus, Error: w.Error})
	case w.Type == "assistant", w.Type == "user":
		out = blocks(w)
	case w.Type == "stream_event":
		out = d.partial(w)
	case w.Type == "result":
		out = append(out, endEvent(w))
	}
	if out == nil {
		out = append(out, Unknown{Type: w.Type, Subtype: w.Subtype, Raw: bytes.Clone(line)})
	}
	return out
}

func initEvent(w wireLine) Init {
	e := Init{Conversation: w.SessionID, Model: w.Model, Dir: w.Dir, Tools: w.Tools, Servers: map[string]string{}}
	for _, s := range w.MCPServers {
		e.Servers[s.Name] = s.Status
	}
	return e
}

// endEvent reads a result. Measured: of a conversation that is continued, 2.1.332 counts in total_cost_usd what it has
// cost since its beginning, and 2.1.197 what this run has; the former says beside it what came since the last result.
func endEvent(w wireLine) Ended {
	if w.ModelUsage != nil {
		w.CostUSD = 0
		for _, m := range w.ModelUsage {
			w.CostUSD += m.CostUSD
		}
	}
	var denied []string
	for _, d := range w.Denials {
		denied = append(denied, d.ToolUseID)
	}
	return Ended{
		OwnCost: w.ModelUsage != nil, Denied: denied,
		Result: Result{
			Text: w.Result, Conversation: w.SessionID, CostUSD: w.CostUSD, Usage: w.Usage, Turns: w.Turns,
			Denials: len(w.Denials), Structured: w.Structured,
		},
		IsError: w.IsError, Subtype: w.Subtype, Terminal: w.Terminal, Errors: w.Errors,
	}
}

// blocks reads the content of an assistant or user message, which is a string or a list of blocks.
func blocks(w wireLine) []StreamEvent {
	var m wireMessage
	if json.Unmarshal(w.Message, &m) != nil {
		return nil
	}
	var list []wireBlock
	if json.Unmarshal(m.Content, &list) != nil {
		return nil
	}
	var out []StreamEvent
	for _, b := range list {
		switch b.Type {
		case "text":
			if w.Type == "assistant" {
				out = append(out, Text{Parent: w.Parent, MessageID: m.ID, Text: b.Text})
			}
		case "tool_use":
			out = append(out, ToolUse{Parent: w.Parent, MessageID: m.ID, ID: b.ID, Name: b.Name, Input: b.Input})
		case "tool_result":
			out = append(out, ToolResult{Parent: w.Parent, ID: b.ToolUseID, Text: contentText(b.Content), IsError: b.IsError})
		}
	}
	return out
}

func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []wireBlock
	if json.Unmarshal(raw, &list) != nil {
		return string(raw)
	}
	var text bytes.Buffer
	for i, b := range list {
		if i > 0 {
			text.WriteByte('\n')
		}
		if b.Type == "text" {
			text.WriteString(b.Text)
		} else {
			fmt.Fprintf(&text, "[%s]", b.Type)
		}
	}
	return text.String()
}

func (d *decoder) partial(w wireLine) []StreamEvent {
	var e struct {
		Type    string
		Message wireMessage
		Delta   struct{ Type, Text string }
	}
	if json.Unmarshal(w.Event, &e) != nil {
		return nil
	}
	switch {
	case e.Type == "message_start":
		if d.writing == nil {
			d.writing = map[string]string{}
		}
		d.writing[w.Parent] = e.Message.ID
	case e.Type == "content_block_delta" && e.Delta.Type == "text_delta":
		return []StreamEvent{TextDelta{Parent: w.Parent, MessageID: d.writing[w.Parent], Text: e.Delta.Text}}
	}
	return nil
}
