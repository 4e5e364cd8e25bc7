package transcript

import (
	"fmt"
	"strings"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
)

func TestMessagesAreMarkdown(t *testing.T) {
	m := newLog(30,
		session.Event{Kind: session.Said, Key: "1", Text: "\n\nSee [docs](a.b/c):\n- one thing that is long enough\n"},
		session.Event{Kind: session.Said, Key: "2", Text: "- a list", Path: []string{"tests"}},
	)
	if got, want := text(m, 20), "  See docs (a.b/c):\n  - one thing that is long\n    enough\n\n  tests ›\n  - a list"; got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestAMessageIsTheSameHoweverItCame(t *testing.T) {
	words := "# Plan\n\n**one** `two` [three](four.five)\n\n```go\nif x {\n\n}\n```\n> quoted\n\n- a\n  b\n\n| a | b |\n|---|---|\n| c | d |\n"
	whole := newLog(30, session.Event{Kind: session.Said, Key: "1", Text: words})
	grown := newLog(30)
	for i, r := range words {
		grown.Add(session.Event{Kind: session.Delta, Key: "1", Text: string(r)})
		if i == len(words)/2 {
			grown.Resize(50)
		}
		grown.View(30)
	}
	grown.Resize(30)
	if got, want := text(grown, 30), text(whole, 30); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOutcomesOfAsksAreWrittenDown(t *testing.T) {
	answered := func(key, text, surface string) session.Event {
		return session.Event{Kind: session.AskSettled, Key: key, Outcome: host.Answered, Text: text, Surface: surface}
	}
	for name, tc := range map[string]struct {
		events []session.Event
		want   string
	}{
		"opened":    {[]session.Event{{Kind: session.AskOpened, Key: "q", Text: "Which DB?", Path: []string{"tests"}}}, "? tests asks: Which DB?"},
		"sent":      {[]session.Event{answered("q", "DB: Postgres", "terminal")}, "= DB: Postgres · sent"},
		"taken":     {[]session.Event{answered("q", "DB: Postgres", "terminal"), {Kind: session.AskDelivery, Key: "q"}}, "= DB: Postgres · taken"},
		"not its":   {[]session.Event{answered("q", "DB: Postgres", ""), {Kind: session.AskDelivery, Key: "r"}}, "= DB: Postgres · sent"},
		"elsewhere": {[]session.Event{answered("q", "DB: Postgres", "web")}, "= DB: Postgres · answered on web · sent"},
		"not taken": {
			[]session.Event{answered("q", "DB: Postgres", "terminal"), {Kind: session.AskDelivery, Key: "q", Failed: true}},
			"= DB: Postgres · sent, not taken\n\n! the answer did not reach the agent; it was gone by then",
		},
		"all of it":       {[]session.Event{answered("q", "DB: Postgres\nPort: 80", "")}, "= DB: Postgres\n  Port: 80\n  sent"},
		"a part of it":    {[]session.Event{answered("q", "DB: (skipped)\nPort: 80\nX: (skipped) (note: later)\nY: “(skipped)”", "")}, "  2 of 4 answered · sent"},
		"a part, on web":  {[]session.Event{answered("q", "DB: (skipped)\nPort: 80", "web")}, "  1 of 2 answered on web · sent"},
		"timed out":       {[]session.Event{{Kind: session.AskSettled, Key: "q", Outcome: host.TimedOut}}, "- not answered: timed out"},
		"declined on web": {[]session.Event{{Kind: session.AskSettled, Key: "q", Outcome: host.Declined, Surface: "web", Text: "not now"}}, "- not answered: declined on web (not now)"},
	} {
		if got := text(newLog(70, tc.events...), 20); !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: %q is missing in\n%s", name, tc.want, got)
		}
	}
}

func BenchmarkAddAndDraw100kLines(b *testing.B) {
	for b.Loop() {
		m := newLogIn(colours(), 80)
		for i := range 100_000 {
			m.Add(session.Event{Kind: session.Said, Key: fmt.Sprint(i), Text: "a line of the **agent's** words"})
			if i%500 == 0 {
				m.View(24)
			}
		}
	}
}

// BenchmarkDeltasOfALongMessage is a message of 100,000 lines that comes in deltas, with a frame every 50.
func BenchmarkDeltasOfALongMessage(b *testing.B) {
	for b.Loop() {
		m := newLogIn(colours(), 80)
		for i := range 100_000 {
			m.Add(session.Event{Kind: session.Delta, Key: "1", Text: "a line of `code` and words\n"})
			if i%10 == 0 {
				m.Add(session.Event{Kind: session.Delta, Key: "1", Text: "\n"})
			}
			if i%50 == 0 {
				m.View(24)
			}
		}
	}
}
