package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// broken changes the events of a good session, by their place in story.
type broken struct {
	name   string
	change func([]host.Event) []host.Event
	want   string // in a sentence
	seq    uint64
}

func without(at int) func([]host.Event) []host.Event {
	return func(es []host.Event) []host.Event { return slices.Delete(es, at, at+1) }
}

func twice(at int) func([]host.Event) []host.Event {
	return func(es []host.Event) []host.Event { return slices.Insert(es, at, es[at]) }
}

func swap(a, b int) func([]host.Event) []host.Event {
	return func(es []host.Event) []host.Event { es[a], es[b] = es[b], es[a]; return es }
}

func edit[E host.Event](at int, change func(*E)) func([]host.Event) []host.Event {
	return func(es []host.Event) []host.Event {
		e, ok := es[at].(E)
		if !ok {
			panic(fmt.Sprintf("event %d is a %T", at, es[at]))
		}
		change(&e)
		es[at] = e
		return es
	}
}

func brokenSessions() []broken {
	answer := func(change func(*host.TracedAnswer)) func([]host.Event) []host.Event {
		return edit(7, func(e *host.QuestionAnswered) { change(&e.Answers[0]) })
	}
	return []broken{
		{"never opened", without(0), "before the session was opened", 1},
		{"turn not started", without(1), "turn 1, which is not open", 2},
		{"turn not ended", without(11), "closed before turn 1 ended", 12},
		{"turn twice", twice(1), "turn 1 started while turn 1 was open", 3},
		{"turn ended twice", twice(11), "turn 1, which is not open", 13},
		{"turn out of order", edit(1, func(e *TurnStarted) { e.Turn = 2 }), "turn 2 started after turn 0", 2},
		{"agent not started", without(2), "agent ended that was not started", 10},
		{"agent not ended", without(10), "turn 1 ended before its agent", 11},
		{"agent twice", twice(2), "started twice", 4},
		{"tool of another turn", edit(3, func(e *AgentTool) { e.Turn = 7 }), "turn 7 while turn 1", 4},
		{"another session", edit(3, func(e *AgentTool) { e.SessionID = "s2" }), `belongs to the session "s2"`, 4},
		{"no session", edit(3, func(e *AgentTool) { e.SessionID = "" }), "names no session", 4},
		{"not asked", without(5), `"q1" ended as answered and was not asked`, 7},
		{"asked twice", twice(5), `"q1" was asked twice`, 7},
		{"answered twice", twice(7), `"q1" ended as answered, and had ended before (8)`, 9},
		{"no end", without(9), `turn 1 ended while its ask "q2" was open`, 11},
		{"answered before it was asked", swap(5, 7), "was not asked before", 6},
		{"both ends", edit(9, func(e *host.QuestionUnanswered) { e.QuestionID = "q1"; e.ToolUseID = "t2" }), "had ended before (8)", 10},
		{"delivered first", swap(7, 8), "delivered before it was answered", 8},
		{"delivered twice", twice(8), "delivered twice", 10},
		{"declined and delivered", edit(8, func(e *host.QuestionDelivered) { e.QuestionID = "q2" }), "delivered before it was answered", 9},
		{"delivered, never asked", edit(8, func(e *host.QuestionDelivered) { e.QuestionID = "q9" }), "was not asked before", 9},
		{"normalised in another turn", edit(4, func(e *AskNormalised) { e.Turn = 2 }), "turn 2 while turn 1", 5},
		{"answer of another call", edit(7, func(e *host.QuestionAnswered) { e.ToolUseID = "t9" }), `ended for "t9"`, 8},
		{"answered as declined", edit(7, func(e *host.QuestionAnswered) { e.Outcome = host.Declined }), `answered with the outcome "declined"`, 8},
		{"unanswered as answered", edit(9, func(e *host.QuestionUnanswered) { e.Outcome = host.Answered }), `with the outcome "answered"`, 10},
		{"index outside", answer(func(a *host.TracedAnswer) { a.Indexes = []int{2} }), "the index 2, and 2 options", 8},
		{"index below", answer(func(a *host.TracedAnswer) { a.Indexes = []int{-1} }), "the index -1", 8},
		{"label of another option", answer(func(a *host.TracedAnswer) { a.Labels = []string{"Postgres"} }), `the label "Postgres", and option 1 is "SQLite"`, 8},
		{"label missing", answer(func(a *host.TracedAnswer) { a.Labels = nil }), "1 indexes and 0 labels", 8},
		{"two of one", answer(func(a *host.TracedAnswer) { a.Indexes, a.Labels = []int{0, 1}, []string{"Postgres", "SQLite"} }), "2 answers where one", 8},
		{"says nothing", answer(func(a *host.TracedAnswer) { *a = host.TracedAnswer{} }), "says nothing", 8},
		{"skipped and answered", answer(func(a *host.TracedAnswer) { a.Skipped = true }), "an answer and skips it", 8},
		{"one answer too few", edit(7, func(e *host.QuestionAnswered) { e.Answers = e.Answers[:1] }), "2 questions and 1 answers", 8},
		{"not ascending", edit(7, func(e *host.QuestionAnswered) {
			e.Answers[1] = host.TracedAnswer{Indexes: []int{2, 0}, Labels: []string{"None", "Redis"}}
		}), "do not ascend", 8},
		{"same row twice", edit(7, func(e *host.QuestionAnswered) {
			e.Answers[1] = host.TracedAnswer{Indexes: []int{0, 0}, Labels: []string{"Redis", "Redis"}}
		}), "do not ascend", 8},
		{"all skipped", edit(7, func(e *host.QuestionAnswered) { e.Answers = []host.TracedAnswer{{Skipped: true}, {Skipped: true}} }), "every question skipped", 8},
		{"after the end", func(es []host.Event) []host.Event { return append(es, es[3]) }, "after the end of the session", 14},
		{"no questions", edit(5, func(e *host.QuestionAsked) { e.Questions = nil }), `"q1" has no question`, 6},
		{"no id", edit(5, func(e *host.QuestionAsked) { e.QuestionID = "" }), "has no question_id", 6},
	}
}

