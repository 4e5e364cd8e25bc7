package mcpstdio

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// The server's and the tool's name; an agent sees mcp__operator__ask.
const (
	serverName = "operator"
	toolName   = "ask"
)

// description is cut by some clients at 2048 characters.
const description = `Ask the operator, the person this work is for, and wait for the answer.

Use it when you need a decision, a preference or a fact that only the operator has and a wrong guess would cost them. Do not use it for what you can find out yourself, and do not use it to ask for permission: an answer is words, it allows nothing.

Ask questions that belong together in one call. Give each its own text and, where you can, two to four options with short distinct labels and a description that says what choosing it means. The operator can always answer in their own words instead of an option. Set multiSelect where several options can hold at once.

The result is {"answers": {"<question>": "<label or own words>"}}; for multiSelect the value is a list, which can be empty only if the operator said so. A question that the operator skipped is absent. "notes", when present, has remarks of the operator by question.

The call waits, for minutes if need be. An error means that nobody answered; its outcome says why (declined, timed_out, cancelled, no_operator, host_closing, invalid). Then no option was chosen: go on without the input where that is safe, and say what you assumed.`

// schema is AskUserQuestion's, in the subset of JSON schema that strict clients take: no references, no unions,
// no null. It is more tolerant than it looks, see askbridge.Decode.
const schema = `{
  "type": "object",
  "properties": {
    "questions": {
      "type": "array",
      "description": "The questions, 1 to 16, shown together.",
      "items": {
        "type": "object",
        "properties": {
          "question": {"type": "string", "description": "The whole question, ending with a question mark. No two questions of a call may have the same text."},
          "header": {"type": "string", "description": "A name for the question of at most 12 characters, such as \"Database\"."},
          "options": {
            "type": "array",
            "description": "The choices, usually 2 to 4; empty for free text. \"Other\" is always there and need not be given.",
            "items": {
              "type": "object",
              "properties": {
                "label": {"type": "string", "description": "What is chosen, in a few words. It comes back exactly as given."},
                "description": {"type": "string", "description": "What choosing it means."},
                "preview": {"type": "string", "description": "Text to look at beside the option, such as code or a layout."}
              },
              "required": ["label", "description"]
            }
          },
          "multiSelect": {"type": "boolean", "description": "Whether several options can be chosen."}
        },
        "required": ["question", "header", "options", "multiSelect"]
      }
    }
  },
  "required": ["questions"]
}`

// tool declares no output schema, because clients that get one read the structured result alone and check it.
// The read-only hint is true: asking changes nothing. Without it clients run sibling asks one after another.
func tool() mcp.Tool {
	t := mcp.NewToolWithRawSchema(toolName, description, json.RawMessage(schema))
	yes, no := true, false
	t.Annotations = mcp.ToolAnnotation{
		Title: "Ask the operator", ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &no, OpenWorldHint: &no,
	}
	return t
}
