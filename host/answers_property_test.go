package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// hostile makes texts that look like an encoding, like another text, or like what a text becomes on the screen.
func hostile() *rapid.Generator[string] {
	nasty := rapid.SampledFrom(nastyTexts)
	return rapid.OneOf(
		nasty,
		rapid.String(),
		rapid.Map(nasty, askbridge.Safe),
		rapid.Map(rapid.SliceOfN(nasty, 1, 3), func(parts []string) string { return strings.Join(parts, ",") }),
		rapid.Map(rapid.SliceOfN(nasty, 0, 3), func(parts []string) string {
			b, _ := json.Marshal(parts) // strings always encode
			return string(b)
		}),
	)
}

// drawHostileQuestions makes questions that differ, each with labels that differ.
func drawHostileQuestions(t *rapid.T) []host.OperatorQuestion {
	var qs []host.OperatorQuestion
	for i, text := range rapid.SliceOfNDistinct(hostile().Filter(notBlank), 1, 4, rapid.ID[string]).Draw(t, "questions") {
		qs = append(qs, host.OperatorQuestion{Question: text, MultiSelect: rapid.Bool().Draw(t, fmt.Sprintf("%d is multi", i))})
		for _, label := range rapid.SliceOfNDistinct(hostile().Filter(notBlank), 0, 5, rapid.ID[string]).Draw(t, "labels") {
			qs[i].Options = append(qs[i].Options, host.OperatorOption{Label: label})
		}
	}
	return qs
}

// drawHostileAnswers makes good answers whose own words may be the label of any row, except in a multi-select of
// one that is picked as well: see TestOwnWordsThatRepeatAPickedRow.
func drawHostileAnswers(t *rapid.T, qs []host.OperatorQuestion) []host.Answer {
	as := drawAnswers(t, qs)
	for i, q := range qs {
		if as[i].Text == "" {
			continue
		}
		words := []string{hostile().Filter(notBlank).Draw(t, "words")}
		for row, o := range q.Options {
			if !slices.Contains(as[i].Picked, row) {
				words = append(words, o.Label)
			}
		}
		as[i].Text = rapid.SampledFrom(words).Draw(t, "own words")
		if row := rowOf(q, as[i].Text); q.MultiSelect && slices.Contains(as[i].Picked, row) {
			as[i].Text = "own: " + strings.Repeat("x", 1025) // longer than any label here
		}
	}
	return as
}

func rowOf(q host.OperatorQuestion, label string) int {
	return slices.IndexFunc(q.Options, func(o host.OperatorOption) bool { return o.Label == label })
}

// read is what a map can say of an answer: no notes, no words beside the row of a single select, and words that
// are a label are that row.
func read(q host.OperatorQuestion, a host.Answer) host.Answer {
	a.Note = ""
	if !q.MultiSelect && len(a.Picked) > 0 {
		a.Text = ""
	}
	if row := rowOf(q, a.Text); row >= 0 && a.Text != "" {
		a.Picked, a.Text = append(slices.Clone(a.Picked), row), ""
		slices.Sort(a.Picked)
	}
	return a
}

func TestEncodedAnswersSayWhatWasPickedAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qs := drawHostileQuestions(t)
		as := drawHostileAnswers(t, qs)
		answers, notes, err := host.EncodeAnswers(qs, as)
		if err != nil {
			t.Fatal(err)
		}
		if want := wire(qs, as); !reflect.DeepEqual(answers, want) {
			t.Fatalf("got %q, want %q", answers, want)
		}
		for i, q := range qs {
			note := notes[q.Question]
			beside := !q.MultiSelect && len(as[i].Picked) > 0
			switch {
			case beside && !strings.Contains(note, strings.Trim(as[i].Text, "\n")):
				t.Fatalf("the note %q is without the words %q", note, as[i].Text)
			case !beside && note != as[i].Note:
				t.Fatalf("the note is %q, want %q", note, as[i].Note)
			}
		}
	})
}

func TestAnswersComeBackFromTheirMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qs := drawHostileQuestions(t)
		as := drawHostileAnswers(t, qs)
		answers, _, err := host.EncodeAnswers(qs, as)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]host.Answer, len(qs))
		for i := range qs {
			want[i] = read(qs[i], as[i])
		}
		maps := map[string]map[string]any{"as it is": answers, "with loose types": loosen(answers)}
		if raw, err := json.Marshal(answers); err == nil && validText(qs, as) {
			var back map[string]any
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
			maps["by way of JSON"] = back
		}
		for way, m := range maps {
			got, err := host.ResolveAnswers(qs, m)
			var fields *host.FieldErrors
			if allSkipped(as) {
				if !errors.As(err, &fields) {
					t.Fatalf("%s, an empty map got %v, %v", way, got, err)
				}
				continue
			}
			if err != nil || !same(got, want) {
				t.Fatalf("%s, %q became %+v, %v; want %+v", way, m, got, err, want)
			}
			if again, _, err := host.EncodeAnswers(qs, got); err != nil || !reflect.DeepEqual(again, wire(qs, want)) {
				t.Fatalf("%s, encoded again: %q, %v", way, again, err)
			}
		}
	})
}

func validText(qs []host.OperatorQuestion, as []host.Answer) bool {
	for i, q := range qs {
		if !utf8.ValidString(q.Question) || !utf8.ValidString(as[i].Text) {
			return false
		}
		for _, o := range q.Options {
			if !utf8.ValidString(o.Label) {
				return false
			}
		}
	}
	return true
}

// In a multi-select, own words that say the same as a picked row are still an answer that can be read back.
func TestOwnWordsThatRepeatAPickedRow(t *testing.T) {
	qs := []host.OperatorQuestion{checks}
	answers, _, err := host.EncodeAnswers(qs, []host.Answer{{Picked: []int{0, 1}, Text: "lint"}})
	var fields *host.FieldErrors
	if errors.As(err, &fields) {
		return // refused in the field, so that it never becomes a map
	}
	as, err := host.ResolveAnswers(qs, answers)
	if err != nil || !same(as, []host.Answer{{Picked: []int{0, 1}}}) {
		t.Errorf("%q became %+v, %v", answers, as, err)
	}
}

// Words typed beside a row of a single select go along exactly as they were typed.
func TestOwnWordsBesideARowStayExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{"x", "\nx", "x\n", "\n\nx\n\n", " x ", "a\n\nb"}).Draw(t, "words")
		note := rapid.SampledFrom([]string{"", "n", "\nn\n"}).Draw(t, "note")
		_, notes, err := host.EncodeAnswers([]host.OperatorQuestion{database}, []host.Answer{{Picked: []int{0}, Text: words, Note: note}})
		got := notes[database.Question]
		if err != nil || !strings.HasPrefix(got, words) || !strings.HasSuffix(got, note) {
			t.Fatalf("%q with the note %q went along as %q, %v", words, note, got, err)
		}
	})
}

// Whatever is in an answer: it is accepted exactly when each question is settled, and the others are named.
func TestAnswersAreCheckedQuestionByQuestion(t *testing.T) {
	seldom := func(t *rapid.T, what string) bool { return rapid.IntRange(0, 7).Draw(t, what) == 0 }
	anything := func(t *rapid.T, rows int) host.Answer {
		return host.Answer{
			Picked: rapid.SliceOfN(rapid.IntRange(0, max(0, rows-1)), 0, 3).Draw(t, "rows"),
			Text:   rapid.SampledFrom([]string{"", "", "", " ", "x", "\u00a0", "\u200b"}).Draw(t, "text"),
			Note:   rapid.SampledFrom([]string{"", "n"}).Draw(t, "note"), Skipped: seldom(t, "skipped"), None: seldom(t, "none"),
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		qs := drawHostileQuestions(t)
		var as []host.Answer
		for _, q := range qs {
			a := anything(t, len(q.Options))
			if len(a.Picked) > 0 && seldom(t, "no such row") {
				a.Picked[0] = rapid.SampledFrom([]int{-1, len(q.Options)}).Draw(t, "row")
			}
			as = append(as, a)
		}
		if seldom(t, "one too many") {
			as = append(as, host.Answer{Text: "x"})
		} else if seldom(t, "one missing") {
			as = as[1:]
		}
		var want, got []int
		if len(as) != len(qs) {
			want = []int{-1}
		} else {
			for i := range qs {
				if !usable(qs[i], as[i]) {
					want = append(want, i)
				}
			}
		}
		err := host.CheckAnswers(qs, as)
		var fields *host.FieldErrors
		if errors.As(err, &fields) {
			for _, f := range fields.Fields {
				got = append(got, f.Question)
			}
		}
		if slices.Sort(got); (err == nil) != (len(want) == 0) || !slices.Equal(slices.Compact(got), want) {
			t.Fatalf("%+v of %+v: %v; wrong are %v", as, qs, err, want)
		}
		answers, notes, encodeErr := host.EncodeAnswers(qs, as)
		if (encodeErr == nil) != (err == nil) || encodeErr != nil && (answers != nil || notes != nil) {
			t.Fatalf("encoded to %q, %q, %v", answers, notes, encodeErr)
		}
	})
}

