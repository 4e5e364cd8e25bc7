package askbridge_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/kitsoki/askbridge"
)

func TestDecodeLimits(t *testing.T) {
	texts := func(format string) func(int) string {
		return func(n int) string { return q(fmt.Sprintf(format, strings.Repeat("x", n))) }
	}
	for name, c := range map[string]struct {
		raw   func(n int) string
		limit int
		fault string
	}{
		"question":    {texts(`"question":"%s"`), 8 << 10, "questions[0].question: is 8193 bytes, 8192 can be shown"},
		"header":      {texts(`"question":"Q?","header":"%s"`), 1 << 10, "questions[0].header: is 1025 bytes, 1024 can be shown"},
		"label":       {texts(`"question":"Q?","options":[{"label":"%s"}]`), 1 << 10, "questions[0].options[0].label: is 1025 bytes, 1024 can be shown"},
		"bare label":  {texts(`"question":"Q?","options":["%s"]`), 1 << 10, "questions[0].options[0]: is 1025 bytes, 1024 can be shown"},
		"description": {texts(`"question":"Q?","options":[{"label":"a","description":"%s"}]`), 4 << 10, "questions[0].options[0].description: is 4097 bytes, 4096 can be shown"},
		"preview":     {texts(`"question":"Q?","options":[{"label":"a","preview":"%s"}]`), 16 << 10, "questions[0].options[0].preview: is 16385 bytes, 16384 can be shown"},
		"questions": {func(n int) string {
			return `{"questions":[` + join(n, `{"question":"%d?"}`) + `]}`
		}, 16, "questions: has 17 questions, 16 can be asked at once"},
		"options": {func(n int) string {
			return q(`"question":"Q?","options":[` + join(n, `{"label":"%d"}`) + `]`)
		}, 64, "questions[0].options: has 65 options, 64 can be shown"},
		"frame": {func(n int) string {
			raw := q(`"question":"Q?"`)
			return raw + strings.Repeat(" ", n-len(raw))
		}, 1 << 20, ": the arguments are 1048577 bytes, 1048576 can be sent"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := askbridge.Decode([]byte(c.raw(c.limit)), askbridge.DefaultLimits()); err != nil {
				t.Errorf("the limit itself is refused: %v", err)
			}
			_, _, err := askbridge.Decode([]byte(c.raw(c.limit+1)), askbridge.DefaultLimits())
			checkFaults(t, err, []string{c.fault})
		})
	}
}

// A byte is a byte: a limit counts what is sent, not characters and not what an escape takes in JSON.
func TestDecodeLimitsCountBytesOfTheText(t *testing.T) {
	checkDecode(t, q(`"question":"Q?","header":"`+strings.Repeat(`\u0041`, 1024)+`"`),
		want{questions: []askbridge.Question{{Question: "Q?", Header: strings.Repeat("A", 1024)}}})
	checkDecode(t, q(`"question":"Q?","header":"`+strings.Repeat("界", 342)+`"`),
		want{faults: []string{"questions[0].header: is 1026 bytes"}})
}

func TestDecodeOfAFullFrameOfQuestions(t *testing.T) {
	option := `{"label":"%d","preview":"` + strings.Repeat("<", 15<<10) + `"}`
	raw := q(`"question":"Q?","options":[` + join(64, option) + `]`)
	qs, _, err := askbridge.Decode([]byte(raw), askbridge.DefaultLimits())
	if err != nil || len(qs[0].Options) != 64 {
		t.Fatalf("64 options with long previews: %d options, %v", len(qs[0].Options), err)
	}
}

// join lists n copies of a format that takes a number.
func join(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}
