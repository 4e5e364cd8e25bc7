package askbridge_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"example.com/kitsoki/askbridge"
)

// hidden are classes of runes that never come out of Safe: they move the cursor, reorder, or draw nothing.
func hidden(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Join_Control,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) ||
		r != ' ' && unicode.Is(unicode.Zs, r)
}

// checkSafe wants a text in which nothing can do harm, and which reads back to what was sent.
func checkSafe(t *testing.T, sent, got string, newlines bool) {
	t.Helper()
	if !utf8.ValidString(got) {
		t.Errorf("%q came out as %q, which is no UTF-8", sent, got)
	}
	marks := 0
	for _, r := range got {
		if hidden(r) && (r != '\n' || !newlines) {
			t.Errorf("%q came out with %U in it: %q", sent, r, got)
		}
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		if marks > 6 {
			t.Errorf("%q came out with %d marks on each other", sent, marks)
		}
	}
	if back, err := askbridge.Unsafe(got); back != sent || err != nil {
		t.Errorf("%q came out as %q, which reads back as %q, %v", sent, got, back, err)
	}
}

func TestSafeOfEveryRune(t *testing.T) {
	shown := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		switch { // surrogates are no runes; of the Han blocks and of the empty planes one in 61 will do
		case 0xD800 <= r && r < 0xE000:
			continue
		case r > 0x3400 && r < 0xA000, r > 0xAC00 && r < 0xD7A0, r > 0x1FC00 && r < 0xE0000, r > 0xE0200:
			r = min(r+60, unicode.MaxRune)
		}
		got := askbridge.Safe(string(r))
		if got == string(r) {
			shown++
			if hidden(r) || r == '‹' || !unicode.IsPrint(r) {
				t.Errorf("%U came out as it is", r)
			}
			continue
		}
		if !strings.HasPrefix(got, "‹") || !strings.HasSuffix(got, "›") || utf8.RuneCountInString(got) < 3 {
			t.Errorf("%U came out as %q, which is no token", r, got)
		}
		if unicode.In(r, unicode.Han, unicode.Latin, unicode.Cyrillic, unicode.Arabic, unicode.Hebrew, unicode.Thai) && !hidden(r) {
			t.Errorf("a letter, %U, came out as %q", r, got)
		}
		if r < 0x3000 { // reading back is the same for all; these have every kind
			checkSafe(t, string(r), got, false)
		}
	}
	if shown < 20_000 {
		t.Errorf("only %d runes of some 20,000 are shown", shown)
	}
}

func TestSafeOfEveryByte(t *testing.T) {
	seen := map[string]bool{}
	for b := range 256 {
		sent := string([]byte{byte(b)})
		got := askbridge.Safe(sent)
		if seen[got] {
			t.Errorf("%q is what another byte came out as", got)
		}
		seen[got] = true
		checkSafe(t, sent, got, false)
	}
}

// An agent's output is made safe on its way to the screen: a megabyte of the worst must not hold it up.
func BenchmarkSafeOfControlCharacters(b *testing.B) {
	worst := strings.Repeat("\x1b\u202e", 64<<10)
	b.SetBytes(int64(len(worst)))
	for b.Loop() {
		askbridge.Safe(worst)
	}
}

func FuzzSafe(f *testing.F) {
	for _, seed := range [][2]string{
		{"Pick\x1b]52;c;cm0gLXJm\a\u009b2J\u202egnp", "Pick"},
		{"‹ESC›", "\x1b"}, {"‹<›ESC›", "‹ESC›"}, {"\xff", "‹0xFF›"}, {"ÿ", "\xff"}, {"a\nb", "a‹LF›b"},
		{"👩\u200d💻\ufe0f", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301"}, {"\xed\xa0\x80\U000e0041", "\ufffd"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		checkSafe(t, a, askbridge.Safe(a), false)
		checkSafe(t, a, askbridge.SafeText(a), true)
		if a != b && (askbridge.Safe(a) == askbridge.Safe(b) || askbridge.SafeText(a) == askbridge.SafeText(b)) {
			t.Errorf("%q and %q look the same", a, b)
		}
		if sent, err := askbridge.Unsafe(a); err == nil && askbridge.Safe(sent) != a && askbridge.SafeText(sent) != a {
			t.Errorf("%q was read back as %q, but is not its safe form", a, sent)
		}
	})
}
