package peek

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/styles"
)

func newModel(w, h int, p termenv.Profile) *Model {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(p)
	m := New(styles.New(r))
	m.Resize(w, h)
	return m
}

func example() session.Peek {
	return session.Peek{
		Path: []string{"tests"}, WordsOf: []string{"tests"}, Turn: 3, CostUSD: 0.12345, Tokens: 45_678,
		Words: []string{"I look around.", "The race job\nis slow."},
		Tools: []session.PeekTool{
			{Name: "Bash", Input: "go test ./...", Result: "exit 1", Done: true, Failed: true},
			{Name: "Read", Input: "main.go", Result: "package main", Done: true},
			{Name: "Agent", Input: "look on"},
		},
		Diff: session.Diff{
			Files: []session.FileStat{{Path: "main.go", Added: 2, Deleted: 1}, {Path: "new.txt", New: true}, {Path: "pic", Binary: true}},
			Text:  "diff --git a/main.go b/main.go\n--- a/main.go\n+++ b/main.go\n@@ -1,2 +1,3 @@\n kept\n--- sql\n+++ more\n+    in\n",
		},
	}
}

func press(m *Model, names ...string) (closed bool) {
	special := map[string]tea.KeyType{
		"up": tea.KeyUp, "down": tea.KeyDown, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome,
		"end": tea.KeyEnd, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "esc": tea.KeyEsc, "space": tea.KeySpace,
	}
	for _, name := range names {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
		if k, ok := special[name]; ok {
			msg = tea.KeyMsg{Type: k}
			if k == tea.KeySpace {
				msg.Runes = []rune{' '}
			}
		}
		closed = m.Key(msg, keys.Default())
	}
	return closed
}

func wants(t *testing.T, view string, parts ...string) {
	t.Helper()
	at := 0
	for _, part := range parts {
		i := strings.Index(view[at:], part)
		if i < 0 {
			t.Fatalf("no %q after the first %d bytes of\n%s", part, at, view)
		}
		at += i + len(part)
	}
}

func TestEverythingIsThere(t *testing.T) {
	m := newModel(80, 50, termenv.Ascii)
	m.Set(example(), nil)
	wants(t, m.View("peek · claude › tests"),
		" peek · claude › tests", "turn 3 · $0.1235 · 45k tokens \n",
		"== last words\n", "The race job\n", "is slow.\n", "before that", "I look around.\n",
		"== last tool calls of the agent above", "newest first\n",
		"* Agent look on\n", "not back yet\n", "* Read main.go\n", "ok: package main\n", "* Bash go test ./...\n", "failed: exit 1\n",
		"== working tree: 3 files, +2 -1\n", "main.go  +2 -1\n", "new new.txt\n", "pic  binary\n",
		" diff --git a/main.go", "  kept\n", " --- sql\n", " +++ more\n", " +    in\n",
		"lines 1-", "Esc close")
}

func TestWhatIsNotThereIsSaid(t *testing.T) {
	m := newModel(80, 24, termenv.Ascii)
	wants(t, m.View("x"), "looking …", "Esc close")
	m.Set(session.Peek{}, nil)
	view := m.View("x")
	wants(t, view, "nothing was said", "no tool was called", "working tree\n", "no changes")
	if strings.Contains(view, "looking") {
		t.Errorf("still looking:\n%s", view)
	}
	p := example()
	p.Diff = session.Diff{}
	m.Set(p, errors.New("git\x1b took too long"))
	view = m.View("x")
	wants(t, view, "! git‹ESC› took too long", "The race job", "not known")
	if strings.Contains(view, "no changes") {
		t.Errorf("no changes, says\n%s", view)
	}
	p.Diff.Truncated = true
	m.Set(p, nil)
	wants(t, m.View("x"), "more than is shown")
}

// Colour says what the signs say already; a line of the diff's head is no change.
func TestDiffIsColoured(t *testing.T) {
	m := newModel(80, 60, termenv.ANSI)
	m.Set(example(), nil)
	view := m.View("x")
	for _, want := range []string{
		m.st.Good.Render(" +++ more"), m.st.Good.Render(" +    in"), m.st.Bad.Render(" --- sql"), m.st.Dim.Render(" +++ b/main.go"),
		m.st.Bad.Render("     failed: exit 1"),
	} {
		if !strings.Contains(want, "\x1b[") || !strings.Contains(view, "\n"+want+"\n") {
			t.Errorf("no line %q in\n%q", want, view)
		}
	}
}