// A map from anywhere is understood as what stands in it, or refused; never as something else.
func TestMapsFromAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qs := drawHostileQuestions(t)
		answers := map[string]any{}
		for _, q := range qs {
			texts := []string{"x", "y", " ", ""}
			for _, o := range q.Options {
				texts = append(texts, o.Label, o.Label, askbridge.Safe(o.Label), " "+o.Label, strings.ToUpper(o.Label))
			}
			text := rapid.SampledFrom(texts)
			if rapid.IntRange(0, 4).Draw(t, "absent") == 0 {
				continue
			}
			answers[q.Question] = rapid.OneOf(
				rapid.Map(text, func(s string) any { return s }),
				rapid.Map(rapid.SliceOfN(text, 0, 4), func(s []string) any { return s }),
				rapid.Map(rapid.SliceOfN(text, 0, 4), func(s []string) any { return loosen(map[string]any{"": s})[""] }),
				rapid.SampledFrom([]any{nil, 1.5, false, map[string]any{"a": "b"}, []any{"x", nil}, []int{0}, json.RawMessage(`"x"`)}),
			).Draw(t, "value")
		}
		if rapid.IntRange(0, 5).Draw(t, "stray") == 0 {
			answers[hostile().Draw(t, "key")] = "x"
		}
		as, err := host.ResolveAnswers(qs, answers)
		if err != nil {
			var fields *host.FieldErrors
			if !errors.As(err, &fields) || len(fields.Fields) == 0 {
				t.Fatalf("%q got %v", answers, err)
			}
			return
		}
		if err := host.CheckAnswers(qs, as); err != nil {
			t.Fatalf("%q became %+v, which is refused: %v", answers, as, err)
		}
		said, meant := map[string]string{}, map[string]string{}
		for key, value := range answers {
			said[key] = fmt.Sprintf("%q", values(value))
		}
		for i, q := range qs {
			if !as[i].Skipped {
				var texts []string
				for _, row := range as[i].Picked {
					texts = append(texts, q.Options[row].Label)
				}
				if as[i].Text != "" {
					texts = append(texts, as[i].Text)
				}
				slices.Sort(texts)
				meant[q.Question] = fmt.Sprintf("%q", texts)
			}
		}
		if !reflect.DeepEqual(said, meant) {
			t.Fatalf("%q was taken for %q", said, meant)
		}
	})
}

// values are the strings of one value of a map, sorted.
func values(value any) (out []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []string:
		out = slices.Clone(v)
	case []any:
		for _, item := range v {
			out = append(out, fmt.Sprint(item))
		}
	}
	slices.Sort(out)
	return out
}

// The limit is on what is sent, to the byte, and the longest answer is the one to shorten.
func TestAnswersUpToTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qs := drawHostileQuestions(t)
		as := make([]host.Answer, len(qs))
		for i := range as {
			as[i] = host.Answer{Text: "own: " + hostile().Draw(t, "words")}
		}
		at := rapid.IntRange(0, len(qs)-1).Draw(t, "long one")
		over := rapid.SampledFrom([]int{-1, 0, 1, 2, 5000}).Draw(t, "over by")
		inNote := rapid.Bool().Draw(t, "in the note")
		if inNote {
			as[at].Note = "n"
		}
		answers, notes, err := host.EncodeAnswers(qs, as)
		if err != nil {
			t.Fatal(err)
		}
		size := func(v any) int {
			b, _ := json.Marshal(v) // strings always encode
			return len(b)
		}
		more := strings.Repeat("x", host.MaxAnswerBytes-size(answers)-size(notes)+over)
		if inNote {
			as[at].Note += more
		} else {
			as[at].Text += more
		}
		answers, _, err = host.EncodeAnswers(qs, as)
		var fields *host.FieldErrors
		switch {
		case over <= 0 && (err != nil || !reflect.DeepEqual(answers, wire(qs, as))):
			t.Fatalf("%d bytes under the limit got %v", -over, err)
		case over > 0 && (!errors.As(err, &fields) || len(fields.Fields) != 1 || fields.Fields[0].Question != at || answers != nil):
			t.Fatalf("%d bytes over the limit in answer %d got %v", over, at, err)
		}
	})
}
