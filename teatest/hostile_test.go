package teatest

import (
	"context"
	"strings"
	"testing"
	"unicode"

	"example.com/kitsoki/host"
)

// S4 (vercel/ai#20052): whatever an agent puts into its texts, the terminal gets visible signs and nothing that it
// could obey: no escape, no control character of either set, no direction, zero-width or tag character.
const hostile = "Pick\x1b]52;c;cm0gLXJm\x07\u009b2J\u202egnp\u200d\r\b\x00\U000e0041\u2028\u061c‹ESC›\xff\x1bP tmux;\x1b\\"

func TestHostileTextReachesTheScreenAsSignsOnly(t *testing.T) {
	q := host.OperatorQuestion{
		Question: "Q " + hostile, Header: "H " + hostile,
		Options: []host.OperatorOption{{Label: "one " + hostile, Description: "D " + hostile, Preview: hostile}, {Label: "two"}},
	}
	multi := q
	multi.Question, multi.MultiSelect = "Second "+hostile, true
	who := host.Asker{Agent: "agent" + hostile, Path: []string{"sub" + hostile}, Dir: "/dir" + hostile}
	var got map[string]any
	s := open(t, 100, 40, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say("words " + hostile)
		answers, err := ask(who, q, multi)
		got = answers
		return err
	})
	s.prompt()
	s.see("waits", "‹ESC›]52;c;cm0gLXJm‹BEL›‹CSI›2J‹U+202E›gnp", "‹<›ESC›", "‹0xFF›")
	checkClean(t, s)
	s.rest()
	s.press("Enter", "Tab", "S-Tab")
	checkClean(t, s)
	s.press("?")
	checkClean(t, s)
	s.press("x", "Esc")
	s.see("folded")
	checkClean(t, s)
	s.press("^O")
	s.rest()
	s.press("Space", "Enter")
	s.see("This is what the agent will get")
	checkClean(t, s)
	s.rest()
	s.press("Enter")
	s.see("idle")
	checkClean(t, s)
	if got[q.Question] != "one "+hostile {
		t.Errorf("the agent got %q", got)
	}
}

// checkClean checks every rune of the screen, which is drawn without colours.
func checkClean(t *testing.T, s *screen) {
	t.Helper()
	for line := range strings.SplitSeq(s.view(), "\n") {
		for _, r := range line {
			if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
				t.Fatalf("%U is on the screen: %q", r, line)
			}
		}
	}
}
