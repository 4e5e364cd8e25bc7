package rpc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Field is one member of a request's params.
type Field struct {
	Name string
	Want string // in words, such as "a number above 0"
	Into any    // a pointer; it keeps its value where the member is missing or null
}

// Faults are what is wrong with params, by field. The zero value is none.
type Faults struct {
	words  []string
	fields map[string]string
}

// Add names a fault. Only the first one of a field is kept.
func (f *Faults) Add(field, format string, args ...any) {
	if _, named := f.fields[field]; named {
		return
	}
	if f.fields == nil {
		f.fields = map[string]string{}
	}
	f.fields[field] = fmt.Sprintf(format, args...)
	f.words = append(f.words, field+": "+f.fields[field])
}

// Has reports whether a field is at fault.
func (f *Faults) Has(field string) bool { _, has := f.fields[field]; return has }

// Err is all faults as an error for the peer; nil when there is none.
func (f *Faults) Err() error {
	if len(f.words) == 0 {
		return nil
	}
	return Errorf(InvalidParams, "%s", strings.Join(f.words, "; ")).With(map[string]any{"fields": f.fields})
}

// Params reads an object of named members, exactly as they are written, and names everything that does not fit.
func Params(raw json.RawMessage, fields ...Field) *Faults {
	f := &Faults{}
	var members map[string]json.RawMessage
	if len(raw) > 0 && (json.Unmarshal(raw, &members) != nil || members == nil) {
		f.Add("params", "expected an object, got %s", kindOf(raw))
		return f
	}
	for _, field := range fields {
		value, given := members[field.Name]
		if given && json.Unmarshal(value, field.Into) != nil {
			f.Add(field.Name, "expected %s, got %s", field.Want, kindOf(value))
		}
		delete(members, field.Name)
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range members {
			if !yield(name) {
				return
			}
		}
	}) {
		f.Add(cut(name), "there is no such field; there are %s", nameList(fields))
		break // one is enough, where somebody sent thousands
	}
	return f
}

func nameList(fields []Field) string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// kindOf says what a JSON value is, and which one where that is short.
func kindOf(raw json.RawMessage) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "the string " + cut(string(raw))
	}
	return cut(string(raw))
}

// cut keeps error texts short.
func cut(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return s
}
