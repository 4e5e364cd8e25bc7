package signals

import (
	"encoding/base64"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/kitsoki/tui/cells"
)

func TestNotify(t *testing.T) {
	for name, c := range map[string]struct {
		kind        OSC
		title, body string
		tmux        bool
		want        string
	}{
		"off":                     {OSCOff, "a", "b", false, ""},
		"9":                       {OSC9, "claude asks", "Which port?", false, "\x1b]9;claude asks: Which port?\a"},
		"9 with a title":          {OSC9, "claude asks", "", false, "\x1b]9;claude asks\a"},
		"9 with a body":           {OSC9, "", "Which port?", false, "\x1b]9;Which port?\a"},
		"777":                     {OSC777, "claude asks", "Which port?", false, "\x1b]777;notify;claude asks;Which port?\a"},
		"9 in tmux":               {OSC9, "a", "b", true, "\x1bPtmux;\x1b\x1b]9;a: b\a\x1b\\"},
		"777 in tmux":             {OSC777, "a", "b", true, "\x1bPtmux;\x1b\x1b]777;notify;a;b\a\x1b\\"},
		"no progress bar":         {OSC9, "4;1;50", "", false, "\x1b]9;4,1,50\a"},
		"no third field":          {OSC777, "a;b", "c;d", false, "\x1b]777;notify;a,b;c,d\a"},
		"an end inside":           {OSC9, "a\a\x1b]52;c;eA==\a", "", false, "\x1b]9;a‹BEL›‹ESC›]52,c,eA==‹BEL›\a"},
		"the other kind of end":   {OSC9, "a\u009cb", "", false, "\x1b]9;a‹U+009C›b\a"},
		"lines become one":        {OSC9, "", "a\n\n  b\tc", false, "\x1b]9;a b c\a"},
		"safe already, not twice": {OSC9, "", "‹ESC›[2J", false, "\x1b]9;‹ESC›[2J\a"},
		"cut":                     {OSC777, strings.Repeat("x", 99), strings.Repeat("界", 150), false, "\x1b]777;notify;" + strings.Repeat("x", 59) + "…;" + strings.Repeat("界", 99) + "…\a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Notify(c.kind, c.title, c.body, c.tmux); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestCopy(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a word":           {"word", "word"},
		"lines and tabs":   {"a\n\tb\n", "a\n\tb\n"},
		"an escape":        {"rm\x1b[201~\r", "rm‹ESC›[201~‹CR›"},
		"safe already":     {"a‹ESC›b", "a‹ESC›b"},
		"an angle bracket": {"a ‹ b", "a ‹ b"},
		"at the limit":     {strings.Repeat("x", CopyLimit), strings.Repeat("x", CopyLimit)},
		"over the limit":   {strings.Repeat("x", CopyLimit-1) + "界", strings.Repeat("x", CopyLimit-1)},
	} {
		t.Run(name, func(t *testing.T) {
			got, wrapped := Copy(c.text, false), Copy(c.text, true)
			payload, ok := strings.CutPrefix(got, "\x1b]52;c;")
			text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(payload, "\a"))
			if !ok || err != nil || string(text) != c.want {
				t.Errorf("%.40q holds %.40q (%v), want %.40q", got, text, err, c.want)
			}
			if wrapped != "\x1bPtmux;\x1b"+got+"\x1b\\" {
				t.Errorf("for tmux it is %.40q", wrapped)
			}
			if len(wrapped) >= 100_000 {
				t.Errorf("it has %d bytes", len(wrapped))
			}
		})
	}
	if got := Copy("", true); got != "" {
		t.Errorf("nothing copies as %q, which wipes the clipboard", got)
	}
}

func TestParseOSC(t *testing.T) {
	for text, want := range map[string]OSC{"off": OSCOff, "9": OSC9, "777": OSC777} {
		if got, err := ParseOSC(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if _, err := ParseOSC("99"); err == nil || err.Error() != `there is no notification "99"; use off, 9 or 777` {
		t.Errorf("got %v", err)
	}
}

// checkFrame takes the frame of a sequence away and looks for control characters in what is left.
func checkFrame(t interface {
	Errorf(format string, args ...any)
}, out, prefix string, tmux bool) string {
	start, end := "\x1b]"+prefix, "\a"
	if tmux {
		start, end = "\x1bPtmux;\x1b"+start, end+"\x1b\\"
	}
	rest, ok := strings.CutPrefix(out, start)
	content, closed := strings.CutSuffix(rest, end)
	if !ok || !closed {
		t.Errorf("the frame is not whole: %q", out)
	}
	for _, r := range content {
		if unicode.IsControl(r) {
			t.Errorf("%U is in %q", r, out)
		}
	}
	if !utf8.ValidString(content) {
		t.Errorf("half a character is in %q", out)
	}
	return content
}

// hostile are texts with a liking for what ends or starts a sequence.
func hostile() *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{
		"\a", "\x1b", "\x1b\\", "\x1b]52;c;", "\x1bP", "\u009c", "\x9c", "\u009d", ";", "4;", "\n", "\r", "\t", "‹", "›", "‹ESC›", "界", "e\u0301", "\u202e", "\xff", "a", " ",
	})
	return rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(pieces), func(p []string) string { return strings.Join(p, "") }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
}

func TestNoTextLeavesItsFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		title, body, tmux := hostile().Draw(t, "title"), hostile().Draw(t, "body"), rapid.Bool().Draw(t, "tmux")

		nine := checkFrame(t, Notify(OSC9, title, body, tmux), "9;", tmux)
		if strings.Contains(nine, ";") || cells.Width(nine) > titleCells+2+bodyCells {
			t.Errorf("notification 9 is %q", nine)
		}
		if fields := strings.Split(checkFrame(t, Notify(OSC777, title, body, tmux), "777;notify;", tmux), ";"); len(fields) != 2 {
			t.Errorf("notification 777 has the fields %q", fields)
		}
		out := Copy(body, tmux)
		if body == "" {
			return
		}
		text, err := base64.StdEncoding.DecodeString(checkFrame(t, out, "52;c;", tmux))
		if err != nil {
			t.Error(err)
		}
		for _, r := range string(text) {
			if r != '\n' && r != '\t' && unicode.IsControl(r) {
				t.Errorf("%U would be pasted", r)
			}
		}
	})
}

// The same for whatever the fuzzer finds.
func FuzzNotify(f *testing.F) {
	f.Add("4;1", "a\a\x1b\\b\u009c")
	f.Add(strings.Repeat("\u0301", 99), "‹ESC›\x1b")
	f.Fuzz(func(t *testing.T, title, body string) {
		for _, tmux := range []bool{false, true} {
			checkFrame(t, Notify(OSC9, title, body, tmux), "9;", tmux)
			checkFrame(t, Notify(OSC777, title, body, tmux), "777;notify;", tmux)
			if body != "" {
				checkFrame(t, Copy(body, tmux), "52;c;", tmux)
			}
		}
	})
}
