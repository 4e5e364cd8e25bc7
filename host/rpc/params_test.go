package rpc

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestParamsNameEveryFault(t *testing.T) {
	for raw, words := range map[string]string{
		``:                    "",
		`{}`:                  "",
		`{"a":"x","n":3}`:     "",
		`{"a":null,"n":null}`: "",
		`[1]`:                 "params: expected an object, got a list",
		`null`:                "params: expected an object, got null",
		`{"a":5,"n":1.5}`:     "a: expected a string, got 5; n: expected a whole number, got 1.5",
		`{"n":"3"}`:           `n: expected a whole number, got the string "3"`,
		`{"A":"x"}`:           "A: there is no such field; there are a, n",
		`{"n":{}}`:            "n: expected a whole number, got an object",
		`{"n":1e400}`:         "n: expected a whole number, got 1e400",
	} {
		a, n := "before", 7
		err := Params(json.RawMessage(raw), Field{"a", "a string", &a}, Field{"n", "a whole number", &n}).Err()
		switch {
		case words == "" && err != nil, words != "" && (err == nil || err.Error() != words):
			t.Errorf("%s: %v", raw, err)
		case words != "" && asError(t, err).Code != InvalidParams:
			t.Errorf("%s: %+v", raw, err)
		}
		if !strings.Contains(raw, `"x"`) && a != "before" || raw == `{"a":"x","n":3}` && (a != "x" || n != 3) {
			t.Errorf("%s: read %q, %d", raw, a, n)
		}
	}
}

// Whatever a line says, it is messages or a fault, and every answer to it is one line of JSON.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{}}`, `[{"jsonrpc":"2.0"},1,[],null]`, `{"jsonrpc":"2.0","id":"x","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, `{"jsonrpc":"2.0","id":1,"error":5}`, `[`, `{"id":{}}`, `{"id":-0}`, " \t[ ] ", "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		raws, _, fault := split(text)
		if (fault == nil) != (len(raws) > 0) {
			t.Fatalf("%d messages, %v", len(raws), fault)
		}
		for _, raw := range raws {
			in, fault := parse(raw)
			answer := answerTo(in.id, json.RawMessage(`{}`), nil)
			if fault != nil {
				answer = answerTo(in.id, nil, fault)
			}
			if !json.Valid(answer) || !utf8.Valid(answer) || strings.ContainsRune(string(answer), '\n') {
				t.Fatalf("%q is answered with %q", raw, answer)
			}
			if in.params != nil {
				_ = Params(in.params, Field{"a", "a number", new(float64)}).Err()
			}
		}
	})
}
