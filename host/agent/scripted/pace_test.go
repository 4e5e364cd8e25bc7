package scripted

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// The pauses of a run: one a word at the scenario's pace when the stream has pieces, and what an imitated tool takes.
func TestPaceOfARun(t *testing.T) {
	const scenario = "\nname: n\ndescription: d\npace: 15ms\nsteps:\n  - say: one two  three\n  - tool: {name: Read, result: x, takes: 250ms}\n"
	for _, tt := range []struct {
		env, partial string
		want         []time.Duration
	}{
		{"", "--include-partial-messages", []time.Duration{15e6, 15e6, 15e6, 250e6}},
		{"2ms", "--include-partial-messages", []time.Duration{2e6, 2e6, 2e6, 250e6}},
		{"0", "--include-partial-messages", []time.Duration{0, 0, 0}},
		{"", "--verbose", []time.Duration{250e6}},
	} {
		path := t.TempDir() + "/s.yaml"
		if err := os.WriteFile(path, []byte(scenario), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		args := []string{"-p", "--output-format", "stream-json", "--verbose", tt.partial}
		p, _, err := prepare(args, strings.NewReader("go"), &out, func(key string) string {
			return map[string]string{EnvScenario: path, EnvPace: tt.env}[key]
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []time.Duration
		p.rest = func(_ context.Context, d time.Duration) error {
			got = append(got, d)
			return nil
		}
		p.tools = newToolbox(p.opt, nil)
		if err := p.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(tt.want) {
			t.Fatalf("%+v: the pauses are %v", tt, got)
		}
		for i := range got {
			if got[i] != tt.want[i] {
				t.Errorf("%+v: the pauses are %v", tt, got)
			}
		}
	}
}

func TestRestEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errTerminated)
	for _, d := range []time.Duration{0, time.Hour} {
		if err := rest(ctx, d); !errors.Is(err, errTerminated) {
			t.Errorf("rest(%s) = %v", d, err)
		}
	}
}

func TestWordsKeepEveryCharacter(t *testing.T) {
	for _, text := range []string{"", "one", " one  two\n\nthree ", "— ‹ › é"} {
		if got := strings.Join(words(text), ""); got != text {
			t.Errorf("the pieces of %q make %q", text, got)
		}
	}
	if got := words("a b  c\nd"); strings.Join(got, "|") != "a |b  |c\n|d" {
		t.Errorf("the pieces are %q", got)
	}
}