func TestEveryViolationIsFound(t *testing.T) {
	for _, b := range brokenSessions() {
		t.Run(b.name, func(t *testing.T) {
			r := Check(bytes.NewReader(encode(recordsOf(t, b.change(story("s1"))))), false)
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Seq == b.seq && strings.Contains(v.Sentence, b.want) }) {
				t.Errorf("record %d: …%s… was not found in %+v", b.seq, b.want, r.Violations)
			}
		})
	}
}

func TestBrokenFiles(t *testing.T) {
	good := recordsOf(t, story("s1"))
	records := func(change func([]Record) []Record) []byte { return encode(change(slices.Clone(good))) }
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"gap in the sequence":  {records(func(r []Record) []Record { return slices.Delete(r, 3, 4) }), "is 5, where 4 should come"},
		"sequence twice":       {records(func(r []Record) []Record { r[3].Seq = 3; return r }), "is 3, where 4 should come"},
		"does not begin at 1":  {records(func(r []Record) []Record { r[0].Seq = 2; return r[:1] }), "is 2, where 1 should come"},
		"time goes back":       {records(func(r []Record) []Record { r[3].Time = r[1].Time; return r }), "the time goes back"},
		"data of another kind": {records(func(r []Record) []Record { r[3].Data = json.RawMessage(`"x"`); return r }), "event agent.tool"},
		"no header":            {bytes.SplitN(encode(good), []byte("\n"), 2)[1], "this is no trace"},
		"not a trace":          {[]byte("dear diary\n"), "this is no trace"},
		"empty":                {nil, "the file is empty"},
		"newer":                {[]byte(`{"format":"kitsoki-trace","version":2}` + "\n"), "a newer kitsoki"},
		"a line in the middle": {bytes.Replace(encode(good), []byte("\n{\"seq\":4,"), []byte("\n{\"seq\":\"4\","), 1), "line 5"},
		"torn after the end":   {append(encode(good), `{"se`...), "4 bytes come after the end"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Check(bytes.NewReader(test.raw), false)
			if len(r.Violations) != 1 || !strings.Contains(r.Violations[0].Sentence, test.want) {
				t.Errorf("%+v", r.Violations)
			}
		})
	}
}

