package proposal

import (
	"io"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
	"example.com/kitsoki/tui/styles"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func infoOf(p *host.Proposal) host.AskInfo {
	return host.AskInfo{
		ID: "one", Kind: host.KindProposal, Proposal: p, Asker: host.Asker{Agent: "claude", Path: []string{"tests"}}, Opened: start, Deadline: start.Add(time.Minute),
		Questions: []host.OperatorQuestion{{Question: "Run it?", Options: []host.OperatorOption{{Label: "turn"}, {Label: "action"}, {Label: "session"}, {Label: "deny"}}}},
	}
}

func shownAt(p *host.Proposal, profile termenv.Profile, w, h int) *Model {
	r := lipgloss.NewRenderer(io.Discard, termenv.WithProfile(profile))
	m := New(infoOf(p), keys.Default(), styles.New(r))
	m.Resize(w, h)
	return m
}

func named(k tea.KeyType) tea.KeyMsg { return tea.KeyMsg{Type: k} }

func typed(r rune) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}} }

// at is a key by itself, so long after the start.
func at(d time.Duration) question.Stroke { return question.Pressed(start.Add(d)) }

// Every line of the page begins with the frame, at every size and in every theme.
func TestEveryLineHasTheBar(t *testing.T) {
	p := &host.Proposal{Tool: "Bash", Effect: host.EffectWrite, Title: strings.Repeat("a long title ", 20), Text: strings.Repeat("x\n", 90), Reason: strings.Repeat("why ", 80), Held: "held"}
	for _, profile := range []termenv.Profile{termenv.Ascii, termenv.TrueColor} {
		for w := 40; w < 130; w += 13 {
			for h := 10; h < 45; h += 5 {
				m := shownAt(p, profile, w, h)
				for _, key := range []tea.KeyMsg{{}, named(tea.KeyEnd), named(tea.KeyPgDown), named(tea.KeyEnter), named(tea.KeyEsc), named(tea.KeyCtrlX)} {
					m.Key(key, at(time.Second))
					view := m.View(Frame{Now: start, Nth: 1, All: 2, Alike: 1, Session: "api"})
					lines := strings.Split(view, "\n")
					if len(lines) != h {
						t.Fatalf("%d lines at %dx%d", len(lines), w, h)
					}
					for i, l := range lines {
						bare := ansi.Strip(l)
						if !strings.ContainsAny(string([]rune(bare)[:1]), "╔║╠╚") || cells.Width(l) > w {
							t.Fatalf("line %d at %dx%d is %q", i, w, h, bare)
						}
					}
				}
			}
		}
	}
}

