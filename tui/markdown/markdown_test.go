package markdown

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/styles"
)

func plainStyles() styles.Styles {
	return styles.New(lipgloss.NewRenderer(io.Discard, termenv.WithProfile(termenv.Ascii)))
}

func colours() styles.Styles {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.ANSI)
	r.SetHasDarkBackground(true)
	return styles.New(r)
}

// stripped is what can be read of lines with colours.
func stripped(lines []string) string { return ansi.Strip(strings.Join(lines, "\n")) }

func TestWhatIsNotClearlyMarkdownStaysAsItIs(t *testing.T) {
	for _, text := range []string{
		"snake_case_name", "__init__ and _x_", "2 * 3 * 4", "2*3*4", "**unclosed", "unclosed**", "C:\\path\\*", `\*not\*`, "a ** b ** c",
		"*.go and *_test.go", "(*.go,*.md)", "src/**/*.ts, src/**/*.js", "char *p, *q;", "/*comment*/", "f(*args, **kwargs)", "count(*), max(*)",
		"a[0](x) and m[key](v.x)", "[x](y)", "[ ] open", "see [1] and [2]", "[text](no target here", "`unclosed", "a `` b", "``a`",
		"<b>html</b> &amp;", "<https://example.com>", "https://example.com/a_b*c", "#no heading", "#1 is first", "-no item", "1.5 is less", ">redirect",
		"a | b", "a | b\nc | d", "*a * b", "****", "5* and 4*", "-", "1.",
	} {
		if got := stripped(Lines(text, 80, colours())); got != text {
			t.Errorf("%q is drawn as %q", text, got)
		}
		if got := strings.Join(Lines(text, 80, plainStyles()), "\n"); got != text {
			t.Errorf("without styles %q is drawn as %q", text, got)
		}
	}
}

func TestMarksBecomeStylesOrStay(t *testing.T) {
	const bold, slant, off = "\x1b[1m", "\x1b[3m", "\x1b[0m"
	for _, tc := range []struct{ text, colour, plain string }{
		{"a **b c** d", "a " + bold + "b c" + off + " d", "a **b c** d"},
		{"*a*, (*b*)", slant + "a" + off + ", (" + slant + "b" + off + ")", "*a*, (*b*)"},
		{"run `go *x*` now", "run \x1b[95mgo *x*" + off + " now", "run `go *x*` now"},
		{"``a`b``", "\x1b[95ma`b" + off, "``a`b``"},
		{"**a *b* c**", bold + "a " + off + "\x1b[1;3mb" + off + bold + " c" + off, "**a *b* c**"},
		{"这是**重要**的", "这是" + bold + "重要" + off + "的", "这是**重要**的"},
		{"[the docs](https://example.com/a_(b)).", "the docs (https://example.com/a_(b)).", "the docs (https://example.com/a_(b))."},
		{`[**d**](./d.md "title")`, bold + "d" + off + ` (./d.md "title")`, `**d** (./d.md "title")`},
		{"![logo](logo.png)", "logo (logo.png)", "logo (logo.png)"},
		{"[good.example](https://bad.example)", "good.example (https://bad.example)", "good.example (https://bad.example)"},
		{"## Plan **b**", "\x1b[90m## " + off + bold + "Plan " + off + "b", "## Plan **b**"},
		{"---", "\x1b[90m---" + off, "---"},
		{"> a\n> > b", "\x1b[90m>" + off + " a\n\x1b[90m>" + off + " \x1b[90m>" + off + " b", "> a\n> > b"},
		{"```go\nif *x* {\n  y\n```\nz", "\x1b[90mgo" + off + "\n  \x1b[37mif *x* {" + off + "\n  \x1b[37m  y" + off + "\nz", "```go\n  if *x* {\n    y\n```\nz"},
		{"*a* b*", slant + "a" + off + " b*", "*a* b*"},
		{"**a *b** c*", bold + "a *b" + off + " c*", "**a *b** c*"},
		{"  ```\nab\n    cd\n  ```", "    \x1b[37mab" + off + "\n    \x1b[37m  cd" + off, "  ```\n    ab\n      cd\n  ```"},
		{"**over\ntwo**", bold + "over" + off + "\n" + bold + "two" + off, "**over\ntwo**"},
		{"**not\n\nover**", "**not\n\nover**", "**not\n\nover**"},
	} {
		if got := strings.Join(Lines(tc.text, 80, colours()), "\n"); got != tc.colour {
			t.Errorf("%q is drawn as\n%q, not\n%q", tc.text, got, tc.colour)
		}
		if got := strings.Join(Lines(tc.text, 80, plainStyles()), "\n"); got != tc.plain {
			t.Errorf("without styles %q is drawn as %q", tc.text, got)
		}
	}
}

