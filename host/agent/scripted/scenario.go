package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Scenario is what an agent does in one run, from the start each time.
type Scenario struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"` // one line
	// Pace is the pause between two pieces of streamed text, such as "15ms" or "0".
	Pace string `yaml:"pace"`
	// WithoutOperator is said in place of everything from the first ask on when the run has no ask tool.
	WithoutOperator string `yaml:"without_operator"`
	// Deaf makes the run ignore SIGINT and SIGTERM.
	Deaf  bool   `yaml:"deaf"`
	Steps []Step `yaml:"steps"`
}

// Step is one thing that the agent does. Exactly one field is set.
type Step struct {
	Say      *Say       `yaml:"say"`      // words
	Ask      *Ask       `yaml:"ask"`      // a call of the operator's tool
	Tool     *Tool      `yaml:"tool"`     // an imitated call of a built-in tool
	Parent   *Parent    `yaml:"parent"`   // a sub-agent with steps of its own
	Together *Together  `yaml:"together"` // calls that are made at once, in one message
	On       *On        `yaml:"on"`       // a branch by what came of a call
	Told     *Told      `yaml:"told"`     // a branch by what the prompt says
	Result   *ResultEnd `yaml:"result"`   // a result event other than the usual one at the end

	Die     *Die     `yaml:"die"`     // ends the process
	Hang    *Hang    `yaml:"hang"`    // does nothing until it is stopped
	Flood   *Flood   `yaml:"flood"`   // words without end
	Garbage *Garbage `yaml:"garbage"` // a line that is no event
	Line    *Line    `yaml:"line"`    // a very long line
}

// Say is a text to say, a template.
type Say string

// Ask is one ask. Questions are what AskUserQuestion takes, passed on as they stand; Arguments replaces the whole
// of the tool's arguments, for malformed ones.
type Ask struct {
	ID        string    `yaml:"id"`
	Questions jsonValue `yaml:"questions"`
	Arguments jsonValue `yaml:"arguments"`
}

// Tool is a call of a built-in tool that is only shown: nothing is executed. StructuredOutput, which a run has with
// --json-schema alone, gives the run its value; unlike claude's it takes one that does not fit.
type Tool struct {
	ID     string    `yaml:"id"`
	Name   string    `yaml:"name"`
	Input  jsonValue `yaml:"input"`
	Result string    `yaml:"result"`
	Error  bool      `yaml:"error"`
	Takes  string    `yaml:"takes"`  // how long; nothing at pace 0
	Permit bool      `yaml:"permit"` // it needs a permission where the run's mode is "default"
}

// Parent is a sub-agent: a call of the tool that starts one, with what it does. Its last words are the result.
type Parent struct {
	ID          string `yaml:"id"`
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	Prompt      string `yaml:"prompt"`
	Steps       []Step `yaml:"steps"`
}

// Together is a list of calls: ask, tool, parent. A die beside them happens while they are open.
type Together []Step

// On branches by the outcome of the call with the id Call.
type On struct {
	Call     string `yaml:"call"`
	Answered []Step `yaml:"answered"`
	Error    []Step `yaml:"error"`
}

// Told branches by whether the prompt has Words in it. Each run plays from the start: one that continues a
// conversation is told from the first by its prompt.
type Told struct {
	Words string `yaml:"words"`
	Then  []Step `yaml:"then"`
	Else  []Step `yaml:"else"`
}

// ResultEnd is a result event. A run can print several.
type ResultEnd struct {
	Text       *Say      `yaml:"text"` // empty: the last words
	Error      bool      `yaml:"error"`
	Subtype    string    `yaml:"subtype"`
	Reason     string    `yaml:"terminal_reason"`
	Errors     []string  `yaml:"errors"`
	Structured jsonValue `yaml:"structured"`
	Exit       *int      `yaml:"exit"` // empty: 1 with an error, else 0
}

// Die ends the process with an exit code, or by a signal to itself.
type Die struct {
	Code   int    `yaml:"code"`
	Signal string `yaml:"signal"` // KILL, TERM, ABRT …
	After  string `yaml:"after"`
}

// Hang waits until the run is stopped.
type Hang struct{}

// Flood is a text of many numbered lines, each a piece of its own.
type Flood struct {
	Lines int    `yaml:"lines"`
	Text  string `yaml:"text"`
	Pace  string `yaml:"pace"` // between two lines; empty: none
}

// Garbage is printed as it stands, with a newline.
type Garbage string

// Line is an imitated Read whose result has so many bytes, in one line of the stream.
type Line struct {
	Bytes int `yaml:"bytes"`
}

// decodeScenario reads a scenario and checks it whole. Faults are shown with their place in the source.
func decodeScenario(file string, src []byte) (*Scenario, error) {
	var sc Scenario
	err := yaml.NewDecoder(bytes.NewReader(src), yaml.Strict()).Decode(&sc)
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the scenario %s is empty", file)
	}
	if err != nil {
		return nil, fmt.Errorf("the scenario %s is not valid: %s", file, yaml.FormatError(err, false, true))
	}
	if err := check(&sc, file, src); err != nil {
		return nil, err
	}
	return &sc, nil
}

// jsonValue is a YAML value as JSON, with its keys in their order. Empty means that it was not given.
type jsonValue json.RawMessage

// UnmarshalYAML reads any value.
func (j *jsonValue) UnmarshalYAML(node ast.Node) error {
	var value any
	if err := yaml.NodeToValue(node, &value, yaml.UseOrderedMap()); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := writeJSON(&out, value); err != nil {
		return err
	}
	*j = out.Bytes()
	return nil
}

// MarshalJSON returns the value.
func (j jsonValue) MarshalJSON() ([]byte, error) {
	if len(j) == 0 {
		return []byte("null"), nil
	}
	return j, nil
}

func writeJSON(out *bytes.Buffer, value any) error {
	list := func(open, shut byte, n int, item func(i int) error) error {
		out.WriteByte(open)
		for i := range n {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := item(i); err != nil {
				return err
			}
		}
		out.WriteByte(shut)
		return nil
	}
	switch v := value.(type) {
	case yaml.MapSlice:
		return list('{', '}', len(v), func(i int) error {
			if err := writeJSON(out, fmt.Sprint(v[i].Key)); err != nil {
				return err
			}
			out.WriteByte(':')
			return writeJSON(out, v[i].Value)
		})
	case []any:
		return list('[', ']', len(v), func(i int) error { return writeJSON(out, v[i]) })
	}
	return encode(out, value)
}

// encode writes JSON as JavaScript does: no HTML escapes, no newline.
func encode(out *bytes.Buffer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1)
	return nil
}
