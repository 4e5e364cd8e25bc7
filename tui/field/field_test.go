package field

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

func newField(width, most int) *Model {
	m := New(key.NewBinding(key.WithKeys("ctrl+j")), true)
	m.Resize(width, most)
	m.Focus()
	return &m
}

func paste(text string) tea.KeyMsg {
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true}
}

func screen(m *Model) string {
	lines := m.View()
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

func TestPasteComesOutExactly(t *testing.T) {
	for in, want := range map[string]string{
		"func x() {\r\tif a\r}": "func x() {\n\tif a\n}", "a\r\nb": "a\nb", "a\nb": "a\nb", "\ttab": "\ttab",
		"漢字 e\u0301": "漢字 e\u0301",
	} {
		m := newField(40, 5)
		m.Key(paste(in))
		if got := m.Value(); got != want {
			t.Errorf("%q came out as %q", in, got)
		}
	}
}

// O7 (maka#1079): a long paste is whole.
func TestLongPasteIsWhole(t *testing.T) {
	text := strings.Repeat("0123456789 ", 9000) + "end\nand\nmore"
	m := newField(60, 5)
	m.Key(paste(text))
	if m.Value() != text {
		t.Errorf("%d of %d bytes", len(m.Value()), len(text))
	}
}

func TestTheLineOfTheCursorIsInView(t *testing.T) {
	m := newField(40, 3)
	m.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("first")})
	m.Key(tea.KeyMsg{Type: tea.KeyCtrlJ})
	m.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("second")})
	if got := screen(m); got != "first\nsecond|" {
		t.Errorf("shows %q", got)
	}
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	m.Set("")
	m.Key(paste(strings.Join(lines, "\n")))
	if got := screen(m); got != "line 17\nline 18\nline 19|" {
		t.Errorf("after a paste it shows %q", got)
	}
	m.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("END")})
	if got := screen(m); !strings.Contains(got, "END|") {
		t.Errorf("what is typed is out of view: %q", got)
	}
	m.Set(strings.Join(lines, "\n"))
	if got := screen(m); !strings.Contains(got, "line 19|") {
		t.Errorf("set to a text it shows %q", got)
	}
	m.Resize(20, 2)
	if got := screen(m); !strings.Contains(got, "line 19|") {
		t.Errorf("resized it shows %q", got)
	}
}

func TestTabsAreShown(t *testing.T) {
	m := newField(40, 3)
	m.Key(paste("a\tb"))
	if got := screen(m); got != "a⇥b|" {
		t.Errorf("shows %q", got)
	}
}

func TestWhatIsNoPlainTextIsOneSignOnTheScreenAndExactInTheValue(t *testing.T) {
	m := newField(40, 3)
	m.Key(paste("a\u202eb\u200bc"))
	if got := screen(m); got != "a\ufffdb\ufffdc|" {
		t.Errorf("shows %q", got)
	}
	if got := m.Value(); got != "a\u202eb\u200bc" {
		t.Errorf("came out as %q", got)
	}
}

// More lines than the textarea holds come out as they went in.
func TestManyLinesAreAllKept(t *testing.T) {
	text := strings.Repeat("a\nb\n", 20_000)
	m := New(key.NewBinding(key.WithKeys("alt+enter")), true)
	m.Resize(40, 3)
	m.Set(text)
	if m.Value() != text {
		t.Errorf("%d of %d bytes came out", len(m.Value()), len(text))
	}
	m.Set("")
	m.Insert(text)
	m.Insert("x\ny")
	if m.Value() != text+"x\ny" {
		t.Errorf("%d of %d bytes came out", len(m.Value()), len(text)+3)
	}
}
