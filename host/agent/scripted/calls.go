package scripted

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"
)

func newUseID() string { return "toolu_" + shortID() }

func shortID() string {
	id := uuid.New()
	return hex.EncodeToString(id[:12])
}

func (a *Ask) play(ctx context.Context, v *voice) error {
	return v.perform(ctx, []call{a.call(v)}, nil)
}

func (a *Ask) call(v *voice) call {
	input := json.RawMessage(a.Arguments)
	if len(input) == 0 {
		input = slices.Concat(json.RawMessage(`{"questions":`), json.RawMessage(a.Questions), json.RawMessage(`}`))
	}
	c := call{useID: newUseID(), id: a.ID, name: askTool, input: input, asked: questionTexts(a.Questions)}
	s, name, ok := v.p.tools.lookup(askTool)
	c.alone = ok && s.alone(name)
	c.run = func(ctx context.Context) (toolResult, error) {
		if !ok {
			return noSuchTool(askTool), nil
		}
		return s.call(ctx, name, c.useID, c.input), nil
	}
	return c
}

func (t *Tool) play(ctx context.Context, v *voice) error {
	return v.perform(ctx, []call{t.call(v)}, nil)
}

func (t *Tool) call(v *voice) call {
	c := call{useID: newUseID(), id: t.ID, name: t.Name, input: json.RawMessage(t.Input)}
	if len(c.input) == 0 {
		c.input = json.RawMessage("{}")
	}
	c.run = func(ctx context.Context) (toolResult, error) {
		takes, err := parsePause(t.Takes)
		if err == nil && v.p.pace > 0 {
			err = v.p.rest(ctx, takes)
		}
		if err == nil && t.Permit && v.p.opt.permissionMode == "default" {
			return t.permit(ctx, v, c)
		}
		if t.Error {
			return errorResult(t.Result), err
		}
		if t.Name == valueTool && v.sub == nil { // claude's sub-agents do not have it
			v.p.returns(jsonValue(c.input))
			return toolResult{content: valueTaken, text: valueTaken}, err
		}
		return builtinResult(t.Result), err
	}
	return c
}

// valueTaken is claude's own answer.
const valueTaken = "Structured output provided successfully"

// builtinResult is a result of a built-in tool. Those say that they are no error; those of MCP servers do not.
func builtinResult(text string) toolResult {
	return toolResult{content: text, detail: text, text: text, builtin: true}
}

func (l *Line) play(ctx context.Context, v *voice) error {
	c := call{useID: newUseID(), name: "Read", input: json.RawMessage(`{"file_path":"long-line.txt"}`)}
	c.run = func(context.Context) (toolResult, error) {
		res := builtinResult(repeat("a long line ", l.Bytes))
		res.detail = nil // once is enough
		return res, nil
	}
	return v.perform(ctx, []call{c}, nil)
}

// perform makes the calls in one message, runs them and prints what came of each. What stands beside them runs
// at the same time. When ctx ends it returns with the calls still open, and they stay in p.open.
func (v *voice) perform(ctx context.Context, calls []call, beside []action) error {
	if err := v.p.askable(calls); err != nil {
		return err
	}
	for _, c := range calls {
		if err := v.use(c); err != nil {
			return err
		}
	}
	if err := v.stop("tool_use"); err != nil {
		return err
	}
	var wg sync.WaitGroup
	besides := make([]error, len(beside))
	for i, act := range beside {
		wg.Go(func() { besides[i] = act.play(ctx, v) })
	}
	err := v.runAll(ctx, calls)
	wg.Wait()
	return errors.Join(append(besides, err)...)
}

// runAll runs calls in their order, those at once that may run beside each other.
func (v *voice) runAll(ctx context.Context, calls []call) error {
	for len(calls) > 0 {
		n := 1
		for !calls[0].alone && n < len(calls) && !calls[n].alone {
			n++
		}
		var wg sync.WaitGroup
		errs := make([]error, n)
		for i, c := range calls[:n] {
			wg.Go(func() { errs[i] = v.runOne(ctx, c) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		calls = calls[n:]
	}
	return nil
}

func (v *voice) runOne(ctx context.Context, c call) error {
	var res toolResult
	var err error
	switch {
	case !v.p.tools.has(c.name):
		res = noSuchTool(c.name)
	case !v.p.tools.permitted(c.name):
		res = notGranted(c.name)
		err = v.p.deny(c, res.text)
	default:
		res, err = c.run(ctx)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v.p.memory.note(c, res)
	return v.toolResult(c, res)
}

// errNobody ends a scenario that cannot ask.
var errNobody = errors.New("nobody can be asked")

// askable returns errNobody when one of the calls is an ask and the run was not given the tool.
func (p *player) askable(calls []call) error {
	for _, c := range calls {
		if (c.name == askTool || c.asksWithin) && !p.tools.has(askTool) {
			return errNobody
		}
	}
	return nil
}
