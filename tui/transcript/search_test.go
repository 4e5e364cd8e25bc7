package transcript

import (
	"fmt"
	"strings"
	"testing"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
)

func matches(m *Model) string {
	nth, all := m.Matches()
	return fmt.Sprintf("%d/%d", nth, all)
}

func TestSearchGoesFromMatchToMatch(t *testing.T) {
	m := newLog(40)
	for i := range 100 {
		if i%20 == 10 {
			m.Add(said(fmt.Sprintf("Needle %d", i)))
		} else {
			m.Add(said(fmt.Sprint("hay ", i)))
		}
	}
	m.Scroll(100, 10) // about the middle
	m.Search("needle")
	if got := matches(m); got != "0/5" {
		t.Errorf("before the first %s", got)
	}
	for _, step := range []struct {
		dir  int
		at   string
		text string
	}{{-1, "2/5", "Needle 30"}, {-1, "1/5", "Needle 10"}, {-1, "5/5", "Needle 90"}, {1, "1/5", "Needle 10"}, {1, "2/5", "Needle 30"}, {0, "2/5", "Needle 30"}} {
		m.Next(step.dir, 10)
		if got := text(m, 10); matches(m) != step.at || !strings.Contains(got, "» "+step.text+"\n") {
			t.Errorf("%d leads to %s:\n%s", step.dir, matches(m), got)
		}
	}
	up := m.Up()
	m.Add(said("another needle"))
	if m.Up() != up+2 || matches(m) != "2/6" {
		t.Errorf("a new match moves it to %d, %s", m.Up(), matches(m))
	}
	m.Search("")
	if got := text(m, 10); strings.Contains(got, "»") || !strings.Contains(got, "Needle 30") || matches(m) != "0/0" {
		t.Errorf("without a search it is %s\n%s", matches(m), got)
	}
}

func TestSearchWhileTypingStaysNearWhereItBegan(t *testing.T) {
	m := newLog(40)
	for i := range 60 {
		m.Add(said(map[int]string{10: "one", 30: "once", 50: "on"}[i]))
	}
	for _, typed := range []struct{ query, at string }{{"o", "3/3"}, {"on", "3/3"}, {"one", "1/1"}, {"on", "3/3"}, {"onx", "0/0"}} {
		m.Search(typed.query)
		m.Next(-1, 10)
		if got := matches(m); got != typed.at {
			t.Errorf("%q is at %s", typed.query, got)
		}
	}
}

func TestCaseMattersWithAnUpperCaseLetter(t *testing.T) {
	m := newLog(40, said("Go go GO éÉ"))
	for query, want := range map[string]int{"go": 3, "Go": 1, "gO": 0, "é": 2, "É": 1, " ": 0, "g o": 0, "go go": 1, "gogo": 0} {
		m.Search(query)
		if _, got := m.Matches(); got != want {
			t.Errorf("%q is found %d times", query, got)
		}
	}
}

func TestMatchesGoOverLines(t *testing.T) {
	m := newLog(16, said("some long words here"), said("averyverylongword"))
	for _, query := range []string{"long words here", "verylongword"} {
		m.Search(query)
		m.Next(-1, 10)
		if got := text(m, 10); matches(m) != "1/1" || strings.Count(got, "»") != 2 {
			t.Errorf("%q: %s in\n%s", query, matches(m), got)
		}
	}
}

func TestMatchesAreReversed(t *testing.T) {
	m := newLogIn(colours(), 40, said("a **bold** 漢字 word and a word"))
	for _, tc := range []struct{ query, want string }{
		{"d 漢字 w", "  a \x1b[1mbol\x1b[0m\x1b[1;7;93md 漢字 w\x1b[0mord and a word"},
		{"word", "  a \x1b[1mbold\x1b[0m 漢字 \x1b[7mword\x1b[0m and a \x1b[1;7;93mword\x1b[0m"},
		{"o", "  a \x1b[1mb\x1b[0m\x1b[7mo\x1b[0m\x1b[1mld\x1b[0m 漢字 w\x1b[7mo\x1b[0mrd and a w\x1b[1;7;93mo\x1b[0mrd"},
	} {
		m.Search(tc.query)
		m.Next(-1, 3)
		if got := m.View(3)[0]; got != tc.want {
			t.Errorf("%q is marked as\n%q, not\n%q", tc.query, got, tc.want)
		}
	}
}

func TestSearchFindsFoldedCalls(t *testing.T) {
	m := newLog(40, called("1", "Read", "a.go"), called("2", "Read", "needle.go"), said("so"), called("3", "Read", "b.go"), called("4", "Read", "c.go"), said("and"))
	before := text(m, 10)
	m.Search("needle")
	m.Next(-1, 10)
	if got, want := text(m, 10), "* Read a.go\n»*Read needle.go\n  so\n\n* 2 tool calls: Read 2\n  and"; got != want || matches(m) != "1/1" {
		t.Errorf("got\n%s", got)
	}
	m.Search("")
	if got := text(m, 10); got != before {
		t.Errorf("afterwards it is\n%s", got)
	}
}

func TestSearchOutlivesWhatItFound(t *testing.T) {
	m := newLog(20, said("needle"))
	m.Search("needle")
	m.Next(-1, 5)
	for i := range maxLines/2 + slack {
		m.Add(session.Event{Kind: session.Tool, Key: fmt.Sprint(i), Tool: strings.Repeat("漢", 30)})
		m.Add(said("hay"))
	}
	m.Next(-1, 5)
	if got := matches(m); got != "0/0" {
		t.Errorf("it is at %s", got)
	}
	m.Search("漢 漢")
	m.Next(-1, 5)
	m.Search("漢漢漢漢漢漢漢漢漢漢漢")
	m.Next(-1, 5)
	for _, l := range m.View(5) {
		if cells.Width(l) > 20 {
			t.Errorf("%q is too wide", l)
		}
	}
}

// BenchmarkSearch is a key typed into a search of a full log.
func BenchmarkSearch(b *testing.B) {
	m := newLogIn(colours(), 80)
	for i := range maxLines {
		m.Add(said(fmt.Sprintf("line %d of the **agent's** words, and `code` among them", i)))
	}
	for b.Loop() {
		m.Search("wo")
		m.Search("words")
		m.Next(-1, 24)
		m.View(24)
		m.Search("")
	}
}
