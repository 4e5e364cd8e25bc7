package askbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// value is JSON as it was written: members in order, doubles included. encoding/json's own decoding of structs
// is too kind for what comes from a model: it takes "Question" for "question", the last of two equal keys, and
// U+FFFD for what is no text.
type value struct {
	kind    kind
	text    string // of a string; of a number its digits
	truth   bool
	items   []value
	members []member
}

type member struct {
	name  string
	value value
}

type kind int

const (
	isNull kind = iota
	isBool
	isNumber
	isString
	isList
	isObject
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// parse reads one JSON value and nothing after it.
func parse(raw []byte, depth int) (value, error) {
	if !utf8.Valid(raw) {
		return value{}, fmt.Errorf("is not valid UTF-8")
	}
	if at := loneSurrogate(raw); at >= 0 {
		return value{}, fmt.Errorf("has an unpaired surrogate escape at byte %d, which is no character", at)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	v, err := parseValue(dec, depth)
	if err != nil {
		return value{}, err
	}
	if dec.More() || len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0 {
		return value{}, fmt.Errorf("has something after the JSON value")
	}
	return v, nil
}

func parseValue(dec *json.Decoder, depth int) (value, error) {
	token, err := dec.Token()
	if err != nil {
		return value{}, fmt.Errorf("is not valid JSON: %w", err)
	}
	switch t := token.(type) {
	case nil:
		return value{kind: isNull}, nil
	case bool:
		return value{kind: isBool, truth: t}, nil
	case json.Number:
		return value{kind: isNumber, text: t.String()}, nil
	case string:
		return value{kind: isString, text: t}, nil
	}
	if depth == 0 {
		return value{}, fmt.Errorf("is nested too deep")
	}
	v := value{kind: isList}
	object := token == json.Delim('{')
	if object {
		v.kind = isObject
	}
	for dec.More() {
		name := ""
		if object {
			key, err := dec.Token()
			if err != nil {
				return value{}, fmt.Errorf("is not valid JSON: %w", err)
			}
			name, _ = key.(string) // the decoder gives nothing else for a key
		}
		inner, err := parseValue(dec, depth-1)
		if err != nil {
			return value{}, err
		}
		if object {
			v.members = append(v.members, member{name, inner})
		} else {
			v.items = append(v.items, inner)
		}
	}
	if _, err := dec.Token(); err != nil { // the closing bracket
		return value{}, fmt.Errorf("is not valid JSON: %w", err)
	}
	return v, nil
}

// loneSurrogate returns where an escape stands for half a character; -1 where none does. encoding/json turns it
// into U+FFFD, so that two different strings become one.
func loneSurrogate(raw []byte) int {
	unit := func(at int) (rune, bool) {
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
		return rune(n), err == nil
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		high, ok := unit(i)
		switch {
		case !ok:
			i++ // the escaped character
		case !utf16.IsSurrogate(high):
			i += 5
		default:
			low, ok := unit(i + 6)
			if !ok || utf16.DecodeRune(high, low) == utf8.RuneError {
				return i
			}
			i += 11
		}
	}
	return -1
}