func long() *Model {
	m := newModel(40, 12, termenv.Ascii)
	p := example()
	p.Words = nil
	for i := range 40 {
		p.Words = append(p.Words, fmt.Sprintf("message %d", i))
	}
	for i := range 60 {
		p.Diff.Text += fmt.Sprintf("+line %d\n", i)
	}
	m.Set(p, nil)
	return m
}

func TestScrolling(t *testing.T) {
	m := long()
	all := len(m.lines)
	at := func(top int, after ...string) {
		t.Helper()
		press(m, after...)
		if m.top != top {
			t.Fatalf("after %v the window starts at line %d, want %d", after, m.top, top)
		}
		wants(t, m.View("x"), fmt.Sprintf("lines %d-%d of %d", top+1, min(top+9, all), all))
	}
	wants(t, m.View("x"), "message 39")
	at(0, "up")
	at(1, "down")
	at(2, "j")
	at(1, "k")
	at(10, "pgdown")
	at(19, "space")
	at(10, "pgup")
	at(0, "home")
	at(all-9, "end")
	wants(t, m.View("x"), "+line 59")
	at(all-9, "down", "pgdown", "space")
	at(0, "tab")
	tools, tree := m.sections[1], m.sections[2]
	at(tools, "tab")
	wants(t, strings.Split(m.View("x"), "\n")[1], "== last tool calls")
	at(tree, "tab")
	at(0, "tab")
	at(tree, "tab", "tab")
	at(tree, "down", "shift+tab")
	at(tools, "shift+tab")
	at(0, "shift+tab", "shift+tab")
}

func TestOnlyItsKeysClose(t *testing.T) {
	for _, name := range []string{"esc", "v", "q"} {
		if !press(long(), name) {
			t.Errorf("%s does not close", name)
		}
	}
	m := long()
	for _, name := range []string{"up", "space", "tab", "x", "1", "?"} {
		if press(m, name) {
			t.Errorf("%s closes", name)
		}
	}
	if m.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q"), Paste: true}, keys.Default()) {
		t.Error("a paste closes")
	}
	if m.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("v"), Alt: true}, keys.Default()) {
		t.Error("Alt+v closes")
	}
}

func TestTheWindowStaysWhereItIs(t *testing.T) {
	m := long()
	press(m, "pgdown", "pgdown")
	was := m.top
	m.Set(m.peek, nil)
	if m.top != was {
		t.Errorf("new content moved the window from %d to %d", was, m.top)
	}
	m.Resize(40, 20)
	if m.top != was {
		t.Errorf("more height moved the window from %d to %d", was, m.top)
	}
	press(m, "end")
	m.Resize(40, 12)
	m.Set(session.Peek{}, nil)
	if m.top != 0 {
		t.Errorf("less content is shown from line %d on", m.top)
	}
}

func TestANewWidthKeepsThePlace(t *testing.T) {
	m := newModel(100, 12, termenv.Ascii)
	var p session.Peek
	for i := range 10 {
		p.Words = append(p.Words, strings.Repeat(fmt.Sprintf("message%d ", i), 100))
	}
	m.Set(p, nil)
	for !strings.Contains(strings.Split(m.View("x"), "\n")[1], "message5") {
		press(m, "down")
	}
	for _, w := range []int{30, 120, 20} {
		m.Resize(w, 12)
		if !strings.Contains(m.View("x"), "message5") {
			t.Errorf("at %d cells the window is elsewhere:\n%s", w, m.View("x"))
		}
	}
}

func TestANewWidthKeepsThePlaceInALongText(t *testing.T) {
	m := newModel(100, 12, termenv.Ascii)
	m.Set(session.Peek{Words: []string{strings.Repeat("word ", 1000)}}, nil)
	press(m, "pgdown", "pgdown", "pgdown")
	was := m.top
	m.Resize(30, 12)
	m.Resize(100, 12)
	if m.top < was-1 || m.top > was+1 {
		t.Errorf("there and back again moved the window from line %d to %d", was, m.top)
	}
}

