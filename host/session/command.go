package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

// What an operator can write at the start of an input. Everything else goes to the agent as it is: it has commands of
// its own, such as /compact.
const (
	askCommand    = "/ask"
	decideCommand = "/decide"
	taskCommand   = "/task"
	accessCommand = "/access"
	revokeCommand = "/revoke"
)

// Command is something that can be written at the start of an input, for a list of keys and commands.
type Command struct{ Form, Meaning string }

// Commands are all of them.
func Commands() []Command {
	return []Command{
		{askCommand + " TEXT", "the agent reads and answers, and changes nothing"},
		{decideCommand + " a|b|c TEXT", "the agent picks one of these, and says why"},
		{taskCommand + " TEXT", "the agent changes files; what changed is said at the end"},
		{accessCommand + " LEVEL", "what the agent may do from the next turn on: " + strings.Join(accessNames(), ", ")},
		{revokeCommand + " [ID]", "takes back what you allowed; without ID it lists that"},
	}
}

// inputOf reads an input as an operator wrote it. The verb of one that begins with no command is converse.
func inputOf(text string) (Input, error) {
	in := Input{Prompt: text, typed: text}
	word, rest := cutWord(text)
	switch word {
	case askCommand:
		in.Verb, in.Prompt = agent.Ask, rest
	case taskCommand:
		in.Verb, in.Prompt = agent.Task, rest
	case decideCommand:
		choices, rest := cutWord(rest)
		schema, err := choiceOf(choices)
		if err != nil {
			return in, err
		}
		in.Verb, in.Prompt, in.Schema = agent.Decide, rest, schema
	default:
		return in, checkPrompt(text)
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return in, fmt.Errorf("%s needs a text after it; type what the agent should do", word)
	}
	return in, nil
}

// choiceOf is the schema of one of several words that are parted by bars, with a reason.
func choiceOf(words string) (json.RawMessage, error) {
	choices := strings.Split(words, "|")
	for i, c := range choices {
		if c == "" || slices.Contains(choices[:i], c) || len(choices) < 2 {
			return nil, fmt.Errorf("%s needs words to pick from: %s yes|no Is this safe?", decideCommand, decideCommand)
		}
	}
	return json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"choice", "reason"},
		"properties": map[string]any{
			"choice": map[string]any{"type": "string", "enum": choices},
			"reason": map[string]any{"type": "string", "minLength": 1},
		},
	})
}

// decided says the value of a decide in a line.
func decided(value json.RawMessage) string {
	var choice struct{ Choice, Reason string }
	if json.Unmarshal(value, &choice) == nil && choice.Choice != "" {
		return "decided: " + choice.Choice + ". " + choice.Reason
	}
	return "decided: " + string(value)
}

// cutWord cuts the first word off a text.
func cutWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t\n")
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		return text[:i], strings.TrimLeft(text[i:], " \t\n")
	}
	return text, ""
}

// Control does what an input asks of the session itself, and reports whether it is one that does. Nothing of it goes to
// the agent, and it acts at once, also while a turn runs.
func Control(text string) (do func(ctx context.Context, c Client) error, ok bool) {
	word, rest := cutWord(text)
	rest = strings.TrimSpace(rest)
	switch word {
	case accessCommand:
		return func(ctx context.Context, c Client) error { return c.SetAccess(ctx, rest) }, true
	case revokeCommand:
		return func(ctx context.Context, c Client) error { return c.Revoke(ctx, rest) }, true
	}
	return nil, false
}

func accessNames() []string {
	var names []string
	for _, a := range agent.Accesses() {
		names = append(names, string(a))
	}
	return names
}

// SetAccess implements Client.
func (s *Session) SetAccess(_ context.Context, level string) error {
	access, err := agent.ParseAccess(level)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return ErrClosed
	}
	was := s.access
	s.access = access
	text := fmt.Sprintf("access is %s", access)
	if s.running != nil {
		text = fmt.Sprintf("access is %s from the next turn on; the running one keeps %s", access, s.running.access)
	}
	e := trace.AccessChanged{SessionID: s.id, Access: string(access), Was: string(was)}
	s.touch()
	s.emit(Event{Kind: Notice, Text: askbridge.Safe(text)})
	s.emit(Event{Kind: Changed})
	s.mu.Unlock()
	if access != was {
		s.record(e)
	}
	return nil
}

// accessLocked is what is in force, and what will be in the next turn where that is something else.
func (s *Session) accessLocked() (now, next string) {
	if s.running == nil || s.running.access == s.access {
		return string(s.access), ""
	}
	return string(s.running.access), string(s.access)
}

// shown is an input as it was written.
func (in Input) shown() string { return cmp.Or(in.typed, in.Prompt) }
