package askbridge_test

import (
	"strings"
	"testing"

	"example.com/kitsoki/askbridge"
)

// encoding/json would let all of these pass, and change what they say.
func TestDecodeTakesNoTextForAnother(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		faults []string
	}{
		"a key given twice":                {`{"questions":[],"questions":[{"question":"Q?"}]}`, []string{"questions: is given twice", "questions: is empty"}},
		"the key of a question":            {q(`"question":"Q?","question":"R?"`), []string{"questions[0].question: is given twice"}},
		"the key of an option":             {q(`"question":"Q?","options":[{"label":"a","label":"b"}]`), []string{"questions[0].options[0].label: is given twice"}},
		"a key spelled with an escape":     {q(`"question":"Q?","\u0071uestion":"R?"`), []string{"questions[0].question: is given twice"}},
		"the key of a flat question":       {`{"question":"Q?","question":"R?"}`, []string{"questions[0].question: is given twice"}},
		"half a surrogate":                 {q(`"question":"Q\ud83d?"`), []string{"arguments: unpaired surrogate escape at byte 28"}},
		"the other half":                   {q(`"question":"\ude00"`), []string{"arguments: unpaired surrogate"}},
		"halves in the wrong order":        {q(`"question":"\ude00\ud83d"`), []string{"arguments: unpaired surrogate"}},
		"two first halves":                 {q(`"question":"\ud83d\ud83d\ude00"`), []string{"arguments: unpaired surrogate"}},
		"half a surrogate in capitals":     {q(`"question":"\uD83D"`), []string{"arguments: unpaired surrogate"}},
		"half before an escaped backslash": {q(`"question":"\ud83d\\ude00"`), []string{"arguments: unpaired surrogate"}},
		"half a surrogate in a key":        {q(`"question":"Q?","\ud83d":1`), []string{"arguments: unpaired surrogate"}},
		"half a surrogate at the end":      {`"\ud83d`, []string{"arguments: unpaired surrogate"}},
		"an escape cut short":              {`"\ud8`, []string{"arguments: is not valid JSON"}},
		"a byte that is no UTF-8":          {q("\"question\":\"Q\xff?\""), []string{"arguments: is not valid UTF-8"}},
		"one such byte in a key":           {q("\"question\":\"Q?\",\"\xff\":1"), []string{"arguments: is not valid UTF-8"}},
		"a surrogate in UTF-8":             {q("\"question\":\"\xed\xa0\x80\""), []string{"arguments: is not valid UTF-8"}},
		"UTF-8 longer than it need be":     {q("\"question\":\"\xc0\xaf\""), []string{"arguments: is not valid UTF-8"}},
		"a control character as it is":     {q("\"question\":\"a\x1bb\""), []string{"arguments: is not valid JSON"}},
		"a byte order mark":                {"\ufeff" + q(`"question":"Q?"`), []string{"arguments: is not valid JSON"}},
		"half a surrogate within a string": {`{"questions":"[{\"question\":\"\\ud83d\"}]"}`, []string{"questions: not a string"}},
	} {
		t.Run(name, func(t *testing.T) { checkDecode(t, c.raw, want{faults: c.faults}) })
	}
}

func TestDecodeKeepsTextsByteForByte(t *testing.T) {
	for name, c := range map[string]struct{ written, sent string }{
		"white space around":        {`  Q? \n`, "  Q? \n"},
		"escapes":                   {`\u001b]52;c;cm0gLXJm\u0007\u009b2J\u202Egnp`, "\x1b]52;c;cm0gLXJm\a\u009b2J\u202egnp"}, // vercel/ai#20052
		"NUL":                       {`a\u0000b`, "a\x00b"},
		"carriage returns and tabs": {`a\r\n\tb`, "a\r\n\tb"},
		"a pair of surrogates":      {`\ud83d\ude00`, "😀"},
		"the replacement character": {`\ufffd` + "\ufffd", "\ufffd\ufffd"},
		"a backslash and a u":       {`\\ud83d`, `\ud83d`},
		"composed and decomposed":   {"\u00e9e\u0301", "\u00e9e\u0301"},
		"our own token":             {`‹ESC›`, `‹ESC›`},
		"line separators and HTML":  {"<b>&\u2028\u2029", "<b>&\u2028\u2029"},
	} {
		t.Run(name, func(t *testing.T) {
			raw := q(`"question":"` + c.written + `","header":"` + c.written + `","options":[{"label":"` + c.written +
				`","description":"` + c.written + `","preview":"` + c.written + `"}]`)
			checkDecode(t, raw, want{questions: []askbridge.Question{{
				Question: c.sent, Header: c.sent, Options: []askbridge.Option{{Label: c.sent, Description: c.sent, Preview: c.sent}},
			}}})
		})
	}
}

func TestDecodeRefusesDeepNesting(t *testing.T) {
	nested := func(depth int) string {
		return `{"questions":[{"question":"Q?","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}]}`
	}
	limit := askbridge.DefaultLimits().Depth
	checkDecode(t, nested(limit-3), want{questions: one("Q?"), notes: []string{"questions[0]: unknown fields"}})
	checkDecode(t, nested(limit-2), want{faults: []string{"arguments: is nested too deep"}})
	checkDecode(t, nested(400_000), want{faults: []string{"arguments: is nested too deep"}})
	checkDecode(t, `{"questions":"`+strings.Repeat("[", 400_000)+`"}`, want{faults: []string{"questions: not a string"}})
}
