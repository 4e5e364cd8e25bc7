package askbridge_test

import (
	"strings"
	"testing"

	"example.com/kitsoki/askbridge"
)

func TestSafe(t *testing.T) {
	for name, c := range map[string]struct{ sent, line, text string }{
		// vercel/ai#20052: clipboard, title and screen stay untouched.
		"S4": {
			sent: "Pick\x1b]52;c;cm0gLXJm\a\u009b2J\u202egnp",
			line: "Pick‹ESC›]52;c;cm0gLXJm‹BEL›‹CSI›2J‹U+202E›gnp",
		},
		"S4 title":                  {sent: "\x1b]0;root\x1b\\", line: `‹ESC›]0;root‹ESC›\`},
		"S4 title in C1":            {sent: "\u009d0;root\u009c", line: "‹OSC›0;root‹U+009C›"},
		"S4 C1 as a single byte":    {sent: "\x9b2J", line: "‹0x9B›2J"},
		"S4 an OSC without its end": {sent: "a\x1b]8;;http://x", line: "a‹ESC›]8;;http://x"},
		"S4 device control":         {sent: "\x1bPq\u0090q", line: "‹ESC›Pq‹U+0090›q"},
		"S4 over the line":          {sent: "yes\rno\b\b\x7f", line: "yes‹CR›no‹BS›‹BS›‹DEL›"},
		"empty":                     {},
		"plain":                     {sent: "Which database? [a/b] ~", line: "Which database? [a/b] ~"},
		"newline":                   {sent: "a\nb", line: "a‹LF›b", text: "a\nb"},
		"newlines of other kinds":   {sent: "a\r\nb\u2028c\u2029d\u0085e\ve\ff", line: "a‹CR›‹LF›b‹U+2028›c‹U+2029›d‹U+0085›e‹U+000B›e‹U+000C›f", text: "a‹CR›\nb‹U+2028›c‹U+2029›d‹U+0085›e‹U+000B›e‹U+000C›f"},
		"tab and NUL":               {sent: "a\tb\x00", line: "a‹TAB›b‹NUL›"},
		"our own tokens":            {sent: "‹ESC› and ›", line: "‹<›ESC› and ›"},
		"spaces of other widths":    {sent: "a\u00a0b\u2003c\u3000d\u1680", line: "a‹NBSP›b‹U+2003›c‹U+3000›d‹U+1680›"},
		"zero width":                {sent: "a\u200bb\u200cc\u2060d\ufeffe\u00adf", line: "a‹U+200B›b‹U+200C›c‹U+2060›d‹U+FEFF›e‹U+00AD›f"},
		"bidi":                      {sent: "\u200e\u200f\u061c\u202a\u2066\u2069", line: "‹U+200E›‹U+200F›‹U+061C›‹U+202A›‹U+2066›‹U+2069›"},
		"tags":                      {sent: "ok\U000e0041\U000e007f", line: "ok‹U+E0041›‹U+E007F›"},
		"fillers":                   {sent: "\u3164\uffa0\u115f\u1160\u2800\u034f\U0001d159", line: "‹U+3164›‹U+FFA0›‹U+115F›‹U+1160›‹U+2800›‹U+034F›‹U+1D159›"},
		"private and not assigned":  {sent: "\ue000\U0010ffff\u0378", line: "‹U+E000›‹U+10FFFF›‹U+0378›"},
		"bytes that are no UTF-8":   {sent: "a\xffb\xc3", line: "a‹0xFF›b‹0xC3›"},
		"a surrogate in UTF-8":      {sent: "\xed\xa0\x80", line: "‹0xED›‹0xA0›‹0x80›"},
		"overlong ESC":              {sent: "\xc0\x9b", line: "‹0xC0›‹0x9B›"},
		"the replacement character": {sent: "\ufffd", line: "\ufffd"},
		"CJK":                       {sent: "数据库？한국어ｱ", line: "数据库？한국어ｱ"},
		"right to left":             {sent: "שלום مرحبا", line: "שלום مرحبا"},
		"marks of living languages": {sent: "e\u0301 ế ที่ हिन्दी", line: "e\u0301 ế ที่ हिन्दी"},
		"stacked marks":             {sent: "z" + strings.Repeat("\u0301", 9), line: "z" + strings.Repeat("\u0301", 6) + strings.Repeat("‹U+0301›", 3)},
		"two stacks":                {sent: strings.Repeat("a"+strings.Repeat("\u0335", 6), 2), line: strings.Repeat("a"+strings.Repeat("\u0335", 6), 2)},
		"flags":                     {sent: "🇩🇪🇯🇵", line: "🇩🇪🇯🇵"},
		"emoji":                     {sent: "😀👍🏽", line: "😀👍🏽"},
		"joined emoji":              {sent: "👩\u200d💻", line: "👩‹ZWJ›💻"},
		"variation selectors":       {sent: "❤\ufe0f\U000e0100", line: "❤‹U+FE0F›‹U+E0100›"},
		"a flag of tags":            {sent: "🏴\U000e0067\U000e007f", line: "🏴‹U+E0067›‹U+E007F›"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.text == "" {
				c.text = c.line
			}
			for _, f := range []struct {
				name  string
				apply func(string) string
				want  string
			}{{"Safe", askbridge.Safe, c.line}, {"SafeText", askbridge.SafeText, c.text}} {
				got := f.apply(c.sent)
				if got != f.want {
					t.Errorf("%s(%q)\n got %q\nwant %q", f.name, c.sent, got, f.want)
				}
				if back, err := askbridge.Unsafe(got); back != c.sent || err != nil {
					t.Errorf("%q reads back as %q, %v; want %q", got, back, err, c.sent)
				}
			}
		})
	}
}

func TestSafeTwiceEscapesTwice(t *testing.T) {
	once := askbridge.Safe("\x1b")
	twice := askbridge.Safe(once)
	if twice != "‹<›ESC›" {
		t.Errorf("got %q", twice)
	}
	if back, err := askbridge.Unsafe(twice); back != once || err != nil {
		t.Errorf("reads back as %q, %v", back, err)
	}
}

// Only what Safe makes is read back: a token that it would not have written stands for nothing.
func TestUnsafeRefusesWhatIsNotSafe(t *testing.T) {
	for _, s := range []string{
		"‹", "‹ESC", "a‹‹›", "‹›", "‹esc›", "‹ESC ›", "‹U+›", "‹U+GG›", "‹U+110000›", "‹U+-1›", "‹U+D800›", "‹0x›", "‹0x100›", "‹0xGG›",
		"‹<", "‹U+0041›", "‹U+1b›", "‹U+001B›", "‹0x41›", "‹U+0000202E›", "\x1b", "\u202e", "\xff", "‹LF›\n",
	} {
		if got, err := askbridge.Unsafe(s); err == nil {
			t.Errorf("Unsafe(%q) = %q", s, got)
		}
	}
}
