package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// said is what the flags of answer say, before it is known of which questions.
type said struct{ picks, texts, notes, none, skip []string }

// answersFrom makes an answer for each question. What does not fit is named, with what there is.
func (s said) answersFrom(qs []host.OperatorQuestion) ([]host.Answer, error) {
	as := make([]host.Answer, len(qs))
	for _, word := range s.picks {
		i, row, err := pickOf(qs, word)
		if err != nil {
			return nil, fmt.Errorf("--pick %s: %w", askbridge.Safe(strconv.Quote(word)), err)
		}
		if slices.Contains(as[i].Picked, row) {
			return nil, fmt.Errorf("--pick %s: it was picked already", askbridge.Safe(strconv.Quote(word)))
		}
		as[i].Picked = append(as[i].Picked, row)
		slices.Sort(as[i].Picked)
	}
	for _, word := range s.texts {
		if err := wordsFor(qs, word, func(i int) *string { return &as[i].Text }); err != nil {
			return nil, fmt.Errorf("--text: %w", err)
		}
	}
	for _, word := range s.notes {
		if err := wordsFor(qs, word, func(i int) *string { return &as[i].Note }); err != nil {
			return nil, fmt.Errorf("--note: %w", err)
		}
	}
	for flag, list := range map[string][]string{"none": s.none, "skip": s.skip} {
		for _, word := range list {
			i, err := whole(qs, word)
			if err != nil {
				return nil, fmt.Errorf("--%s: %w", flag, err)
			}
			as[i].None, as[i].Skipped = as[i].None || flag == "none", as[i].Skipped || flag == "skip"
		}
	}
	return as, fits(qs, as)
}

// fits is what the other end checks too: here nothing is used up by it.
func fits(qs []host.OperatorQuestion, as []host.Answer) error {
	_, _, err := host.EncodeAnswers(qs, as)
	var fields *host.FieldErrors
	if !errors.As(err, &fields) {
		return err
	}
	var parts []string
	for _, f := range fields.Fields {
		if f.Question < 0 || f.Question >= len(qs) {
			parts = append(parts, f.Problem)
			continue
		}
		words := fmt.Sprintf("%s (%s)", f.Problem, rowsOf(qs[f.Question]))
		if len(qs) > 1 {
			words = fmt.Sprintf("question %d, %q: %s", f.Question+1, oneLineOf(qs[f.Question].Question), words)
		}
		parts = append(parts, words)
	}
	return errors.New(strings.Join(parts, "; "))
}

// pickOf finds the row that a --pick means: LABEL or its number, and of several questions QUESTION=LABEL, where QUESTION
// is the text, the header or the number.
func pickOf(qs []host.OperatorQuestion, word string) (question, row int, err error) {
	if len(qs) == 1 {
		row, ok, err := rowOf(qs[0], word)
		if err != nil || ok {
			return 0, row, err
		}
	}
	type place struct{ question, row int }
	var found []place
	for at := range len(word) {
		if word[at] != '=' {
			continue
		}
		i, known := questionOf(qs, word[:at])
		if !known {
			continue
		}
		row, ok, err := rowOf(qs[i], word[at+1:])
		if err != nil {
			return 0, 0, err
		}
		if ok && !slices.Contains(found, place{i, row}) {
			found = append(found, place{i, row})
		}
	}
	switch {
	case len(found) == 1:
		return found[0].question, found[0].row, nil
	case len(found) > 1:
		return 0, 0, errors.New("it can be read in several ways; name the question by its number")
	case len(qs) == 1:
		return 0, 0, fmt.Errorf("there is no such row; %s", rowsOf(qs[0]))
	}
	var all []string
	for i, q := range qs {
		all = append(all, fmt.Sprintf("%d=… of %q: %s", i+1, oneLineOf(q.Question), rowsOf(q)))
	}
	return 0, 0, fmt.Errorf("expected QUESTION=LABEL; there are %s", strings.Join(all, "; "))
}

// questionOf finds a question by its text, its header where only one has it, or its number.
func questionOf(qs []host.OperatorQuestion, name string) (int, bool) {
	if i := slices.IndexFunc(qs, func(q host.OperatorQuestion) bool { return q.Question == name }); i >= 0 {
		return i, true
	}
	found := -1
	for i, q := range qs {
		if q.Header != "" && q.Header == name {
			if found >= 0 {
				return 0, false
			}
			found = i
		}
	}
	if found >= 0 {
		return found, true
	}
	n, err := strconv.Atoi(name)
	return n - 1, err == nil && n >= 1 && n <= len(qs)
}