func TestMarksShowOnAStyleOfTheirOwn(t *testing.T) {
	st := colours()
	want := "\x1b[1ma \x1b[0m\x1b[1;4;4mb\x1b[0m \x1b[1;95mc\x1b[0m"
	if got := strings.Join(LinesIn(st.Strong, "a **b** `c`", 80, st), ""); got != want {
		t.Errorf("got %q", got)
	}
}

func TestListsHang(t *testing.T) {
	text := "- one item of words\n  and its second line\n  - below it there is more\n10. ten is a number\nno item"
	want := "- one item of\n  words\n  and its\n  second line\n  - below it\n    there is\n    more\n10. ten is a\n    number\nno item"
	if got := strings.Join(Lines(text, 14, plainStyles()), "\n"); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestTablesAlignWhileTheyFit(t *testing.T) {
	text := "| a | 漢字 |\n|---|:--|\n| long cell | `x` | more |\n| \\| |\nafter"
	want := "a         | 漢字\n----------+------+-----\nlong cell | `x`  | more\n\\|\nafter"
	if got := strings.Join(Lines(text, 40, plainStyles()), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := Lines("a|b\n-|-\nlong cell|x", 13, plainStyles())[0]; got != "a         | b" {
		t.Errorf("one that just fits starts with %q", got)
	}
	if got := Lines("a|b\n-|-\nlong cell|x", 12, plainStyles())[0]; got != "a|b" {
		t.Errorf("one that just does not fit starts with %q", got)
	}
	if got := strings.Join(Lines("| a | b |\n|---|---|\n| long cell | x |", 10, plainStyles()), "\n"); got != "| a | b |\n|---|---|\n| long\ncell | x |" {
		t.Errorf("one that does not fit is\n%s", got)
	}
}

func TestWordsWrapAndCodeIsCut(t *testing.T) {
	for _, tc := range []struct {
		text  string
		width int
		want  string
	}{
		{"some words  here", 10, "some words\nhere"},
		{"well-known --flag", 8, "well-\nknown\n--flag"},
		{"abcdefghij", 4, "abcd\nefgh\nij"},
		{"ab abcdefgh", 4, "ab\nabcd\nefgh"},
		{"漢字漢字", 5, "漢字\n漢字"},
		{"a      -b", 3, "a\n-b"},
		{"    deep", 5, "deep"},
		{"```\nsome words\n```", 8, "```\n  some w\n  ords\n```"},
	} {
		if got := strings.Join(Lines(tc.text, tc.width, plainStyles()), "\n"); got != tc.want {
			t.Errorf("%q at %d is\n%s", tc.text, tc.width, got)
		}
	}
}

func TestLooksDoNotTearACharacter(t *testing.T) {
	if got, want := strings.Join(Lines("🇩`🇪` and more", 8, colours()), "\n"), "🇩🇪 and\nmore"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestInlineIsOneLine(t *testing.T) {
	if got := Inline("# a **b**\n- [c](d.e)", plainStyles()); got != "# a **b** - c (d.e)" {
		t.Errorf("got %q", got)
	}
}

// letters are the letters and digits of what can be read.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, ansi.Strip(s))
}

type failer interface{ Fatalf(string, ...any) }

// holds checks what is true of every text.
func holds(t failer, text string, width int, st styles.Styles) {
	text = askbridge.SafeText(text)
	lines := Lines(text, width, st)
	for _, l := range lines {
		if w := cells.Width(l); w > width {
			t.Fatalf("a line of %d cells at width %d: %q of %q", w, width, l, text)
		}
		if bare := ansi.Strip(l); st.Plain && bare != l || strings.Contains(bare, "\x1b") || strings.Contains(l, "\x1b]") {
			t.Fatalf("an escape in %q of %q", l, text)
		}
	}
	if got, want := letters(strings.Join(lines, "")), letters(cells.Tabs(text)); got != want {
		t.Fatalf("%q shows %q", text, got)
	}
	if got := Inline(text, st); letters(got) != letters(cells.Tabs(text)) || strings.Contains(got, "\n") {
		t.Fatalf("%q shows %q in a line", text, got)
	}
	whole := strings.Join(lines, "\n")
	s := NewStream(width, st)
	var got []string
	for i := range text {
		if i%3 == 0 {
			settled, _ := s.Next(text[:i])
			got = append(got, settled...)
		}
	}
	settled, open := s.Next(text)
	if got := strings.Join(slices.Concat(got, settled, open), "\n"); got != whole {
		t.Fatalf("%q is\n%s\nas a stream, not\n%s", text, got, whole)
	}
}

func TestAnyTextFitsAndKeepsItsLetters(t *testing.T) {
	parts := []string{
		"*", "**", "***", "`", "```", "~~~", "[", "](", "]", "(", ")", "!", "!!", "\n", "\n\n", "\n", " ", "  ", "    ", "- ", "1. ", "10) ", "> ", "# ", "|", "|---|",
		"\n---\n", "-", "a", "word", "é", "e\u0301", "漢字", "🇩🇪", "🇩", "👩\u200d🚀", "https://x.y/z", "x.y", "\\", "‹", "\t", "\x1b[31m", "\"", ":", "\u0301", "ﷺ", "7",
	}
	for _, st := range []styles.Styles{plainStyles(), colours()} {
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 40).Draw(t, "parts"), "")
			holds(t, text, rapid.IntRange(2, 40).Draw(t, "width"), st)
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add("# a **b** *c* `d`\n\n- [x](y.z)\n1. e\n> f\n\n| a | b |\n|---|---|\n| 1 | 2 |\n```go\nx\n```", 20)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if len(text) > 5000 {
			return
		}
		width = 2 + int(uint(width)%100)
		holds(t, text, width, plainStyles())
		holds(t, text, width, colours())
	})
}

