package transcript

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/styles"
)

func newLog(width int, events ...session.Event) *Model {
	return newLogIn(styles.New(lipgloss.NewRenderer(io.Discard, termenv.WithProfile(termenv.Ascii))), width, events...)
}

func colours() styles.Styles {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	return styles.New(r)
}

func newLogIn(st styles.Styles, width int, events ...session.Event) *Model {
	m := New(st)
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
	for i := range maxLines/2 + slack {
		m.Add(session.Event{Kind: session.Tool, Key: fmt.Sprint(i), Tool: "Bash", Text: strings.Repeat("漢字 words ", 5)})
		m.Add(session.Event{Kind: session.Said, Key: fmt.Sprint(i), Text: "`漢字` **words** and more of them, and a - dash"})
	}
	if m.total > maxLines+slack || len(m.blocks) > maxLines {
		t.Errorf("%d lines are kept", m.total)
	}
	for i := range 3 * maxCalls {
		m.Add(session.Event{Kind: session.Tool, Key: fmt.Sprint(i), Tool: "Bash"})
	}
	if m.calls > maxCalls+slack || len(m.running) > maxCalls+slack {
		t.Errorf("%d calls are kept, %d wait", m.calls, len(m.running))
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
