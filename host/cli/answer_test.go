package cli

import (
	"reflect"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

func options(labels ...string) []host.OperatorOption {
	var out []host.OperatorOption
	for _, l := range labels {
		out = append(out, host.OperatorOption{Label: l})
	}
	return out
}

func TestAnswersFromFlags(t *testing.T) {
	one := []host.OperatorQuestion{{Question: "Which?", Options: options("a", "b, or c", "3", "x=y", "1")}}
	several := []host.OperatorQuestion{
		{Question: "a=b?", Header: "Eq", Options: options("yes", "no=never")},
		{Question: "Hosts?", Header: "Two", Options: options("h1", "h2", "h3"), MultiSelect: true},
		{Question: "Why?", Header: "Two"},
	}
	only := []string{theOnly}
	for name, c := range map[string]struct {
		qs   []host.OperatorQuestion
		said said
		want []host.Answer
		err  string
	}{
		"a label":                         {one, said{picks: []string{"b, or c"}}, []host.Answer{{Picked: []int{1}}}, ""},
		"a number":                        {one, said{picks: []string{"2"}}, []host.Answer{{Picked: []int{1}}}, ""},
		"a label that is its own number":  {one, said{picks: []string{"3"}}, []host.Answer{{Picked: []int{2}}}, ""},
		"a label that is another number":  {one, said{picks: []string{"1"}}, nil, `"1" is the label of row 5 and the number of another; give that one as #1, or this one as #5`},
		"and the number":                  {one, said{picks: []string{"#1"}}, []host.Answer{{Picked: []int{0}}}, ""},
		"a label with an equals sign":     {one, said{picks: []string{"x=y"}}, []host.Answer{{Picked: []int{3}}}, ""},
		"a named question of one":         {one, said{picks: []string{"Which?=a"}}, []host.Answer{{Picked: []int{0}}}, ""},
		"no such label":                   {one, said{picks: []string{"A"}}, nil, "there is no such row; its rows are: 1 a | 2 b, or c | 3 3"},
		"no such row":                     {one, said{picks: []string{"6"}}, nil, "there is no such row"},
		"two of a single choice":          {one, said{picks: []string{"a", "3"}}, nil, "2 rows picked where one can be (its rows are: 1 a"},
		"one twice":                       {one, said{picks: []string{"a", "#1"}}, nil, "picked already"},
		"none of a single choice":         {one, said{none: only}, nil, "skip it or decline"},
		"own words":                       {one, said{texts: []string{"1=x"}}, []host.Answer{{Text: "1=x"}}, ""},
		"blank words":                     {one, said{texts: []string{" "}}, nil, "blank"},
		"a row, words and a note":         {one, said{picks: []string{"a"}, texts: []string{"t"}, notes: []string{"n"}}, []host.Answer{{Picked: []int{0}, Text: "t", Note: "n"}}, ""},
		"skipped and answered":            {one, said{picks: []string{"a"}, skip: only}, nil, "skipped and answered"},
		"several, every way":              {several, said{picks: []string{"a=b?=no=never", "2=h3", "Hosts?=h1"}, texts: []string{"3=because 1=2"}}, []host.Answer{{Picked: []int{1}}, {Picked: []int{0, 2}}, {Text: "because 1=2"}}, ""},
		"several by header":               {several, said{picks: []string{"Eq=1"}, none: []string{"2"}, skip: []string{"Why?"}}, []host.Answer{{Picked: []int{0}}, {None: true}, {Skipped: true}}, ""},
		"a header that two have":          {several, said{picks: []string{"Two=h1"}}, nil, `expected QUESTION=LABEL; there are 1=… of "a=b?": its rows are: 1 yes | 2 no=never; 2=… of "Hosts?"`},
		"several and no name":             {several, said{picks: []string{"yes"}}, nil, "expected QUESTION=LABEL"},
		"several and a text without name": {several, said{texts: []string{"so"}}, nil, "there are 3 questions; expected QUESTION=WORDS"},
		"several and a skip without name": {several, said{skip: only}, nil, "say which"},
		"one left open":                   {several, said{picks: []string{"1=1", "2=1"}}, nil, `question 3, "Why?": not answered yet (it has no rows; answer with --text)`},
	} {
		got, err := c.said.answersFrom(c.qs)
		switch {
		case c.err == "" && (err != nil || !reflect.DeepEqual(got, c.want)):
			t.Errorf("%s: got %+v, %v", name, got, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: got %v, want %s", name, err, c.err)
		}
	}
}

func TestAnswersInJSON(t *testing.T) {
	qs := []host.OperatorQuestion{{Question: "A?", Options: options("x", "y")}, {Question: "B?", Options: options("x", "y"), MultiSelect: true}}
	for in, want := range map[string]string{
		`{"A?":"y","B?":["x"]}`:          "",
		`{"A?":"own"}`:                   "",
		`[{"picked":[1]},{"none":true}]`: "",
		`{"nope":"Beta"}`:                `the keys are "A?", "B?"`,
		`{}`:                             "no answer",
		`null`:                           "2 questions",
		`{"A?":7}`:                       "float64",
		`[{"picked":[7]},{}]`:            "there is no row 8",
		`x`:                              "expected",
	} {
		got, err := answersIn(strings.NewReader(in), qs)
		if want == "" {
			if err != nil || len(got) != 2 {
				t.Errorf("%s: %+v, %v", in, got, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestShortIDs(t *testing.T) {
	all := []string{"aaaa1", "aaaa2", "b", "aaaa1x", ""}
	for id, want := range map[string]string{"aaaa1": "aaaa1", "aaaa2": "aaaa2", "b": "b", "aaaa1x": "aaaa1x", "": ""} {
		if got := shortAsk(id, all); got != want {
			t.Errorf("%q is shortened to %q", id, got)
		}
	}
	if got := shortAsk("0123456789", all); got != "0123" {
		t.Errorf("got %q", got)
	}
}
