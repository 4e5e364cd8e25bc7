package classify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fields are the members of a tool's input, by their exact names.
type fields map[string]json.RawMessage

// parseInput reads one JSON object strictly. encoding/json takes the last of two equal names, folds case, and turns
// half a surrogate pair into another character; an agent's program may see it differently each time.
func parseInput(raw json.RawMessage) (fields, error) {
	switch {
	case !utf8.Valid(raw):
		return nil, errors.New("its input is not UTF-8")
	case loneSurrogate(raw):
		return nil, errors.New("its input has half a character")
	case !json.Valid(raw):
		return nil, errors.New("its input is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("its input is not an object")
	}
	out := fields{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, errors.New("its input cannot be read")
		}
		key, ok := name.(string)
		if _, twice := out[key]; !ok || twice {
			return nil, fmt.Errorf("its input has %q twice", name)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.New("its input cannot be read")
		}
		out[key] = value
	}
	return out, nil
}

// only returns an error for a member that is not among the known ones.
func (f fields) only(known ...string) error {
	for name := range f {
		if !slices.Contains(known, name) {
			return fmt.Errorf("has a field that is not known: %s", name)
		}
	}
	return nil
}

// text returns a member that must be a string, and whether it is there. NUL is refused: it ends a path early.
func (f fields) text(name string) (value string, there bool, err error) {
	raw, there := f[name]
	if !there || string(raw) == "null" {
		return "", false, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", true, fmt.Errorf("%s is not a text", name)
	}
	if strings.ContainsRune(value, 0) {
		return "", true, fmt.Errorf("%s contains NUL", name)
	}
	return value, true, nil
}

// off reports whether a switch is missing or false.
func (f fields) off(name string) bool {
	raw, there := f[name]
	return !there || string(raw) == "false" || string(raw) == "null"
}

// loneSurrogate reports whether JSON text escapes half of a surrogate pair.
func loneSurrogate(raw []byte) bool {
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
		r, ok := unit(i)
		switch {
		case !ok:
			i++ // a short escape
		case r >= 0xD800 && r < 0xDC00:
			if low, ok := unit(i + 6); !ok || low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 11
		case r >= 0xDC00 && r <= 0xDFFF:
			return true
		default:
			i += 5
		}
	}
	return false
}