func TestLongLinesAreWhole(t *testing.T) {
	m := newModel(40, 200, termenv.Ascii)
	var words []string
	for i := range 40 {
		words = append(words, fmt.Sprintf("word%d", i))
	}
	text := strings.Join(words, " ")
	m.Set(session.Peek{
		Words: []string{text},
		Tools: []session.PeekTool{{Name: "Bash", Input: text, Result: text, Done: true}},
		Diff:  session.Diff{Files: []session.FileStat{{Path: strings.Repeat("p", 90)}}, Text: "+" + text + "\n"},
	}, nil)
	view := m.View("x")
	for _, w := range words {
		if n := strings.Count(view, w); n < 4 {
			t.Errorf("%s is there %d times", w, n)
		}
	}
	if strings.Count(view, "p") < 90 || strings.Contains(view, "…") {
		t.Errorf("something was cut:\n%s", view)
	}
	wants(t, view, "\n +word0 ", "\n >word")
}

func text(t *rapid.T, name string) string {
	part := rapid.OneOf(
		rapid.String(), rapid.StringN(0, 300, -1), rapid.SampledFrom([]string{"", "\n", "界界界", "é\u0301", "👩‍👩‍👧", "+x\n-y\n@@\ndiff \n", "\x1b[31m", "\t"}),
	)
	return askbridge.SafeText(strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, name), "\n"))
}

// Whatever the size, the texts and the keys, the screen is exactly as high and never wider than it may be.
func TestNothingIsDrawnOutside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(80, 24, rapid.SampledFrom([]termenv.Profile{termenv.Ascii, termenv.TrueColor}).Draw(t, "profile"))
		w, h := 80, 24
		names := []string{"up", "down", "pgup", "pgdown", "home", "end", "tab", "shift+tab", "space", "x"}
		t.Repeat(map[string]func(*rapid.T){
			"resize": func(t *rapid.T) {
				w, h = rapid.IntRange(1, 130).Draw(t, "w"), rapid.IntRange(1, 40).Draw(t, "h")
				m.Resize(w, h)
			},
			"set": func(t *rapid.T) {
				p := session.Peek{
					Words: []string{text(t, "words"), text(t, "words")}, CostUSD: rapid.Float64().Draw(t, "cost"), Tokens: rapid.Int64().Draw(t, "tokens"),
					Path: []string{askbridge.Safe(text(t, "path"))},
					Tools: []session.PeekTool{{
						Name: text(t, "tool"), Input: text(t, "input"), Result: text(t, "result"),
						Done: rapid.Bool().Draw(t, "done"), Failed: rapid.Bool().Draw(t, "failed"),
					}},
					Diff: session.Diff{
						Files: []session.FileStat{{Path: text(t, "file"), Added: rapid.Int().Draw(t, "added")}}, Text: text(t, "diff"),
						Truncated: rapid.Bool().Draw(t, "truncated"),
					},
				}
				var err error
				if rapid.Bool().Draw(t, "fails") {
					err = errors.New(rapid.String().Draw(t, "err"))
				}
				m.Set(p, err)
			},
			"key": func(t *rapid.T) { press(m, rapid.SampledFrom(names).Draw(t, "key")) },
			"": func(t *rapid.T) {
				lines := strings.Split(m.View(text(t, "title")), "\n")
				if len(lines) != h {
					t.Fatalf("%d lines on a screen of %d", len(lines), h)
				}
				for i, l := range lines {
					if n := ansi.StringWidth(l); n > w {
						t.Fatalf("line %d takes %d cells of %d: %q", i, n, w, l)
					}
				}
				if last := ansi.Strip(lines[h-1]); h > 1 && w >= 12 && !strings.Contains(last, "Esc close") {
					t.Fatalf("the last line has no way out: %q", last)
				}
			},
		})
	})
}

// The largest content there can be; it is cut into lines at each change of the width.
func BenchmarkSet(b *testing.B) {
	m := newModel(80, 24, termenv.TrueColor)
	p := example()
	p.Diff.Text = strings.Repeat("+a line of a diff that goes on for a while, as they do in programs, and is wrapped\n", 256<<10/84)
	for b.Loop() {
		m.Set(p, nil)
		m.View("x")
	}
}
