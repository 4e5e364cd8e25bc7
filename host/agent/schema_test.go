package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValuesAreChecked(t *testing.T) {
	s, err := compileSchema(json.RawMessage(`{
		"type": "object", "required": ["db", "n"], "additionalProperties": false,
		"properties": {"db": {"enum": ["Postgres", "SQLite"]}, "n": {"type": "integer", "minimum": 9007199254740993}, "tags": {"type": "array", "items": {"type": "string"}}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"db":"Postgres","n":9007199254740993}`:              ``,
		`{"db":"Postgres","n":9007199254740993,"tags":["a"]}`: ``,
		``:                                       `there is no value`,
		`{`:                                      `the value is no JSON`,
		`[]`:                                     `at the top: got array, want object`,
		`{"db":"Postgres"}`:                      `at the top: missing property 'n'`,
		`{"db":"MySQL","n":9007199254740993}`:    `at '/db': value must be one of 'Postgres', 'SQLite'`,
		`{"db":"Postgres","n":9007199254740992}`: `at '/n': minimum:`, // equal as floating point
		`{"db":"SQLite","n":9007199254740993,"tags":["a",1]}`:               `at '/tags/1': got number, want string`,
		`{"db":1,"n":"x","more":true}`:                                      `; `,
		`{"db":"SQLite","n":9007199254740993,"tags":[` + numbers(30) + `]}`: `; and 20 more`,
	} {
		if got := s.misfit(json.RawMessage(value)); (got == "") != (want == "") || !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func numbers(n int) string { return strings.TrimSuffix(strings.Repeat("1,", n), ",") }

// null is no value, whatever the schema says of it.
func TestNullIsNoValue(t *testing.T) {
	s, err := compileSchema(json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if s.misfit(json.RawMessage(" null ")) == "" || s.misfit(nil) == "" || s.misfit(json.RawMessage("{}")) != "" {
		t.Error("null passes, or {} does not")
	}
}

// A schema that refers to another is not completed from files or the network.
func TestASchemaStandsForItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "string.json")
	if err := os.WriteFile(path, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := compileSchema(json.RawMessage(`{"$ref":"file://` + path + `"}`)); err == nil {
		t.Error("a file was read")
	}
	s, err := compileSchema(json.RawMessage(`{"$defs":{"n":{"type":"number"}},"properties":{"n":{"$ref":"#/$defs/n"}}}`))
	if err != nil || s.misfit(json.RawMessage(`{"n":"x"}`)) != "at '/n': got string, want number" {
		t.Errorf("its own parts are not found: %v", err)
	}
}
