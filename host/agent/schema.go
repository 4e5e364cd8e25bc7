package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is what the value of a decide has to fit. The agent checks too; that it did is not taken from its word.
type schema struct{ compiled *jsonschema.Schema }

// compileSchema reads a JSON schema, of draft 2020-12 unless it says otherwise. It stands for itself: nothing that it
// refers to is fetched.
func compileSchema(raw json.RawMessage) (*schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, errors.New("the schema is no JSON object")
	}
	if deeper(doc, maxSchemaDepth) {
		return nil, fmt.Errorf("the schema is nested deeper than %d levels", maxSchemaDepth)
	}
	const name = "schema:decide"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("the schema is not valid: %w", err)
	}
	compiled, err := c.Compile(name)
	var faults *jsonschema.SchemaValidationError
	var leaves *jsonschema.ValidationError
	switch {
	case errors.As(err, &faults) && errors.As(faults.Err, &leaves):
		return nil, fmt.Errorf("the schema is not valid: %s", problems(leaves))
	case err != nil:
		return nil, fmt.Errorf("the schema is not valid: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return &schema{compiled: compiled}, nil
}

// maxSchemaDepth bounds how long a schema takes to compile, which grows with the third power of its depth: 200 levels
// took 20 ms, 3000 took 35 s.
const maxSchemaDepth = 200

func deeper(doc any, levels int) bool {
	if levels == 0 {
		return true
	}
	switch v := doc.(type) {
	case map[string]any:
		for _, inner := range v {
			if deeper(inner, levels-1) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if deeper(inner, levels-1) {
				return true
			}
		}
	}
	return false
}

// misfit says in words why a value does not fit, for the agent and the operator; empty when it does. null is no
// value: the agent can end well without one.
func (s *schema) misfit(value json.RawMessage) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return "there is no value"
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return "the value is no JSON: " + err.Error()
	}
	err = s.compiled.Validate(doc)
	var leaves *jsonschema.ValidationError
	switch {
	case errors.As(err, &leaves):
		return problems(leaves)
	case err != nil:
		return err.Error()
	}
	return ""
}

// maxProblems is how many faults of a value are named; the first ones are what the next attempt needs.
const maxProblems = 10

// problems are the faults where they are, without the keywords that led to them.
func problems(err *jsonschema.ValidationError) string {
	var words []string
	for leaf := range leavesOf(err) {
		words = union(words, []string{strings.Replace(leaf.Error(), "at '': ", "at the top: ", 1)})
	}
	if n := len(words); n > maxProblems {
		words = append(words[:maxProblems], fmt.Sprintf("and %d more", n-maxProblems))
	}
	return strings.Join(words, "; ")
}

func leavesOf(err *jsonschema.ValidationError) iter.Seq[*jsonschema.ValidationError] {
	return func(yield func(*jsonschema.ValidationError) bool) {
		if len(err.Causes) == 0 {
			yield(err)
			return
		}
		for _, cause := range err.Causes {
			for leaf := range leavesOf(cause) {
				if !yield(leaf) {
					return
				}
			}
		}
	}
}
