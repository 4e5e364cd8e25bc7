package askbridge_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"unicode/utf8"

	"example.com/kitsoki/askbridge"
)

// Whatever comes is faulted or understood; what is understood means the same once more, without any mending.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"questions":[{"question":"Q?","header":"H","options":[{"label":"a","description":"A","preview":"p"}],"multiSelect":true}]}`,
		`{"questions":"[{\"question\":\"Q?\",\"options\":\"[\\\"a\\\"]\"}]"}`,
		`{"question":"Q?","options":["a","b"],"Question":null}`,
		`{"questions":[{"question":"\ud83d\ude00\\ud83d"},{"question":"\ud83d"}]}`,
		`{"questions":[{"question":"Q?","question":"R?"}]}`,
		"{\"questions\":[{\"question\":\"\xff\"}]}",
		`[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]`,
		`{"questions":[{"question":1e999,"options":[null,{"label":"‹"}]}]} `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		qs, _, err := askbridge.Decode(raw, askbridge.DefaultLimits())
		if err != nil {
			if qs != nil || !utf8.ValidString(err.Error()) {
				t.Errorf("a fault gave %v, %q", qs, err)
			}
			return
		}
		again, err := json.Marshal(map[string]any{"questions": qs})
		if err != nil {
			t.Fatal(err)
		}
		lim := askbridge.DefaultLimits()
		lim.Frame *= 8 // an escape may take more bytes than were sent
		got, notes, err := askbridge.Decode(again, lim)
		if err != nil || len(notes) > 0 || !reflect.DeepEqual(got, qs) {
			t.Errorf("%s\n became %#v\n and then %#v, %v, %v", raw, qs, got, notes, err)
		}
	})
}