// With colours the signs of a diff stay.
func TestADiffHasSignsAndStyles(t *testing.T) {
	m := shownAt(&host.Proposal{Text: "@@ -1 +1 @@\n-old\n+new\n same", Diff: true}, termenv.ANSI, 80, 24)
	view := m.View(Frame{Now: start})
	for _, want := range []string{m.st.Bad.Render("│ -old"), m.st.Good.Render("│ +new"), "│  same"} {
		if !strings.Contains(view, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Rows hold the line, whatever is in it, and fit.
func TestWrapLeavesNothingOut(t *testing.T) {
	for _, text := range []string{"", "make", strings.Repeat("ab  ", 50), strings.Repeat("漢字", 30), "e\u0301\u0301 👩👩 " + strings.Repeat("‹ESC›", 20), strings.Repeat(" ", 100), "‹" + strings.Repeat("x", 90), "a\u0301b", "שלום עולם"} {
		for w := 2; w < 40; w++ {
			rows := wrap(text, w)
			if strings.Join(rows, "") != text {
				t.Fatalf("%q in rows of %d is %q", text, w, rows)
			}
			for _, r := range rows {
				if cells.Width(r) > w {
					t.Fatalf("%q is wider than %d", r, w)
				}
			}
		}
	}
	if rows := wrap("abc‹ESC›d", 6); rows[1] != "‹ESC›d" {
		t.Errorf("a token is broken: %q", rows)
	}
}

// What stands for a reserved sign can be told from every text that an agent can write.
func TestReservedSignsAreTokens(t *testing.T) {
	frame := "║ ╔═ ╬"
	got := tokens(askbridge.SafeText(frame))
	if got != "‹U+2551› ‹U+2554›‹U+2550› ‹U+256C›" {
		t.Errorf("got %q", got)
	}
	if same := tokens(askbridge.SafeText(got)); same == got {
		t.Error("a text can write the tokens itself")
	}
	if page := Unframed(frame + "x"); strings.ContainsFunc(page, reserved) || cells.Width(page) != cells.Width(frame+"x") {
		t.Errorf("another page shows %q", page)
	}
}

// A proposal that came without what would run can only be denied, and so can rows that nobody knows.
func TestNothingIsAllowedUnseen(t *testing.T) {
	for name, info := range map[string]host.AskInfo{
		"no proposal": infoOf(nil),
		"an unknown row": func() host.AskInfo {
			i := infoOf(&host.Proposal{Text: "x"})
			i.Questions = []host.OperatorQuestion{{Options: []host.OperatorOption{{Label: "always"}}}}
			return i
		}(),
		"no rows": func() host.AskInfo { i := infoOf(&host.Proposal{Text: "x"}); i.Questions = nil; return i }(),
	} {
		m := New(info, keys.Default(), styles.New(lipgloss.NewRenderer(io.Discard)))
		m.Resize(80, 24)
		m.View(Frame{Now: start})
		m.Key(typed('1'), at(time.Second))
		m.Key(named(tea.KeyEnter), at(2*time.Second))
		if asked := m.Key(typed('y'), at(3*time.Second)); len(asked.Send) > 0 && len(info.Questions) > 0 && Allows(info.Questions[0].Options[asked.Send[0].Picked[0]].Label) {
			t.Errorf("%s: it was allowed: %+v", name, asked)
		}
		m.View(Frame{Now: start})
		if asked := m.Deny(); asked.Decline == nil && len(asked.Send) == 0 {
			t.Errorf("%s: it cannot be denied", name)
		}
	}
}

// The allow key is the operator's to choose.
func TestAnotherAllowKey(t *testing.T) {
	km, err := keys.Default().With(map[string][]string{"allow": {"f5"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Default().With(map[string][]string{"allow": {"enter"}}); err == nil {
		t.Error("one key can be both")
	}
	m := New(infoOf(&host.Proposal{Text: "x"}), km, styles.New(lipgloss.NewRenderer(io.Discard, termenv.WithProfile(termenv.Ascii))))
	m.Resize(80, 24)
	m.View(Frame{Now: start})
	m.Key(named(tea.KeyEnter), at(time.Second))
	if view := m.View(Frame{Now: start}); !strings.Contains(view, "F5 allows it for this turn") {
		t.Errorf("the page is\n%s", view)
	}
	if asked := m.Key(named(tea.KeyF5), at(2*time.Second)); len(asked.Send) != 1 || asked.Send[0].Picked[0] != 0 {
		t.Errorf("got %+v", asked)
	}
}

// BenchmarkKey is a key and a frame of what is long: a line of 16 KiB, a diff of 300 lines, a file of a megabyte.
func BenchmarkKey(b *testing.B) {
	for name, p := range map[string]*host.Proposal{
		"16KiB": {Text: strings.Repeat("0123456789 abcdef", 16<<10/17)}, "diff": {Text: strings.Repeat("+ a line of a diff\n", 300), Diff: true},
		"megabyte": {Text: strings.Repeat("a line of 漢字 that is not so short, nor long\n", 1<<20/48)},
	} {
		b.Run(name, func(b *testing.B) {
			m := shownAt(p, termenv.TrueColor, 80, 24)
			for i := 0; b.Loop(); i++ {
				m.Key(named(tea.KeyPgDown), at(time.Duration(i)*time.Millisecond))
				m.View(Frame{Now: start, Nth: 1, All: 1})
			}
		})
		b.Run(name+"-resize", func(b *testing.B) {
			m := shownAt(p, termenv.TrueColor, 80, 24)
			for i := 0; b.Loop(); i++ {
				m.Resize(60+i%40, 24)
				m.View(Frame{Now: start, Nth: 1, All: 1})
			}
		})
	}
}
