package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// action is what every step kind can do.
type action interface {
	check(c *checker, path string) error
	play(ctx context.Context, v *voice) error
}

// caller is a kind that is a call of a tool, so that several of them can be made in one message.
type caller interface {
	action
	call(v *voice) call
}

// call is one call of a tool, prepared.
type call struct {
	useID      string
	id         string // the scenario's, may be empty
	name       string
	input      json.RawMessage
	alone      bool     // it does not run beside others
	asked      []string // the texts of an ask's questions
	asksWithin bool     // it is a sub-agent that asks

	run func(ctx context.Context) (toolResult, error) // an error ends the run
}

// action returns the one kind that a step is of.
func (s Step) action() (kind string, act action, err error) {
	kinds := []struct {
		name string
		act  action
		set  bool
	}{
		{"say", s.Say, s.Say != nil},
		{"ask", s.Ask, s.Ask != nil},
		{"tool", s.Tool, s.Tool != nil},
		{"parent", s.Parent, s.Parent != nil},
		{"together", s.Together, s.Together != nil},
		{"on", s.On, s.On != nil},
		{"told", s.Told, s.Told != nil},
		{"result", s.Result, s.Result != nil},
		{"die", s.Die, s.Die != nil},
		{"hang", s.Hang, s.Hang != nil},
		{"flood", s.Flood, s.Flood != nil},
		{"garbage", s.Garbage, s.Garbage != nil},
		{"line", s.Line, s.Line != nil},
	}
	for _, k := range kinds {
		switch {
		case !k.set:
		case act != nil:
			return "", nil, fmt.Errorf("a step is one thing; this one is %s and %s", kind, k.name)
		default:
			kind, act = k.name, k.act
		}
	}
	if act == nil {
		return "", nil, errors.New("a step needs a kind, such as say, ask or tool")
	}
	return kind, act, nil
}

// asks reports whether a step asks the operator at once, in a sub-agent too.
func (s Step) asks() bool {
	anyOf := func(steps []Step) bool {
		for _, s := range steps {
			if s.asks() {
				return true
			}
		}
		return false
	}
	switch {
	case s.Ask != nil:
		return true
	case s.Together != nil:
		return anyOf(*s.Together)
	case s.Parent != nil:
		return anyOf(s.Parent.Steps)
	}
	return false
}

func (s *Say) play(ctx context.Context, v *voice) error {
	text, err := v.p.expand(string(*s))
	if err != nil {
		return err
	}
	return v.say(ctx, words(text), v.p.pace)
}

func (o *On) play(ctx context.Context, v *voice) error {
	out, err := v.p.memory.outcome(o.Call)
	switch {
	case err != nil:
		return err
	case out.failed:
		return v.play(ctx, o.Error)
	}
	return v.play(ctx, o.Answered)
}

func (t *Told) play(ctx context.Context, v *voice) error {
	if strings.Contains(v.p.prompt, t.Words) {
		return v.play(ctx, t.Then)
	}
	return v.play(ctx, t.Else)
}

func (r *ResultEnd) play(_ context.Context, v *voice) error {
	if err := v.stop("end_turn"); err != nil {
		return err
	}
	end := ending{
		text: v.last, isError: r.Error, subtype: r.Subtype, reason: r.Reason, errors: r.Errors, structured: r.Structured,
	}
	if r.Text != nil {
		var err error
		if end.text, err = v.p.expand(string(*r.Text)); err != nil {
			return err
		}
	}
	switch {
	case r.Exit != nil:
		v.p.exit = *r.Exit
	case r.Error:
		v.p.exit = 1
	default:
		v.p.exit = 0
	}
	return v.p.end(end)
}

func (t *Together) play(ctx context.Context, v *voice) error {
	var calls []call
	var beside []action
	for _, s := range *t {
		_, act, err := s.action()
		if err != nil {
			return err
		}
		if c, ok := act.(caller); ok {
			calls = append(calls, c.call(v))
		} else {
			beside = append(beside, act)
		}
	}
	return v.perform(ctx, calls, beside)
}
