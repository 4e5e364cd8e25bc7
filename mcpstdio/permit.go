package mcpstdio

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"example.com/kitsoki/askbridge"
)

const permitName = "permit"

// permitSchema is what Claude Code calls a permission prompt tool with (measured with 2.1.332).
const permitSchema = `{
  "type": "object",
  "properties": {
    "tool_name": {"type": "string"},
    "input": {"type": "object"},
    "tool_use_id": {"type": "string"}
  },
  "required": ["tool_name", "input"]
}`

// permitTool is for the agent's program, not for its model: a model that calls it has no permission to.
func permitTool() mcp.Tool {
	t := mcp.NewToolWithRawSchema(permitName, "For the agent's own program alone: it brings permissions to the operator. A model has no use for it.", json.RawMessage(permitSchema))
	yes, no := true, false // read-only, so that the permissions of sub-agents wait side by side
	t.Annotations = mcp.ToolAnnotation{
		Title: "Bring a permission to the operator", ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &no, OpenWorldHint: &no,
	}
	return t
}

// permit serves one permission. Whatever goes wrong, the answer is a denial that says so; Claude Code takes everything
// else that is no permission for a denial too (measured).
func (g *grandchild) permit(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Tool      string          `json:"tool_name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
	}
	d := askbridge.Decision{}
	switch err := json.Unmarshal(req.Params.RawArguments, &in); {
	case err != nil:
		d.Message = "denied: the permission could not be understood"
	case g.client == nil:
		d.Message = "denied: " + g.lost.Error()
	default:
		ctx, stop := g.withCause(ctx)
		defer stop()
		stopProgress := g.progress(ctx, req)
		d = g.client.Permit(ctx, askbridge.PermissionParams{ID: newID(), ToolUseID: in.ToolUseID, Tool: in.Tool, Input: in.Input})
		stopProgress()
	}
	text, err := marshal(verdict(d, in.Input))
	if err != nil {
		text, err = marshal(verdict(askbridge.Decision{Message: "denied: " + err.Error()}, nil))
	}
	if err != nil {
		return nil, err
	}
	return mcp.NewToolResultText(string(text)), nil
}

// verdict is a decision in the words of Claude Code, which wants the whole input of what it may do.
func verdict(d askbridge.Decision, proposed json.RawMessage) map[string]any {
	if !d.Allow {
		return map[string]any{"behavior": "deny", "message": cmp.Or(d.Message, "denied")}
	}
	input := d.Input
	if input == nil {
		input = proposed
	}
	return map[string]any{"behavior": "allow", "updatedInput": input}
}
