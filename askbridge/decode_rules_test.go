package askbridge_test

import (
	"strings"
	"testing"

	"example.com/kitsoki/askbridge"
)

func one(question string, labels ...string) []askbridge.Question {
	return []askbridge.Question{{Question: question, Options: options(labels...)}}
}

// What is meant is clear: it is taken, and what was mended is noted.
func TestDecodeMendsWhatIsClear(t *testing.T) {
	for name, c := range map[string]struct {
		raw string
		want
	}{
		"the whole schema": {
			q(`"question":"Q?","header":"H","options":[{"label":"a","description":"A","preview":"p\nq"}],"multiSelect":true`),
			want{questions: []askbridge.Question{{
				Question: "Q?", Header: "H", MultiSelect: true,
				Options: []askbridge.Option{{Label: "a", Description: "A", Preview: "p\nq"}},
			}}},
		},
		"options as a string of JSON": {
			q(`"question":"Q?","options":"[\"a\", {\"label\":\"b\"}]"`),
			want{questions: one("Q?", "a", "b"), notes: []string{"questions[0].options: string of JSON", "questions[0].options[0]: bare string"}},
		},
		"strings of JSON within a string of JSON": {
			`{"questions":"  [{\"question\":\"Q?\",\"options\":\"[{\\\"label\\\":\\\"a\\\"}]\"}]  "}`,
			want{questions: one("Q?", "a"), notes: []string{"questions: string of JSON", "questions[0].options: string of JSON"}},
		},
		"header, options and multiSelect missing": {q(`"question":"Q?"`), want{questions: one("Q?")}},
		"null wherever it can be": {
			q(`"question":"Q?","header":null,"options":null,"multiSelect":null`),
			want{questions: one("Q?"), notes: []string{"questions[0].multiSelect: null"}},
		},
		"null in an option": {q(`"question":"Q?","options":[{"label":"a","description":null,"preview":null}]`), want{questions: one("Q?", "a")}},
		"one flat question with unknown fields is noted once": {
			`{"question":"Q?","id":7}`,
			want{questions: one("Q?"), notes: []string{": one question at top level", "questions[0]: unknown fields ignored: id"}},
		},
		"unknown fields beside the questions": {
			`{"title":"x","questions":[{"question":"Q?"}],"answers":{}}`,
			want{questions: one("Q?"), notes: []string{": unknown fields ignored: title, answers"}},
		},
		"a flat question beside the list": {
			`{"question":"other","questions":[{"question":"Q?"}]}`,
			want{questions: one("Q?"), notes: []string{"question: ignored"}},
		},
		"keys that differ by case are unknown": {
			q(`"Question":"no","queſtion":"no","question":"Q?"`),
			want{questions: one("Q?"), notes: []string{"questions[0]: unknown fields ignored: Question, queſtion"}},
		},
		"an unknown key is noted in its safe form": {
			q(`"question":"Q?","\u001b[2J":1`),
			want{questions: one("Q?"), notes: []string{"questions[0]: ignored: ‹ESC›[2J"}},
		},
		"labels that differ by a space": {q(`"question":"Q?","options":[{"label":"a"},{"label":"a "}]`), want{questions: one("Q?", "a", "a ")}},
		"one label in two questions": {
			`{"questions":[{"question":"1?","options":[{"label":"a"}]},{"question":"2?","options":[{"label":"a"}]}]}`,
			want{questions: append(one("1?", "a"), one("2?", "a")...)},
		},
		"a label that looks like JSON stays a label": {
			q(`"question":"[1]","options":[{"label":"[\"a\"]"}]`), want{questions: one("[1]", `["a"]`)},
		},
	} {
		t.Run(name, func(t *testing.T) { checkDecode(t, c.raw, c.want) })
	}
}

