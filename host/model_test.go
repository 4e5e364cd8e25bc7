package host_test

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// modelAsk is what an ask should be, told a second time and without any concurrency.
type modelAsk struct {
	id, session      string
	questions        []host.OperatorQuestion // as the asker put them
	asker            host.Asker              // likewise
	toolUse, reopens string
	opened, deadline time.Time
	wait             time.Duration
	drafts           []host.Draft
	end              *modelEnd // nil while open
}

// modelEnd is how an ask should have ended.
type modelEnd struct {
	outcome host.Outcome
	surface string
	reason  string // "" where the words are the switchboard's own
	answers []host.Answer
	at      time.Time // zero where a race leaves it open
}

// model is the switchboard as the rules have it: the asks in the order they came, who is present, and the time.
type model struct {
	now      time.Time
	asks     []*modelAsk
	presence map[int]string // the sessions that somebody declared; "" is all of them
	closed   bool
}

func (m *model) open(session string) (out []*modelAsk) {
	for _, a := range m.asks {
		if a.end == nil && admits(session, a.session) {
			out = append(out, a)
		}
	}
	return out
}

func (m *model) present(session string) bool {
	for _, declared := range m.presence {
		if admits(declared, session) {
			return true
		}
	}
	return false
}

// advance moves the time and says which asks that ends.
func (m *model) advance(d time.Duration) (expired []*modelAsk) {
	m.now = m.now.Add(d)
	for _, a := range m.open("") {
		if !a.deadline.After(m.now) {
			a.end = &modelEnd{outcome: host.TimedOut, at: a.deadline}
			expired = append(expired, a)
		}
	}
	return expired
}

// active is the rule of activity: at least a minute away, but not beyond three times the wait. A second more or
// less is the switchboard's choice, so that a held key does not move a deadline with each repeat.
func (a *modelAsk) active(now, moved time.Time) (problem string) {
	wanted, latest := now.Add(time.Minute), a.opened.Add(3*a.wait)
	if wanted.After(latest) {
		wanted = latest
	}
	off := moved.Sub(wanted)
	switch {
	case !a.deadline.Before(wanted) && !moved.Equal(a.deadline):
		problem = "the deadline was far enough and moved"
	case a.deadline.Before(wanted) && (off.Abs() > time.Second || moved.After(latest) || moved.Before(a.deadline)):
		problem = fmt.Sprintf("the deadline is %s off", off)
	}
	a.deadline = moved
	return problem
}

func admits(filter, session string) bool { return filter == "" || filter == session }

func filterOf(session string) host.Filter {
	if session == "" {
		return nil
	}
	return host.OnlySession(session)
}

// wire is what an asker should receive for these answers to its questions.
func wire(qs []host.OperatorQuestion, as []host.Answer) map[string]any {
	out := map[string]any{}
	for i, a := range as {
		if a.Skipped {
			continue
		}
		values := []string{}
		for _, row := range a.Picked {
			values = append(values, qs[i].Options[row].Label)
		}
		if a.Text != "" {
			values = append(values, a.Text)
		}
		if qs[i].MultiSelect {
			out[qs[i].Question] = values
		} else {
			out[qs[i].Question] = values[0]
		}
	}
	return out
}

// usable is whether an answer settles a question, put as what it has to be.
func usable(q host.OperatorQuestion, a host.Answer) bool {
	inOrder := sort.SliceIsSorted(a.Picked, func(i, j int) bool { return a.Picked[i] < a.Picked[j] })
	distinct := map[int]bool{}
	for _, row := range a.Picked {
		if distinct[row] || row < 0 || row >= len(q.Options) {
			return false
		}
		distinct[row] = true
	}
	words := strings.TrimSpace(a.Text) != ""
	says := len(a.Picked) > 0 || words
	switch {
	case a.Text != "" && !words, !inOrder, len(a.Picked) > 1 && !q.MultiSelect:
		return false
	case a.Skipped:
		return !says && !a.None
	case a.None:
		return !says && q.MultiSelect
	}
	return says
}

// keptPartial is what is left of the answers that go along with a decline.
func keptPartial(qs []host.OperatorQuestion, as []host.Answer) []host.Answer {
	out, kept := make([]host.Answer, len(qs)), false
	for i := range qs {
		if i < len(as) && !as[i].Skipped && usable(qs[i], as[i]) {
			out[i], kept = as[i], true
		}
	}
	if !kept {
		return nil
	}
	return out
}

// same compares answers without minding how an empty list of rows is written.
func same(a, b []host.Answer) bool {
	return slices.EqualFunc(a, b, func(x, y host.Answer) bool {
		rows := slices.Equal(x.Picked, y.Picked)
		x.Picked, y.Picked = nil, nil
		return rows && reflect.DeepEqual(x, y)
	})
}

