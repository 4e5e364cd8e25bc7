package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxAnswerBytes bounds the encoded answers of one ask. Agents move larger tool results to a file and read only
// a preview of it (measured: from about 70 KB), so a longer answer is refused in the field, before sending.
const MaxAnswerBytes = 48 << 10

// FieldError names what is wrong with the answer to one question. Question is an index; -1 is the whole ask.
type FieldError struct {
	Question int
	Problem  string
}

// FieldErrors is everything that must be mended before an answer can be accepted.
type FieldErrors struct{ Fields []FieldError }

func (e *FieldErrors) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		if f.Question < 0 {
			parts[i] = f.Problem
			continue
		}
		parts[i] = fmt.Sprintf("question %d: %s", f.Question+1, f.Problem)
	}
	return strings.Join(parts, "; ")
}

func (e *FieldErrors) add(question int, format string, args ...any) {
	e.Fields = append(e.Fields, FieldError{Question: question, Problem: fmt.Sprintf(format, args...)})
}

func (e *FieldErrors) orNil() error {
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// CheckAnswers reports whether as answers qs: an answer for each question, by index, each of them a pick, a
// text, a skip or an explicit none. The error is a *FieldErrors.
func CheckAnswers(qs []OperatorQuestion, as []Answer) error {
	errs := &FieldErrors{}
	if len(as) != len(qs) {
		errs.add(-1, "%d answers for %d questions", len(as), len(qs))
		return errs
	}
	for i, a := range as {
		checkAnswer(errs, i, qs[i], a)
	}
	return errs.orNil()
}

func checkAnswer(errs *FieldErrors, i int, q OperatorQuestion, a Answer) {
	switch {
	case a.Empty():
		errs.add(i, "not answered yet")
	case a.Skipped && (len(a.Picked) > 0 || a.Text != "" || a.None):
		errs.add(i, "skipped and answered at once")
	case a.None && (len(a.Picked) > 0 || a.Text != ""):
		errs.add(i, "none and an answer at once")
	case a.None && !q.MultiSelect:
		errs.add(i, "a single select has no answer \"none\"; skip it or decline")
	case a.Text != "" && strings.TrimSpace(a.Text) == "":
		errs.add(i, "the own answer is blank")
	case len(a.Picked) > 1 && !q.MultiSelect:
		errs.add(i, "%d rows picked where one can be", len(a.Picked))
	}
	for n, p := range a.Picked {
		if p < 0 || p >= len(q.Options) {
			errs.add(i, "there is no row %d", p+1)
		}
		if n > 0 && p <= a.Picked[n-1] {
			errs.add(i, "rows are picked once each, in their order")
		}
	}
}

// EncodeAnswers turns checked answers into the form of the wire, keyed by question text: a string for a single
// select, a []string in option order with free text last for a multi-select (also for one value, and empty only
// after an explicit none). A skipped question is absent. In a single select with a row and a text, the row is
// the answer and the text goes along in notes, which are keyed by question text too and nil when there are
// none. The error is a *FieldErrors, also for answers over MaxAnswerBytes.
func EncodeAnswers(qs []OperatorQuestion, as []Answer) (answers map[string]any, notes map[string]string, err error) {
	if err := CheckAnswers(qs, as); err != nil {
		return nil, nil, err
	}
	answers = map[string]any{}
	for i, q := range qs {
		value, note, ok := encodeAnswer(q, as[i])
		if ok {
			answers[q.Question] = value
		}
		if note != "" {
			if notes == nil {
				notes = map[string]string{}
			}
			notes[q.Question] = note
		}
	}
	if err := checkSize(qs, answers, notes); err != nil {
		return nil, nil, err
	}
	return answers, notes, nil
}

func encodeAnswer(q OperatorQuestion, a Answer) (value any, note string, ok bool) {
	note = a.Note
	if a.Skipped {
		return nil, note, false
	}
	if q.MultiSelect {
		list := make([]string, 0, len(a.Picked)+1)
		for _, p := range a.Picked {
			list = append(list, q.Options[p].Label)
		}
		// Words that repeat a picked row say nothing more, and could not be read back.
		if a.Text != "" && !slices.Contains(list, a.Text) {
			list = append(list, a.Text)
		}
		return list, note, true
	}
	if len(a.Picked) == 0 {
		return a.Text, note, true
	}
	if a.Text != "" {
		note = a.Text
		if a.Note != "" {
			note += "\n" + a.Note
		}
	}
	return q.Options[a.Picked[0]].Label, note, true
}

func checkSize(qs []OperatorQuestion, answers map[string]any, notes map[string]string) error {
	size := func(v any) int {
		b, _ := json.Marshal(v) // strings and lists of strings always encode
		return len(b)
	}
	total := size(answers) + size(notes)
	if total <= MaxAnswerBytes {
		return nil
	}
	longest, at := -1, -1
	for i, q := range qs {
		if n := size(answers[q.Question]) + size(notes[q.Question]); n > longest {
			longest, at = n, i
		}
	}
	errs := &FieldErrors{}
	errs.add(at, "the answers are %d bytes, %d can be sent; shorten this one or put it in a file and name the file", total, MaxAnswerBytes)
	return errs
}

// ResolveAnswers is the inverse of EncodeAnswers for maps that a plain prompter or a remote caller gives. A
// string that equals a label is that pick; at most one other string a question is own text. A question that is
// absent counts as skipped. Keys that are no question and values of another type are errors, and so is a map
// that answers nothing. The error is a *FieldErrors.
func ResolveAnswers(qs []OperatorQuestion, answers map[string]any) ([]Answer, error) {
	errs := &FieldErrors{}
	as := make([]Answer, len(qs))
	known := make(map[string]bool, len(qs))
	for i, q := range qs {
		known[q.Question] = true
		value, ok := answers[q.Question]
		if !ok {
			as[i] = Answer{Skipped: true}
			continue
		}
		a, problem := resolveAnswer(q, value)
		if problem != "" {
			errs.add(i, "%s", problem)
		}
		as[i] = a
	}
	var unknown []string
	for key := range answers {
		if !known[key] {
			unknown = append(unknown, fmt.Sprintf("%q", key))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		errs.add(-1, "no question reads %s", strings.Join(unknown, ", "))
	}
	if len(answers) == 0 {
		errs.add(-1, "there is no answer in it")
	}
	if len(errs.Fields) > 0 {
		return nil, errs
	}
	return as, CheckAnswers(qs, as)
}

func resolveAnswer(q OperatorQuestion, value any) (a Answer, problem string) {
	var values []string
	switch v := value.(type) {
	case string:
		values = []string{v}
	case []string:
		values = v
	case []any:
		for _, item := range v {
			s, ok := item.(string)
			if !ok {
				return a, fmt.Sprintf("the answer has a %T where only strings can be", item)
			}
			values = append(values, s)
		}
	default:
		return a, fmt.Sprintf("the answer is a %T, not a string or a list of strings", value)
	}
	if len(values) == 0 {
		if !q.MultiSelect {
			return a, "the list is empty"
		}
		return Answer{None: true}, ""
	}
	rows := make(map[string]int, len(q.Options))
	for i, o := range q.Options {
		rows[o.Label] = i
	}
	for _, v := range values {
		if row, ok := rows[v]; ok {
			a.Picked = append(a.Picked, row)
			continue
		}
		if a.Text != "" {
			return a, fmt.Sprintf("%q and %q are both no option; one own answer can be given", a.Text, v)
		}
		if strings.TrimSpace(v) == "" {
			return a, "the answer is blank"
		}
		a.Text = v
	}
	slices.Sort(a.Picked)
	return a, ""
}
