package messagesapi

import (
	"slices"
	"strings"
)

// Step is one answer of the model and when it is due.
type Step struct {
	// Name is what failures call the step. Empty: its number.
	Name string
	// When must hold for a request to take the step. Nil holds always.
	When Condition
	// Side offers the step to requests beside the conversation, and to no
	// others. Without such a step they are answered with a short text.
	Side bool
	// Reply is the answer.
	Reply Reply
	// Hold keeps the answer back until the channel is closed, the client
	// leaves or the test ends: a model that is still thinking.
	Hold <-chan struct{}
	// Repeat lets the step answer any number of requests, even none.
	Repeat bool
	// Optional steps may be left over when the test ends.
	Optional bool
}

// Condition decides whether a request takes a step. It looks at the request
// alone: it must not call the server, which is locked meanwhile.
type Condition func(Request) bool

// Any holds for every request.
func Any() Condition { return func(Request) bool { return true } }

// ToolOffered holds when the request offers the model a tool of that name, for
// example "mcp__operator__ask".
func ToolOffered(name string) Condition {
	return func(r Request) bool { return slices.Contains(r.Tools, name) }
}

// HasToolResult holds when the last message of the user carries the result of
// a tool: the agent goes on after a call.
func HasToolResult() Condition {
	return func(r Request) bool { return len(r.lastUser().results()) > 0 }
}

// HasToolResultFor is HasToolResult for one tool_use id.
func HasToolResultFor(id string) Condition {
	return func(r Request) bool { _, ok := r.lastUser().results()[id]; return ok }
}

// PromptContains holds when what the person typed last contains text. It holds
// too for the requests that follow in the same turn.
func PromptContains(text string) Condition {
	return func(r Request) bool { return strings.Contains(r.Prompt(), text) }
}

// OfKind holds for requests of one kind.
func OfKind(k Kind) Condition { return func(r Request) bool { return r.Kind == k } }

// Not turns a condition around.
func Not(c Condition) Condition { return func(r Request) bool { return !c(r) } }

// All holds when every condition does.
func All(cs ...Condition) Condition {
	return func(r Request) bool {
		for _, c := range cs {
			if !c(r) {
				return false
			}
		}
		return true
	}
}

// Reply is what the API sends: a message made of blocks, or an error.
type Reply struct {
	// Blocks are the content of the message, in order. The stop reason is
	// tool_use when one of them calls a tool, end_turn otherwise.
	Blocks []Block
	// Status other than 0 and 200 makes the reply an API error.
	Status int
	// Message is the error's text.
	Message string
}

// Block is one content block: text or a tool call.
type Block struct {
	Text string
	Tool *ToolUse
}

// ToolUse is a tool call of the model.
type ToolUse struct {
	// ID is the tool_use id. Empty: the server makes one up.
	ID string
	// Name is the tool's name as the request offers it.
	Name string
	// Input is marshalled to JSON; json.RawMessage goes out as it is.
	Input any
}

// Say is a reply of one text block.
func Say(text string) Reply { return With(Text(text)) }

// Call is a reply of one tool call.
func Call(id, tool string, input any) Reply { return With(Use(id, tool, input)) }

// With is a reply of several blocks, such as two tool calls in one message.
func With(blocks ...Block) Reply { return Reply{Blocks: blocks} }

// Fail is an API error with the body that the vendor's API sends for that
// status: 400, 401, 403, 404, 413, 429, 500 or 529. Let the step repeat: Claude
// Code 2.1.332 asks again after all but 403, five times at once and with fewer
// features after 400, and for a minute after 401, 429, 500 and 529 unless
// CLAUDE_CODE_MAX_RETRIES says otherwise.
func Fail(status int, message string) Reply { return Reply{Status: status, Message: message} }

// Text is a text block.
func Text(s string) Block { return Block{Text: s} }

// Use is a tool call block. An empty id lets the server make one up.
func Use(id, tool string, input any) Block {
	return Block{Tool: &ToolUse{ID: id, Name: tool, Input: input}}
}