// rowOf finds a row by its label or its number. A label that is the number of another row is not guessed about.
func rowOf(q host.OperatorQuestion, word string) (row int, ok bool, err error) {
	label := slices.IndexFunc(q.Options, func(o host.OperatorOption) bool { return o.Label == word })
	n, numErr := strconv.Atoi(strings.TrimPrefix(word, "#"))
	number := numErr == nil && n >= 1 && n <= len(q.Options)
	switch {
	case label >= 0 && number && label != n-1:
		return 0, false, fmt.Errorf("%q is the label of row %d and the number of another; give that one as #%d, or this one as #%d", word, label+1, n, label+1)
	case label >= 0:
		return label, true, nil
	}
	return n - 1, number, nil
}

// whole finds the question that a flag without words means.
func whole(qs []host.OperatorQuestion, name string) (int, error) {
	if name == theOnly {
		if len(qs) == 1 {
			return 0, nil
		}
		return 0, fmt.Errorf("there are %d questions; say which, as in =2", len(qs))
	}
	i, ok := questionOf(qs, name)
	if !ok {
		return 0, fmt.Errorf("there is no question %q; there are %d", askbridge.Safe(name), len(qs))
	}
	return i, nil
}

// theOnly is the value of a flag that was given none. No question's text is blank.
const theOnly = " "

// wordsFor puts words to their question: all of them where there is one, else QUESTION=WORDS.
func wordsFor(qs []host.OperatorQuestion, word string, into func(i int) *string) error {
	i := 0
	if len(qs) > 1 {
		ok := false
		for at := range len(word) {
			if word[at] == '=' {
				if i, ok = questionOf(qs, word[:at]); ok {
					word = word[at+1:]
					break
				}
			}
		}
		if !ok {
			return fmt.Errorf("there are %d questions; expected QUESTION=WORDS, as in 2=%s", len(qs), askbridge.Safe(word))
		}
	}
	if *into(i) != "" {
		return errors.New("given twice for one question")
	}
	*into(i) = word
	return nil
}

// rowsOf names the rows of a question.
func rowsOf(q host.OperatorQuestion) string {
	if len(q.Options) == 0 {
		return "it has no rows; answer with --text"
	}
	var rows []string
	for i, o := range q.Options {
		rows = append(rows, fmt.Sprintf("%d %s", i+1, o.Label))
	}
	return "its rows are: " + strings.Join(rows, " | ")
}

func oneLineOf(text string) string { return strings.Join(strings.Fields(text), " ") }

// answersIn reads answers that a program gives: an object by the text of the questions, or a list by index.
func answersIn(in io.Reader, qs []host.OperatorQuestion) ([]host.Answer, error) {
	raw, err := io.ReadAll(io.LimitReader(in, host.MaxAnswerBytes*2+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > host.MaxAnswerBytes*2 {
		return nil, fmt.Errorf("--json: more than %d bytes", host.MaxAnswerBytes*2)
	}
	var byText map[string]any
	if json.Unmarshal(raw, &byText) == nil && byText != nil {
		as, err := host.ResolveAnswers(qs, byText)
		if err != nil {
			var keys []string
			for _, q := range qs {
				keys = append(keys, strconv.Quote(q.Question))
			}
			return nil, fmt.Errorf("--json: %w; the keys are %s", err, strings.Join(keys, ", "))
		}
		return as, fits(qs, as)
	}
	var byIndex []struct {
		Picked  []int  `json:"picked"`
		Text    string `json:"text"`
		Note    string `json:"note"`
		Skipped bool   `json:"skipped"`
		None    bool   `json:"none"`
	}
	if err := json.Unmarshal(raw, &byIndex); err != nil {
		return nil, errors.New(`--json: expected {"<question>": "<label>"} or [{"picked":[0]}]`)
	}
	as := make([]host.Answer, len(byIndex))
	for i, a := range byIndex {
		as[i] = host.Answer(a)
	}
	return as, fits(qs, as)
}
