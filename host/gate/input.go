package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// members reads a tool's input strictly, by exact names: what is shown has to be the one thing that it can mean.
// encoding/json alone takes the last of two equal names, folds case, and puts other characters for what is none.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("its input is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if first, err := d.Token(); err != nil || first != json.Delim('{') || !json.Valid(raw) {
		return nil, errors.New("its input is no JSON object")
	}
	out := map[string]json.RawMessage{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errors.New("its input cannot be read")
		}
		key, _ := name.(string)
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("its input has %q twice", key)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("its input cannot be read")
		}
		out[key] = value
	}
	return out, nil
}

// text is a member that is a text and is there, whole; nil where there is none.
func text(in map[string]json.RawMessage, name string) (*string, error) {
	raw, ok := in[name]
	if !ok {
		return nil, nil //nolint:nilnil // it is not there
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("%s is no text", name)
	}
	if halfACharacter(raw) {
		return nil, fmt.Errorf("%s has half a character", name)
	}
	return s, nil
}

// halfACharacter reports whether a JSON text escapes one half of a surrogate pair without the other: encoding/json puts
// U+FFFD there, so that two different texts become one.
func halfACharacter(raw []byte) bool {
	high := false // the escape just before was a first half
	for i := 0; i < len(raw); i++ {
		unit := uint64(0)
		if raw[i] == '\\' && i+1 < len(raw) {
			if raw[i+1] == 'u' && i+6 <= len(raw) {
				unit, _ = strconv.ParseUint(string(raw[i+2:i+6]), 16, 16) // the JSON is valid
				i += 4
			}
			i++
		}
		low := unit >= 0xDC00 && unit <= 0xDFFF
		if low != high {
			return true
		}
		high = unit >= 0xD800 && unit <= 0xDBFF
	}
	return high
}