// What is meant is not clear: a fault with its path.
func TestDecodeNamesWhatIsNot(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		faults []string
	}{
		"nothing":                         {``, []string{"arguments: is not valid JSON"}},
		"half":                            {`{"questions":[`, []string{"arguments: is not valid JSON"}},
		"two values":                      {q(`"question":"Q?"`) + `{}`, []string{"arguments: after the JSON value"}},
		"a stray bracket":                 {q(`"question":"Q?"`) + `]`, []string{"arguments: after the JSON value"}},
		"null":                            {`null`, []string{"arguments: not null"}},
		"a list":                          {`[]`, []string{"arguments: not a list"}},
		"a string":                        {`"{}"`, []string{"arguments: not a string"}},
		"an empty object":                 {`{}`, []string{"questions: is missing"}},
		"questions null":                  {`{"questions":null}`, []string{"questions: not null"}},
		"questions false":                 {`{"questions":false}`, []string{"questions: not a boolean"}},
		"questions 7":                     {`{"questions":7}`, []string{"questions: not a number"}},
		"questions an object":             {`{"questions":{"question":"Q?"}}`, []string{"questions: not an object"}},
		"questions an object in a string": {`{"questions":"{\"question\":\"Q?\"}"}`, []string{"questions: not an object"}},
		"questions a string of no JSON":   {`{"questions":"[what?"}`, []string{"questions: not a string"}},
		"questions twice a string":        {`{"questions":"\"[]\""}`, []string{"questions: not a string"}},
		"questions empty":                 {`{"questions":[]}`, []string{"questions: is empty"}},
		"questions an empty list as text": {`{"questions":"[]"}`, []string{"questions: is empty"}},
		"a question that is a string":     {`{"questions":["Q?"]}`, []string{"questions[0]: not a string"}},
		"a question that is null":         {`{"questions":[null]}`, []string{"questions[0]: not null"}},
		"a question that is a list":       {`{"questions":[[]]}`, []string{"questions[0]: not a list"}},
		"a text that is null":             {q(`"question":null`), []string{"questions[0].question: is missing"}},
		"a text that is a number":         {q(`"question":7`), []string{"questions[0].question: not a number"}},
		"a text that is a list":           {q(`"question":["Q?"]`), []string{"questions[0].question: not a list"}},
		"a blank text":                    {q(`"question":" \t\n\u00a0"`), []string{"questions[0].question: is blank"}},
		"a text in another case":          {q(`"Question":"Q?"`), []string{"questions[0].question: is missing"}},
		"a header that is a number":       {q(`"question":"Q?","header":1`), []string{"questions[0].header: not a number"}},
		"multiSelect in words":            {q(`"question":"Q?","multiSelect":"true"`), []string{"questions[0].multiSelect: not a string"}},
		"multiSelect 1":                   {q(`"question":"Q?","multiSelect":1`), []string{"questions[0].multiSelect: not a number"}},
		"options an object":               {q(`"question":"Q?","options":{"a":"b"}`), []string{"questions[0].options: not an object"}},
		"options a string":                {q(`"question":"Q?","options":"a, b"`), []string{"questions[0].options: not a string"}},
		"an option that is null":          {q(`"question":"Q?","options":[null]`), []string{"questions[0].options[0]: not null"}},
		"an option that is a number":      {q(`"question":"Q?","options":[80]`), []string{"questions[0].options[0]: not a number"}},
		"an option without a label":       {q(`"question":"Q?","options":[{}]`), []string{"questions[0].options[0].label: is missing"}},
		"a label that is a number":        {q(`"question":"Q?","options":[{"label":80}]`), []string{"questions[0].options[0].label: not a number"}},
		"a blank bare string":             {q(`"question":"Q?","options":["a",""]`), []string{"questions[0].options[1]: is blank"}},
		"a bare string and its label":     {q(`"question":"Q?","options":["a",{"label":"a"}]`), []string{"questions[0].options[1].label: repeats questions[0].options[0].label"}},
		"a description that is an object": {q(`"question":"Q?","options":[{"label":"a","description":{}}]`), []string{"questions[0].options[0].description: not an object"}},
	} {
		t.Run(name, func(t *testing.T) { checkDecode(t, c.raw, want{faults: c.faults}) })
	}
}

func TestDecodeNamesAllFaultsAtOnce(t *testing.T) {
	checkDecode(t, `{"questions":[
		{"question":"  ","options":[{"label":"a"},{"label":"a"},{"label":""},7]},
		{"question":"Q?","header":[],"multiSelect":"no","options":[{"label":"`+strings.Repeat("l", 1025)+`"}]},
		{"question":"Q?","question":"R?","options":"none"},
		"more"]}`, want{faults: []string{
		"questions[0].question: is blank",
		"questions[0].options[2].label: is blank",
		"questions[0].options[3]: not a number",
		"questions[1].header: not a list",
		"questions[1].multiSelect: not a string",
		"questions[1].options[0].label: is 1025 bytes, 1024 can be shown",
		"questions[2].question: is given twice",
		"questions[2].options: not a string",
		"questions[3]: not a string",
		"questions[0].options[1].label: repeats questions[0].options[0].label",
		"questions[2].question: repeats questions[1].question",
	}})
}

func TestDecodeBoundsTheNumberOfFaults(t *testing.T) {
	_, _, err := askbridge.Decode([]byte(q(`"question":"Q?","options":[`+strings.Repeat("0,", 63)+`0]`)), askbridge.DefaultLimits())
	if err == nil || len(err.Error()) > 4096 {
		t.Errorf("64 faults make a text of %d bytes", len(err.Error()))
	}
}
