package agent

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"example.com/kitsoki/host"
)

func question(text string, labels ...string) host.OperatorQuestion {
	q := host.OperatorQuestion{Question: text, Header: "h"}
	for _, l := range labels {
		q.Options = append(q.Options, host.OperatorOption{Label: l})
	}
	return q
}

// desk is an operator without a switchboard, and what was asked of them.
type desk struct {
	asked  [][]string
	answer map[string]any
	err    error
}

func (d *desk) Ask(_ context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
	var texts []string
	answers := map[string]any{}
	for _, q := range qs {
		texts = append(texts, q.Question)
		if a, ok := d.answer[q.Question]; ok {
			answers[q.Question] = a
		}
	}
	d.asked = append(d.asked, texts)
	return answers, d.err
}

func ask(t *testing.T, m *memory, qs ...host.OperatorQuestion) map[string]any {
	t.Helper()
	answers, err := m.Ask(context.Background(), "s", qs)
	if err != nil {
		t.Fatal(err)
	}
	return answers
}

// Of an ask the operator sees what is not known, and the agent gets the whole.
func TestMemoryAnswersAPartOfAnAsk(t *testing.T) {
	d := &desk{answer: map[string]any{"A": "own words", "B": "b2", "C": "c1"}}
	var told []Recall
	m := newMemory(d, func(r Recall) { told = append(told, r) })
	a, b, c := question("A"), question("B", "b1", "b2"), question("C", "c1")
	m.begin(1)
	ask(t, m, a, b)
	m.begin(2)
	if got := ask(t, m, c, b, a); !reflect.DeepEqual(got, d.answer) {
		t.Errorf("the agent got %v", got)
	}
	if want := [][]string{{"A", "B"}, {"C"}}; !reflect.DeepEqual(d.asked, want) {
		t.Errorf("asked %v, want %v", d.asked, want)
	}
	want := []Recall{{Attempt: 2, Questions: []host.OperatorQuestion{b, a}, Answers: []host.Answer{{Picked: []int{1}}, {Text: "own words"}}}}
	if !reflect.DeepEqual(told, want) {
		t.Errorf("told %+v", told)
	}
	m.begin(3)
	if ask(t, m, c, b, a); len(d.asked) != 2 || !told[1].Whole {
		t.Errorf("asked %v, told %+v", d.asked, told)
	}
}

// Letter for letter: another option, header or choice makes another question.
func TestMemoryTakesNoOtherQuestionForTheSame(t *testing.T) {
	d := &desk{answer: map[string]any{"B": "b1"}}
	m := newMemory(d, func(r Recall) { t.Errorf("told %+v", r) })
	m.begin(1)
	ask(t, m, question("B", "b1", "b2"))
	m.begin(2)
	header, described := question("B", "b1", "b2"), question("B", "b1", "b2")
	header.Header, described.Options[0].Description = "other", "cheap"
	for _, q := range []host.OperatorQuestion{question("B", "b1"), question("B", "b2", "b1"), question("B", "b1", "b2", "b3"), header, described} {
		ask(t, m, q)
	}
	multi := question("B", "b1", "b2")
	multi.MultiSelect, d.answer["B"] = true, []string{"b1"}
	ask(t, m, multi)
	if len(d.asked) != 7 {
		t.Errorf("asked %v", d.asked)
	}
}

// A question that was left out has no answer, and a map that answers nothing known is passed on as it came.
func TestMemoryKeepsNoSkippedQuestion(t *testing.T) {
	d := &desk{answer: map[string]any{"A": "x"}}
	m := newMemory(d, func(Recall) {})
	m.begin(1)
	ask(t, m, question("A"), question("B"))
	m.begin(2)
	if got := ask(t, m, question("A"), question("B")); !reflect.DeepEqual(got, map[string]any{"A": "x"}) || len(d.asked) != 2 || d.asked[1][0] != "B" {
		t.Errorf("got %v, asked %v", got, d.asked)
	}
}

// A decline names what had been answered by the place of its question, also when the operator saw a part of the ask.
func TestMemoryPutsAPartialAnswerWhereItsQuestionIs(t *testing.T) {
	d := &desk{answer: map[string]any{"A": "a2"}}
	m := newMemory(d, func(Recall) {})
	a, b, c := question("A", "a1", "a2"), question("B", "b1"), question("C", "c1")
	m.begin(1)
	ask(t, m, a)
	m.begin(2)
	d.err = &host.Unanswered{Outcome: host.Declined, Reason: "no", Partial: []host.Answer{{}, {Picked: []int{0}}}}
	_, err := m.Ask(context.Background(), "s", []host.OperatorQuestion{b, a, c})
	var u *host.Unanswered
	if want := []host.Answer{{}, {Picked: []int{1}}, {Picked: []int{0}}}; !errors.As(err, &u) || u.Outcome != host.Declined || !reflect.DeepEqual(u.Partial, want) {
		t.Errorf("got %+v", u)
	}
	d.err = &host.Unanswered{Outcome: host.TimedOut}
	if _, err := m.Ask(context.Background(), "s", []host.OperatorQuestion{b, a}); !errors.Is(err, d.err) {
		t.Errorf("got %v", err)
	}
}
