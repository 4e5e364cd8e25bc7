package scripted

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"
)

// voice is one agent that speaks in a run: the agent itself, or a sub-agent. One goroutine plays it.
type voice struct {
	p   *player
	sub *subAgent // nil: the agent itself

	message string // id of the message that is being written, empty between messages
	blocks  int    // of it
	last    string // the last words
}

type subAgent struct {
	useID, agentID, name, description string
}

// play plays steps in their order.
func (v *voice) play(ctx context.Context, steps []Step) error {
	for _, s := range steps {
		_, act, err := s.action()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := act.play(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// streams reports whether pieces of messages are printed. claude does so for the agent itself alone.
func (v *voice) streams() bool { return v.p.opt.partial && v.sub == nil }

// partial prints a piece of a message.
func (v *voice) partial(e event) error {
	if !v.streams() {
		return nil
	}
	return v.p.out.emit(event{"type": "stream_event", "event": e, "parent_tool_use_id": nil})
}

// emit prints a whole message, with the marks of the sub-agent that it is from.
func (v *voice) emit(e event) error {
	e["parent_tool_use_id"] = nil
	if v.sub != nil {
		e["parent_tool_use_id"] = v.sub.useID
		e["agent_id"] = v.sub.agentID
		e["subagent_type"] = v.sub.name
		e["task_description"] = v.sub.description
	}
	return v.p.out.emit(e)
}

func (v *voice) body(content []event) event {
	return event{
		"id": v.message, "type": "message", "role": "assistant", "model": modelName, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": event{"input_tokens": v.p.usage.input(), "output_tokens": 1},
	}
}

// start opens a message unless one is open.
func (v *voice) start() error {
	if v.message != "" {
		return nil
	}
	if v.sub == nil {
		if v.p.opt.maxTurns > 0 && v.p.turns >= v.p.opt.maxTurns {
			return errMaxTurns
		}
		v.p.turns++
	}
	v.message, v.blocks = "msg_"+shortID(), 0
	v.p.ended.Store(false)
	if !v.streams() {
		return nil
	}
	return errors.Join(
		v.p.out.emit(event{"type": "system", "subtype": "status", "status": "requesting"}),
		v.partial(event{"type": "message_start", "message": v.body([]event{})}),
	)
}

// block prints one block of a message, as pieces and then whole, in claude's order.
func (v *voice) block(opening, whole event, pieces func(index int) error) error {
	if err := v.start(); err != nil {
		return err
	}
	index := v.blocks
	v.blocks++
	if err := v.partial(event{"type": "content_block_start", "index": index, "content_block": opening}); err != nil {
		return err
	}
	if v.streams() {
		if err := pieces(index); err != nil {
			return err
		}
	}
	return errors.Join(
		v.emit(event{"type": "assistant", "message": v.body([]event{whole})}),
		v.partial(event{"type": "content_block_stop", "index": index}),
	)
}

// say prints a text, piece by piece when the stream has pieces. A message holds one text and the calls behind it.
// The words of a sub-agent are not printed, as claude does it.
func (v *voice) say(ctx context.Context, pieces []string, pace time.Duration) error {
	text := strings.Join(pieces, "")
	v.last = text
	v.p.usage.said(text)
	if v.sub != nil {
		return nil
	}
	if err := v.stop("end_turn"); err != nil {
		return err
	}
	return v.block(event{"type": "text", "text": ""}, event{"type": "text", "text": text}, func(index int) error {
		for _, piece := range pieces {
			if err := v.p.rest(ctx, pace); err != nil {
				return err
			}
			delta := event{"type": "text_delta", "text": piece}
			if err := v.partial(event{"type": "content_block_delta", "index": index, "delta": delta}); err != nil {
				return err
			}
		}
		return nil
	})
}

// use prints a call of a tool.
func (v *voice) use(c call) error {
	v.p.opened(v, c)
	opening := event{"type": "tool_use", "id": c.useID, "name": c.name, "input": event{}}
	whole := event{"type": "tool_use", "id": c.useID, "name": c.name, "input": c.input}
	return v.block(opening, whole, func(index int) error {
		delta := event{"type": "input_json_delta", "partial_json": string(c.input)}
		return v.partial(event{"type": "content_block_delta", "index": index, "delta": delta})
	})
}

// stop closes the message that is open.
func (v *voice) stop(reason string) error {
	if v.message == "" {
		return nil
	}
	v.message = ""
	return errors.Join(
		v.partial(event{
			"type": "message_delta", "delta": event{"stop_reason": reason, "stop_sequence": nil},
			"usage": event{"output_tokens": v.p.usage.output()},
		}),
		v.partial(event{"type": "message_stop"}),
	)
}

// toolResult prints what came of a call.
func (v *voice) toolResult(c call, res toolResult) error {
	v.p.settled(c)
	block := event{"tool_use_id": c.useID, "type": "tool_result", "content": res.content}
	if res.isError || res.builtin {
		block["is_error"] = res.isError
	}
	e := event{"type": "user", "message": event{"role": "user", "content": []event{block}}}
	if res.detail != nil {
		e["tool_use_result"] = res.detail
	}
	return v.emit(e)
}

// prompt prints what a sub-agent was told.
func (v *voice) prompt(text string) error {
	return v.emit(event{"type": "user", "message": event{
		"role": "user", "content": []event{{"type": "text", "text": text}},
	}})
}

// words cuts a text behind its blanks, as a model's pieces come.
func words(text string) []string {
	var pieces []string
	start, blank := 0, false
	for i, r := range text {
		if blank && !unicode.IsSpace(r) {
			pieces = append(pieces, text[start:i])
			start = i
		}
		blank = unicode.IsSpace(r)
	}
	return append(pieces, text[start:])
}
