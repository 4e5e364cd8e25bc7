package askbridge

import (
	"fmt"
	"strings"
)

// Option is one row of a question. Only Label reaches the agent again.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// Question is one question of an ask, in the shape of the AskUserQuestion tool. Without Options it asks for free
// text.
type Question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header"`
	Options     []Option `json:"options"`
	MultiSelect bool     `json:"multiSelect"`
}

// Limits bound what one process takes from another. All sizes are bytes.
type Limits struct {
	Frame       int // one line of the wire
	Depth       int // nesting of JSON
	Questions   int // of an ask
	Options     int // of a question
	Question    int
	Header      int
	Label       int
	Description int
	Preview     int
	OpenAsks    int // of a dispatch, at once
	PerMinute   int // asks of a dispatch
}

// DefaultLimits are the limits in force where nobody says otherwise.
func DefaultLimits() Limits {
	return Limits{
		Frame: 1 << 20, Depth: 32, Questions: 16, Options: 64,
		Question: 8 << 10, Header: 1 << 10, Label: 1 << 10, Description: 4 << 10, Preview: 16 << 10,
		OpenAsks: 8, PerMinute: 20,
	}
}

// Note is something in the arguments that was mended because what was meant is clear.
type Note struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Fault is something in the arguments that cannot be shown to a person as it is.
type Fault struct{ Path, Problem string }

// Faults are all faults of one call at once, in words that a model can act on.
type Faults struct{ List []Fault }

func (f *Faults) Error() string {
	parts := make([]string, len(f.List))
	for i, x := range f.List {
		if parts[i] = x.Problem; x.Path != "" {
			parts[i] = x.Path + ": " + x.Problem
		}
	}
	return "the question could not be shown to the operator; correct the arguments and call again: " + strings.Join(parts, "; ")
}

func (f *Faults) add(path, format string, args ...any) {
	if len(f.List) < maxFaults {
		f.List = append(f.List, Fault{Path: path, Problem: fmt.Sprintf(format, args...)})
	}
}

// maxFaults bounds the text of an error: a call with more has one cause.
const maxFaults = 24
