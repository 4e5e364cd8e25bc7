package askbridge_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"example.com/kitsoki/askbridge"
)

// want is what becomes of one call's arguments: questions, with notes at these paths, or these faults.
type want struct {
	questions []askbridge.Question
	notes     []string // "path: part of the text"
	faults    []string // "path: part of the problem"
}

func checkDecode(t *testing.T, raw string, w want) {
	t.Helper()
	qs, notes, err := askbridge.Decode([]byte(raw), askbridge.DefaultLimits())
	if len(w.faults) > 0 {
		checkFaults(t, err, w.faults)
		if qs != nil || notes != nil {
			t.Errorf("faulty arguments gave questions %v and notes %v too", qs, notes)
		}
		return
	}
	if err != nil {
		t.Fatalf("not accepted: %v", err)
	}
	if !reflect.DeepEqual(qs, w.questions) {
		t.Errorf("questions\n got %#v\nwant %#v", qs, w.questions)
	}
	if len(notes) != len(w.notes) {
		t.Fatalf("notes %v, want %q", notes, w.notes)
	}
	for i, n := range notes {
		if path, text, _ := strings.Cut(w.notes[i], ": "); n.Path != path || !strings.Contains(n.Text, text) {
			t.Errorf("note %d is %q: %q, want %q", i, n.Path, n.Text, w.notes[i])
		}
	}
}

// checkFaults wants exactly these faults, in this order, and each of them in the words for the model.
func checkFaults(t *testing.T, err error, want []string) {
	t.Helper()
	var faults *askbridge.Faults
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want faults %q", err, want)
	}
	if len(faults.List) != len(want) {
		t.Fatalf("%d faults, want %q:\n%v", len(faults.List), want, err)
	}
	for i, f := range faults.List {
		path, problem, _ := strings.Cut(want[i], ": ")
		if f.Path != path || !strings.Contains(f.Problem, problem) {
			t.Errorf("fault %d is %q: %q, want %q", i, f.Path, f.Problem, want[i])
		}
		if !strings.Contains(err.Error(), f.Problem) || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("the words for the model leave out %q: %q", f.Path, f.Problem)
		}
	}
}

func options(labels ...string) []askbridge.Option {
	var out []askbridge.Option
	for _, l := range labels {
		out = append(out, askbridge.Option{Label: l})
	}
	return out
}

// q wraps the members of one question.
func q(members string) string { return `{"questions":[{` + members + `}]}` }

func TestDecodeReportedCases(t *testing.T) {
	for name, c := range map[string]struct {
		raw string
		want
	}{
		// claude-code-router#1170
		"A1 questions as a string of JSON": {
			`{"questions":"[{\"question\":\"Port?\",\"options\":[{\"label\":\"80\"},{\"label\":\"81\"}]}]"}`,
			want{questions: []askbridge.Question{{Question: "Port?", Options: options("80", "81")}}, notes: []string{"questions: string of JSON"}},
		},
		// shuvcode#136
		"A2 message instead of question": {
			q(`"message":"Theme?","options":["dark","light"]`),
			want{faults: []string{"questions[0].question: is missing"}},
		},
		"A2 bare strings alone": {
			q(`"question":"Theme?","options":["dark","light"]`),
			want{
				questions: []askbridge.Question{{Question: "Theme?", Options: options("dark", "light")}},
				notes:     []string{"questions[0].options[0]: bare string", "questions[0].options[1]: bare string"},
			},
		},
		// evener#193
		"A3 a header of 13 characters": {
			q(`"question":"Which?","header":"Module & repo","options":[]`),
			want{questions: []askbridge.Question{{Question: "Which?", Header: "Module & repo"}}},
		},
		// octo-agent#981
		"A4 one option": {
			q(`"question":"Go?","header":"Go","options":[{"label":"yes","description":"d"}],"multiSelect":false`),
			want{questions: []askbridge.Question{{Question: "Go?", Header: "Go", Options: []askbridge.Option{{Label: "yes", Description: "d"}}}}},
		},
		// eca#416
		"A5 an empty list of options": {
			q(`"question":"Name?","options":[]`),
			want{questions: []askbridge.Question{{Question: "Name?"}}},
		},
		// agentscope#2585
		"A6 two questions with one text": {
			`{"questions":[{"question":"Proceed?"},{"question":"Proceed?"}]}`,
			want{faults: []string{"questions[1].question: repeats questions[0].question"}},
		},
		// chatml#1315
		"A7 two options with one label": {
			q(`"question":"Which?","options":[{"label":"foo.txt"},{"label":"foo.txt"}]`),
			want{faults: []string{"questions[0].options[1].label: repeats questions[0].options[0].label"}},
		},
		// DeepSeek-Reasonix#2422
		"A8 a blank label": {
			q(`"question":"Which?","options":[{"label":"a"},{"label":"   "}]`),
			want{faults: []string{"questions[0].options[1].label: is blank"}},
		},
		// pydantic-ai-harness#909
		"A9 unknown fields": {
			q(`"question":"Which?","free_text":true,"preview":"<b>x</b>","id":7,"options":[{"label":"a","preview":"<b>y</b>"}]`),
			want{
				questions: []askbridge.Question{{Question: "Which?", Options: []askbridge.Option{{Label: "a", Preview: "<b>y</b>"}}}},
				notes:     []string{"questions[0]: unknown fields ignored: free_text, preview, id"},
			},
		},
		// coder/xum#1421
		"A10 multiSelect null": {
			q(`"question":"Which?","options":[{"label":"a"}],"multiSelect":null`),
			want{
				questions: []askbridge.Question{{Question: "Which?", Options: options("a")}},
				notes:     []string{"questions[0].multiSelect: null"},
			},
		},
		// wave-agent#673
		"A11 one flat question": {
			`{"question":"DB?","options":[{"label":"pg"},{"label":"my"}]}`,
			want{questions: []askbridge.Question{{Question: "DB?", Options: options("pg", "my")}}, notes: []string{": one question at top level"}},
		},
		// mcp-go#588
		"A12 a description of 70,000 bytes": {
			q(`"question":"Which?","options":[{"label":"a","description":"` + strings.Repeat("d", 70_000) + `"}]`),
			want{faults: []string{"questions[0].options[0].description: is 70000 bytes, 4096 can be shown"}},
		},
		"A12 a description of 3,900 bytes": {
			q(`"question":"Which?","options":[{"label":"a","description":"` + strings.Repeat("d", 3900) + `"}]`),
			want{questions: []askbridge.Question{{Question: "Which?", Options: []askbridge.Option{{Label: "a", Description: strings.Repeat("d", 3900)}}}}},
		},
	} {
		t.Run(name, func(t *testing.T) { checkDecode(t, c.raw, c.want) })
	}
}
