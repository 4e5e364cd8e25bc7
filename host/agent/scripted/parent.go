package scripted

import (
	"context"
	"encoding/json"
)

func (s *Parent) play(ctx context.Context, v *voice) error {
	return v.perform(ctx, []call{s.call(v)}, nil)
}

// call is the call that starts the sub-agent; running it plays the sub-agent's steps.
func (s *Parent) call(v *voice) call {
	input, err := json.Marshal(struct {
		Type        string `json:"subagent_type"`
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
	}{s.Name, s.Description, s.Prompt})
	if err != nil { // three strings always are JSON
		input = []byte("{}")
	}
	c := call{useID: newUseID(), id: s.ID, name: subAgentTool, input: input, asksWithin: Step{Parent: s}.asks()}
	c.run = func(ctx context.Context) (toolResult, error) {
		sub := &voice{p: v.p, sub: &subAgent{useID: c.useID, agentID: shortID(), name: s.Name, description: s.Description}}
		return sub.report(ctx, s)
	}
	return c
}

// report plays a sub-agent. What it said last is its result.
func (v *voice) report(ctx context.Context, s *Parent) (toolResult, error) {
	task := func(e event) error {
		e["type"], e["task_id"], e["tool_use_id"] = "system", v.sub.agentID, v.sub.useID
		return v.p.out.emit(e)
	}
	if err := task(event{"subtype": "task_started", "description": s.Description, "subagent_type": s.Name}); err != nil {
		return toolResult{}, err
	}
	if err := v.prompt(s.Prompt); err != nil {
		return toolResult{}, err
	}
	if err := v.play(ctx, s.Steps); err != nil {
		return toolResult{}, err
	}
	if err := task(event{"subtype": "task_notification", "status": "completed", "summary": v.last}); err != nil {
		return toolResult{}, err
	}
	content := []event{{"type": "text", "text": v.last}}
	return toolResult{content: content, detail: event{"status": "completed", "agentType": s.Name, "content": content}, text: v.last}, nil
}
