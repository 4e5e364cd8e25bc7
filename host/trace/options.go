package trace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/kitsoki/host"
)

// Text says what becomes of prompts, questions, answers and other words in a trace.
type Text string

// The ways to keep texts.
const (
	TextFull Text = "full" // as they are
	TextHash Text = "hash" // the beginning of their SHA-256, which still shows that two are the same
)

// ParseText reads the setting as a person gives it.
func ParseText(s string) (Text, error) {
	switch t := Text(s); t {
	case TextFull, TextHash:
		return t, nil
	}
	return "", fmt.Errorf("trace text %q is not known; use full or hash", s)
}

// Options are how a session is recorded; the zero value works.
type Options struct {
	Now    func() time.Time // nil: the machine's clock
	Redact *Redactor        // nil: one that knows token shapes alone
	Text   Text             // empty: TextFull
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redact == nil {
		o.Redact = NewRedactor(nil)
	}
	if o.Text == "" {
		o.Text = TextFull
	}
	return o
}

// Data encodes an event as it may be kept: without secrets, and without texts when they are hashed. Whatever
// else is told of an event (a log, a transcript) is told of this.
func (o Options) Data(e host.Event) (json.RawMessage, error) {
	o = o.withDefaults()
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.Name(), err)
	}
	data = o.Redact.JSON(data)
	if o.Text == TextHash && !wordless(e.Name()) {
		if data, err = hashTexts(data); err != nil {
			return nil, fmt.Errorf("event %s: %w", e.Name(), err)
		}
	}
	return data, nil
}

// wordless are the events whose strings are all kitsoki's own.
func wordless(event string) bool {
	return strings.HasPrefix(event, "session.") || strings.HasPrefix(event, "trace.") || event == "ask.refused"
}

// structural names the fields whose strings are no words of a person or a model. Every other one is hashed, so
// that the fields of a new event are words until somebody says otherwise.
func structural(field string) bool {
	switch field {
	case "session_id", "question_id", "tool_use_id", "parent_tool_use_id", "conversation", "reopens",
		"kind", "state", "effect", "scope", "by", "hash", "agent", "dir", "verb", "tool", "argv", "access", "surface", "outcome", "deadline", "where":
		return true
	}
	return false
}

func hashTexts(data []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(hashValue(v, false))
}

func hashValue(v any, keep bool) any {
	switch v := v.(type) {
	case string:
		if keep || v == "" {
			return v
		}
		return hashText(v)
	case []any:
		for i := range v {
			v[i] = hashValue(v[i], keep)
		}
	case map[string]any:
		for name := range v {
			v[name] = hashValue(v[name], structural(name))
		}
	}
	return v
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:6])
}