// Wherever a session is cut off, by a kill or because it still runs, it is not broken.
func TestCutOffIsNotBroken(t *testing.T) {
	raw := encode(recordsOf(t, story("s1")))
	for n := bytes.IndexByte(raw, '\n') + 1; n < len(raw); n += 37 {
		for _, live := range []bool{false, true} {
			r := Check(bytes.NewReader(raw[:n]), live)
			want := Killed
			if live {
				want = Open
			}
			if len(r.Violations) > 0 || r.State != want {
				t.Fatalf("after %d bytes, live %v: %+v", n, live, r)
			}
		}
	}
}

func TestNextProcessMayContinueAfterAKill(t *testing.T) {
	for n := 1; n < 13; n++ {
		second := story("s1")
		for i, e := range second { // its asks are other ones
			switch e := e.(type) {
			case AskNormalised:
				e.QuestionID += "b"
				second[i] = e
			case host.QuestionAsked:
				e.QuestionID += "b"
				second[i] = e
			case host.QuestionAnswered:
				e.QuestionID += "b"
				second[i] = e
			case host.QuestionUnanswered:
				e.QuestionID += "b"
				second[i] = e
			case host.QuestionDelivered:
				e.QuestionID += "b"
				second[i] = e
			}
		}
		events := append(append(story("s1")[:n], Repaired{SessionID: "s1", Bytes: 7}), second...)
		if r := Check(bytes.NewReader(encode(recordsOf(t, events))), false); len(r.Violations) > 0 || r.State != Closed || r.Killed != 1 {
			t.Errorf("after %d events: %+v", n, r)
		}
	}
}

// What the recorder says it lost is not missed; what contradicts itself is still found.
func TestGapExcusesWhatItMayHold(t *testing.T) {
	for at := range 12 {
		events := story("s1")
		events[at] = Gap{SessionID: "s1", Lost: 1, Since: time.Unix(0, 0)}
		if r := Check(bytes.NewReader(encode(recordsOf(t, events))), false); len(r.Violations) > 0 || r.Lost != 1 {
			t.Errorf("without event %d: %+v", at, r)
		}
	}
	events := story("s1")
	events[3] = Gap{SessionID: "s1", Lost: 1}
	events = slices.Insert(events, 8, events[7])
	if r := Check(bytes.NewReader(encode(recordsOf(t, events))), false); len(r.Violations) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEventsOfLaterVersionsAreNoViolation(t *testing.T) {
	events := slices.Insert(story("s1"), 4, host.Event(newEvent{SessionID: "s1"}))
	if r := Check(bytes.NewReader(encode(recordsOf(t, events))), false); len(r.Violations) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestAskThatWasRefusedOnArrivalIsNoViolation(t *testing.T) {
	events := edit(4, func(e *AskNormalised) { e.QuestionID = "q9" })(story("s1"))
	if r := Check(bytes.NewReader(encode(recordsOf(t, events))), false); len(r.Violations) > 0 {
		t.Errorf("%+v", r)
	}
}

func TestSentencesAreSafe(t *testing.T) {
	events := edit(7, func(e *host.QuestionAnswered) { e.Answers[0].Labels[0] = "\x1b]0;owned\x07\u202e" })(story("s1"))
	r := Check(bytes.NewReader(encode(recordsOf(t, events))), false)
	if len(r.Violations) != 1 || strings.ContainsAny(r.Violations[0].Sentence, "\x1b\x07\u202e") {
		t.Errorf("%+v", r.Violations)
	}
}
