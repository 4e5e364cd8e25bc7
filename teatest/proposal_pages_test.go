package teatest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
)

// rewrite is a diff of three hundred lines.
func rewrite() *host.Proposal {
	var b strings.Builder
	b.WriteString("--- a/server/handler.go\n+++ b/server/handler.go\n@@ -1,200 +1,200 @@\n")
	for i := range 297 {
		fmt.Fprintf(&b, "%s\tline %d of the handler\n", []string{" ", "-", "+"}[i%3], i)
	}
	p := proposal(host.EffectWrite, "Edit server/handler.go", b.String())
	p.Tool, p.Diff = "Edit", true
	return p
}

// worldly has all that a terminal could take for more than text, and imitates the page that it is on.
func worldly() *host.Proposal {
	return proposal(host.EffectExternal, "Bash curl https://例え.jp/…",
		"curl 'https://例え.jp/👩\u200d👩\u200d👧?q=שלום' \x1b[2J\u202e ║ ╔═ PROPOSAL\n\n\t> 1 action   nothing at all\n║ y allows it this once ‹ESC›")
}

// Whole screens of proposals, with neither colour nor attribute. The test's name is the golden file.
func TestProposalPages(t *testing.T) {
	for _, tc := range []struct {
		name string
		ps   []*host.Proposal
		keys []string // with a rest before each
	}{
		{name: "open", ps: []*host.Proposal{makeTest()}},
		{name: "second-key", ps: []*host.Proposal{makeTest()}, keys: []string{"3", "Enter"}},
		{name: "unread", ps: []*host.Proposal{sequence()}, keys: []string{"Enter"}},
		{name: "passed-over", ps: []*host.Proposal{sequence()}, keys: []string{"End", "Enter"}},
		{name: "diff", ps: []*host.Proposal{rewrite()}, keys: []string{"PgDn", "PgDn"}},
		{name: "worldly", ps: []*host.Proposal{worldly()}, keys: []string{"PgDn"}},
		{name: "reason", ps: []*host.Proposal{makeTest()}, keys: []string{"^X", "not on a friday"}},
		{name: "alike", ps: []*host.Proposal{makeTest(), makeTest(), sequence()}},
		{name: "inbox", ps: []*host.Proposal{makeTest(), worldly()}, keys: []string{"^O"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}, {40, 14}} {
			t.Run(fmt.Sprintf("%s-%dx%d", tc.name, size[0], size[1]), func(t *testing.T) {
				s := proposed(t, size[0], size[1], tc.ps...)
				for _, k := range tc.keys {
					s.rest()
					if _, ok := moreKeys[k]; ok {
						s.send(k)
					} else {
						s.press(k)
					}
				}
				for line := range strings.SplitSeq(s.view(), "\n") {
					if cells.Width(line) > size[0] {
						t.Errorf("a line of %d cells: %q", cells.Width(line), line)
					}
					if tc.name != "inbox" && !strings.ContainsAny(line[:3], "╔║╠╚") {
						t.Errorf("a line without the bar: %q", line)
					}
				}
				s.golden()
			})
		}
	}
}

// G5 (OpenGlasses#205): whatever an agent asks, says and calls its sub-agents, no page but a proposal's own has a sign of
// its frame, and the question is said to grant nothing.
func TestNoQuestionLooksLikeAProposal(t *testing.T) {
	frame := "╔═ PROPOSAL · write · scripted ═ 1 of 1 ═\n║ Bash make test\n╠═════════\n║ > 1 turn\n╚ Enter allow  d deny"
	q := host.OperatorQuestion{Question: frame, Header: "╔═ PROPOSAL", Options: []host.OperatorOption{
		{Label: "║ turn", Description: frame, Preview: frame}, {Label: "action", Preview: frame}, {Label: "session"}, {Label: "deny"},
	}}
	talk := func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say(frame + "\n\n```\n" + frame + "\n```")
		answers, err := ask(host.Asker{Agent: "scripted", Path: []string{"╔═ PROPOSAL · write"}}, q)
		say(fmt.Sprintf("%v %v", answers, err))
		return context.Cause(ctx)
	}
	for _, size := range [][2]int{{80, 24}, {40, 12}, {40, 10}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := open(t, size[0], size[1], talk)
			s.prompt()
			s.see("grants nothing")
			for _, k := range []string{"2", "p", "p", "^D", "PgDn", "?", "F1", "v", "Down", "Esc", "n", "Esc", "^O", "3", "^O", "Esc", "PgUp"} {
				s.apart(k)
				if view := s.view(); strings.ContainsAny(view, "═║╔╠╚╗╝╬") {
					t.Fatalf("after %s the screen shows a sign of the frame:\n%s", k, view)
				}
			}
			s.apart("^O", "^O")
			if s.see("inbox: 1 open"); size[0] == 80 {
				s.see("grants nothing")
			}
			s.apart("3", "Enter")
			s.see("1 settled")
			s.apart("Esc", "PgDn", "PgDn", "PgDn", "PgDn")
			s.see("session]")
		})
	}
}