func TestTimeIsLinear(t *testing.T) {
	for name, text := range map[string]string{
		"letters": strings.Repeat("a", 100_000), "words": strings.Repeat("word ", 20_000), "stars": strings.Repeat("*", 10_000), "open": strings.Repeat("*a ", 10_000),
		"strong": strings.Repeat("**a** ", 10_000), "nested": strings.Repeat("**a *b ", 5_000) + strings.Repeat("b* a** ", 5_000), "ticks": strings.Repeat("`", 10_000),
		"rising ticks": risingTicks(400), "code": strings.Repeat("`a` ", 10_000), "brackets": strings.Repeat("[", 10_000), "links": strings.Repeat("[a](b.c) ", 10_000),
		"no targets": strings.Repeat("[](", 10_000), "quotes": strings.Repeat(">", 10_000), "quoted lines": strings.Repeat(strings.Repeat("> ", 20)+"a\n", 2_000),
		"bars": strings.Repeat("|", 10_000) + "\n" + strings.Repeat("|-", 10_000), "tables": strings.Repeat("a|b\n-|-\n", 5_000), "items": strings.Repeat("- a\n  b\n", 10_000),
		"fences": strings.Repeat("```\na\n", 10_000), "empty": strings.Repeat("\n", 100_000), "marks": strings.Repeat("e\u0301", 20_000), "bangs": strings.Repeat("![", 10_000),
	} {
		for _, st := range []styles.Styles{plainStyles(), colours()} {
			start := time.Now()
			Lines(text, 80, st)
			Inline(text, st)
			if d := time.Since(start); d > time.Second {
				t.Errorf("%s took %v", name, d)
			}
		}
	}
}

func risingTicks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("`", i) + "a")
	}
	return b.String()
}

func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("Some **words** of an agent with `code` and more of them, as they are written all day.\n\n- an item\n\n```go\nfunc f() {}\n```\n", 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Lines(text, 80, colours())
	}
}
