package transcript

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/styles"
)

func newLog(width int, events ...session.Event) *Model {
	m := New(styles.New(lipgloss.NewRenderer(io.Discard, termenv.WithProfile(termenv.Ascii))))
	m.Resize(width)
	for _, e := range events {
		m.Add(e)
	}
	return m
}

func text(m *Model, height int) string {
	lines := m.View(height)
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestDeltasGrowAMessageAndTheWholeOneReplacesThem(t *testing.T) {
	m := newLog(40,
		session.Event{Kind: session.TurnStarted, Text: "go"},
		session.Event{Kind: session.Delta, Key: "m1", Text: "I will "},
		session.Event{Kind: session.Delta, Key: "m1", Text: "lok"},
		session.Event{Kind: session.Said, Key: "m1", Text: "I will look."},
		session.Event{Kind: session.Delta, Key: "m1", Text: "A second block"},
	)
	if got, want := text(m, 20), "> go\n\n  I will look.\n\n  A second block"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTwoMessagesAtOnceStayApart(t *testing.T) {
	m := newLog(40,
		session.Event{Kind: session.Delta, Key: "a", Text: "one "},
		session.Event{Kind: session.Delta, Key: "b", Text: "two", Path: []string{"tests"}},
		session.Event{Kind: session.Delta, Key: "a", Text: "more"},
	)
	if got, want := text(m, 20), "  one more\n\n  tests › two"; got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestToolsShowWhatBecameOfThem(t *testing.T) {
	m := newLog(40,
		session.Event{Kind: session.Tool, Key: "1", Tool: "Read", Text: "main.go"},
		session.Event{Kind: session.Tool, Key: "2", Tool: "Bash", Text: "go test"},
		session.Event{Kind: session.ToolDone, Key: "1"},
		session.Event{Kind: session.ToolDone, Key: "2", Failed: true, Text: "exit 1"},
	)
	got := text(m, 20)
	if !strings.Contains(got, "* Read main.go") || !strings.Contains(got, " ok\n") || !strings.Contains(got, "* Bash go test · failed: exit 1") {
		t.Errorf("got\n%s", got)
	}
}

func TestOutcomesOfAsksAreWrittenDown(t *testing.T) {
	m := newLog(60,
		session.Event{Kind: session.AskOpened, Key: "q", Text: "Which DB?", Path: []string{"tests"}},
		session.Event{Kind: session.AskSettled, Key: "q", Outcome: host.Answered, Text: "Postgres"},
		session.Event{Kind: session.AskDelivery, Key: "q", Failed: true},
		session.Event{Kind: session.AskSettled, Key: "q", Outcome: host.TimedOut},
	)
	got := text(m, 20)
	for _, want := range []string{"? tests asks: Which DB?", "= Postgres", "did not reach the agent", "- not answered: timed out"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestWindowStaysWhereItIsReadAndFollowsAtTheEnd(t *testing.T) {
	m := newLog(40)
	for i := range 50 {
		m.Add(session.Event{Kind: session.Notice, Text: fmt.Sprint("line ", i)})
	}
	if got := text(m, 5); !strings.HasSuffix(got, "line 49") {
		t.Fatalf("does not follow: %s", got)
	}
	m.Scroll(10, 5)
	read := text(m, 5)
	m.Add(session.Event{Kind: session.Notice, Text: "new"})
	if got := text(m, 5); got != read || m.Up() != 11 {
		t.Errorf("moved from\n%s\nto\n%s", read, got)
	}
	m.Scroll(1000, 5)
	if got := text(m, 5); !strings.HasPrefix(got, "! line 0") {
		t.Errorf("the top is\n%s", got)
	}
	m.Bottom()
	if got := text(m, 5); !strings.HasSuffix(got, "new") {
		t.Errorf("the end is\n%s", got)
	}
}

func TestLogIsBoundedAndFitsItsWidth(t *testing.T) {
	m := newLog(30)
	for i := range maxLines + slack + 100 {
		m.Add(session.Event{Kind: session.Tool, Key: fmt.Sprint(i), Tool: "Bash", Text: strings.Repeat("漢字 words ", 20)})
	}
	if m.total > maxLines+slack {
		t.Errorf("%d lines are kept", m.total)
	}
	for _, width := range []int{30, 80, 12} {
		m.Resize(width)
		for _, l := range m.View(40) {
			if w := cells.Width(l); w > width {
				t.Fatalf("a line of %d cells at width %d: %q", w, width, l)
			}
		}
	}
}

func BenchmarkAddAndDraw100kLines(b *testing.B) {
	for b.Loop() {
		m := newLog(80)
		for i := range 100_000 {
			m.Add(session.Event{Kind: session.Said, Key: fmt.Sprint(i), Text: "a line of the agent's words"})
			if i%500 == 0 {
				m.View(24)
			}
		}
	}
}
