package scripted

import (
	"context"
	"encoding/json"
	"os/exec"
)

// permit asks the permission tool of the run about a call of a built-in tool, as claude does of what changes something.
// The call is only imitated, but for one thing: a command that was allowed in another form than it was proposed in is
// really run, since that form is the host's own.
func (t *Tool) permit(ctx context.Context, v *voice, c call) (toolResult, error) {
	s, name, ok := v.p.tools.lookup(v.p.opt.permissionTool)
	if !ok {
		return t.refused(v, c, notGranted(c.name).text)
	}
	input, err := json.Marshal(map[string]any{"tool_name": c.name, "input": c.input, "tool_use_id": c.useID})
	if err != nil {
		return toolResult{}, err
	}
	answer := s.call(ctx, name, "", input)
	var verdict struct {
		Behavior string `json:"behavior"`
		Message  string `json:"message"`
		Input    struct {
			Command string `json:"command"`
		} `json:"updatedInput"`
	}
	if answer.isError || json.Unmarshal([]byte(answer.text), &verdict) != nil || verdict.Behavior != "allow" {
		return t.refused(v, c, verdict.Message)
	}
	var proposed struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(c.input, &proposed) // what is no command is only imitated
	if c.name != "Bash" || verdict.Input.Command == proposed.Command {
		return builtinResult(t.Result), nil
	}
	return ran(exec.CommandContext(ctx, "sh", "-c", verdict.Input.Command).CombinedOutput()), nil
}

// ran is the result of a command, in which a failure is told as claude tells it.
func ran(out []byte, err error) toolResult {
	if err != nil {
		return errorResult(string(out) + err.Error())
	}
	return builtinResult(string(out))
}

func (t *Tool) refused(v *voice, c call, message string) (toolResult, error) {
	res := errorResult(message)
	return res, v.p.deny(c, message)
}