func allSkipped(as []host.Answer) bool {
	return !slices.ContainsFunc(as, func(a host.Answer) bool { return !a.Skipped })
}

// nastyTexts are labels and words that a careless encoding, or a careless screen, takes for something else.
var nastyTexts = []string{
	"Yes", "No", "Yes (Recommended)", "Other", "Health, longevity", "a, b", `["Yes","No"]`, `{"answers":{}}`, "null", "[]", "",
	"Yes, always\u202e", "Yes, always‹U+202E›", "\x1b]0;title\x07", "‹ESC›]0;title‹BEL›", "tab\there", "1", "繁體中文 A1", "👩‍👩‍👧 family",
	" Yes", "Yes ", "yes", "Ye\u0301s", "Y\u00e9s", "<img src=x onerror=alert(1)>", "\"quoted\\\"", "line\nbreak", "\u2028", "\xff\xfe",
}

// drawQuestions makes an ask of one to three questions whose texts, and whose labels within one question, differ.
func drawQuestions(t *rapid.T) []host.OperatorQuestion {
	qs := make([]host.OperatorQuestion, rapid.IntRange(1, 3).Draw(t, "questions"))
	text := rapid.SampledFrom(nastyTexts)
	for i := range qs {
		qs[i] = host.OperatorQuestion{
			Question: fmt.Sprintf("%s %d?", text.Draw(t, "question"), i), Header: text.Draw(t, "header"), MultiSelect: rapid.Bool().Draw(t, "multi"),
		}
		for _, label := range rapid.SliceOfNDistinct(text.Filter(notBlank), 0, 4, rapid.ID[string]).Draw(t, "labels") {
			qs[i].Options = append(qs[i].Options, host.OperatorOption{Label: label, Description: text.Draw(t, "description")})
		}
	}
	return qs
}

func notBlank(s string) bool { return strings.TrimSpace(s) != "" }

func drawAnswers(t *rapid.T, qs []host.OperatorQuestion) []host.Answer {
	as := make([]host.Answer, len(qs))
	for i, q := range qs {
		as[i] = drawAnswer(t, q)
	}
	return as
}

// drawAnswer makes an answer that can be accepted.
func drawAnswer(t *rapid.T, q host.OperatorQuestion) (a host.Answer) {
	kinds := []string{"words", "skip"}
	if len(q.Options) > 0 {
		kinds = append(kinds, "rows", "rows", "rows and words")
	}
	if q.MultiSelect {
		kinds = append(kinds, "none")
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "kind of answer")
	if strings.HasPrefix(kind, "rows") {
		most := 1
		if q.MultiSelect {
			most = len(q.Options)
		}
		a.Picked = rapid.SliceOfNDistinct(rapid.IntRange(0, len(q.Options)-1), 1, most, rapid.ID[int]).Draw(t, "rows")
		sort.Ints(a.Picked)
	}
	if strings.HasSuffix(kind, "words") {
		a.Text = "own: " + rapid.SampledFrom(nastyTexts).Draw(t, "words")
	}
	a.Skipped, a.None = kind == "skip", kind == "none"
	a.Note = rapid.SampledFrom([]string{"", "", "for now", " \n"}).Draw(t, "note")
	return a
}

// drawBadAnswers makes answers with something wrong at one question, or, with -1, at the whole.
func drawBadAnswers(t *rapid.T, qs []host.OperatorQuestion) (as []host.Answer, at int) {
	as = drawAnswers(t, qs)
	if rapid.IntRange(0, 7).Draw(t, "wrong number") == 0 {
		if rapid.Bool().Draw(t, "too many") {
			return append(as, host.Answer{Skipped: true}), -1
		}
		return as[:len(as)-1], -1
	}
	at = rapid.IntRange(0, len(qs)-1).Draw(t, "bad question")
	rows := len(qs[at].Options)
	bad := []host.Answer{
		{}, {Note: "only a note"}, {Text: " \n\t"}, {Picked: []int{rows}}, {Picked: []int{-1}}, {Skipped: true, Text: "words"},
		{Skipped: true, None: true}, {None: true, Text: "words"}, {Text: strings.Repeat("x", host.MaxAnswerBytes+1)},
	}
	if rows > 0 {
		bad = append(bad, host.Answer{Skipped: true, Picked: []int{0}}, host.Answer{None: true, Picked: []int{0}}, host.Answer{Picked: []int{0, 0}},
			host.Answer{Picked: []int{0}, Text: " "})
	}
	if rows > 1 {
		bad = append(bad, host.Answer{Picked: []int{1, 0}})
	}
	if !qs[at].MultiSelect {
		bad = append(bad, host.Answer{None: true})
		if rows > 1 {
			bad = append(bad, host.Answer{Picked: []int{0, 1}})
		}
	}
	as[at] = rapid.SampledFrom(bad).Draw(t, "bad answer")
	return as, at
}
