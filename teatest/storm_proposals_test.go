package teatest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// TestStormOfProposals is a storm of proposals, of hands that try to allow them, and of all that can come between: no
// proposal is allowed but by Enter and then y, each alone and after a rest, with the end of the text seen before.
func TestStormOfProposals(t *testing.T) {
	weather{keys: proposalKeys(), asks: 1, proposals: 6}.check(t)
}

func proposalKeys() []string {
	return strings.Fields(`Enter Enter Enter Enter Enter y y y y y y y d 1 1 2 2 3 4 5 PgDn PgDn PgDn PgUp Up Down End End End End Home ^U ^D
		Esc Esc ^O ^X v ? F1 + x j k Space ^L ^N ^C ^Z Tab A-y fresh`)
}

// newAction is a proposal to be made.
type newAction struct {
	external, diff bool
	lines, long    int
}

// endSign is around the number at the end of a proposal's text.
const endSign = "¶"

// make makes the proposal: its words, its question, and itself.
func (n newAction) make(number int) (string, []host.OperatorQuestion, *host.Proposal) {
	words := fmt.Sprintf("%s%d%s", wordsSign, number, wordsSign)
	effect := host.EffectWrite
	if n.external {
		effect = host.EffectExternal
	}
	p := proposal(effect, words+" as it is", strings.Repeat("+ a line of it\n", n.lines)+strings.Repeat("and 漢字 \x1b[2J", n.long)+fmt.Sprintf("%s%d%s", endSign, number, endSign))
	p.Diff = n.diff
	return words, []host.OperatorQuestion{{Question: words + " may it?", Header: "Proposal", Options: rowsOf(effect)}}, p
}

func drawProposal(t *rapid.T) step {
	a := newAsk{
		session: rapid.IntRange(0, 2).Draw(t, "session"), asker: rapid.IntRange(0, 3).Draw(t, "asker"),
		wait: rapid.SampledFrom([]time.Duration{0, 0, 0, 3 * time.Second, time.Hour}).Draw(t, "wait"),
		action: &newAction{
			external: rapid.IntRange(0, 3).Draw(t, "external") == 0, diff: rapid.Bool().Draw(t, "diff"),
			lines: rapid.SampledFrom([]int{0, 0, 1, 8, 60}).Draw(t, "lines"), long: rapid.SampledFrom([]int{0, 0, 1, 100}).Draw(t, "long"),
		},
	}
	return step{fmt.Sprintf("propose %+v in session %d of asker %d, wait %v", *a.action, a.session, a.asker, a.wait), nil, func(s *storm, _ []string) { s.ask(a) }}
}

// drawAllow is an operator who allows: with the time to read, or without.
func drawAllow(t *rapid.T) step {
	names := rapid.SampledFrom([][]string{
		{"Enter", "y"}, {"Enter", "y"}, {"End", "Enter", "y"}, {"End", "Enter", "y"}, {"2", "End", "Enter", "y"}, {"End", "Enter", "Enter", "y"}, {"Enter", "x", "y"},
		{"End", "Home", "Enter", "y"}, {"PgDn", "PgDn", "PgDn", "Enter", "y"}, {"Enter", "y", "y"}, {"Enter", "F1", "y", "y"}, {"Enter", "^O", "Enter", "y"},
		{"^O", "Enter", "End", "Enter", "y"}, {"^O", "Enter", "End", "Enter", "y"}, {"Esc", "^O", "Enter", "End", "3", "Enter", "y"}, {"^O", "Down", "Enter", "End", "Enter", "y"},
		{"^O", "d"}, {"^O", "y", "1", "Enter", "y"}, {"Esc", "Enter", "Enter", "y"}, {"4", "Enter"}, {"^X", fresh, "Enter"},
	}).Draw(t, "keys")
	slow, rest := 450*time.Millisecond, rapid.SampledFrom([]time.Duration{0, 90 * time.Millisecond, 150 * time.Millisecond, 390 * time.Millisecond, 400 * time.Millisecond})
	var rests []time.Duration
	for range names {
		if rapid.IntRange(0, 4).Draw(t, "hurry") == 0 {
			rests = append(rests, rest.Draw(t, "rest"))
		} else {
			rests = append(rests, slow)
		}
	}
	return step{fmt.Sprintf("with rests of %v", rests), names, func(s *storm, keys []string) {
		for i, name := range keys {
			s.after(rests[min(i, len(rests)-1)])
			s.press(name)
			s.settle()
		}
	}}
}

// gateWatch is what the storm knows of the proposal that is on the screen, from its frames and from the keys alone.
type gateWatch struct {
	name  string // of the proposal in front
	since time.Time
	last  time.Time // the last key
	quiet bool      // the keyboard has rested since the proposal came to the front

	endName  string // of the proposal whose end is in the frame, and since when
	endSince time.Time
	ended    map[string]bool // ends that were there for long enough to be drawn

	sure  time.Time // since when a second key is asked for; zero: it is not
	enter bool      // an Enter has asked for it that was allowed to

	may map[string]string // what the keys since the last look may have allowed: the row, by proposal
}

// drawn is how long what is in a frame has to stay to be drawn at all.
const drawn = 100 * time.Millisecond

var (
	endShown = regexp.MustCompile(endSign + `(\d+)` + endSign)
	litOne   = regexp.MustCompile(`(?m)^║ > ?\d (\w+)`)
	litAny   = regexp.MustCompile(`(?m)^║.*>\d (\w+)`)
)

// frame takes in a frame.
func (g *gateWatch) frame(at spot, view string, now time.Time) {
	name := ""
	if strings.HasPrefix(view, "╔═ PROPOSAL") && !at.over {
		name = at.name
	}
	if name != g.name {
		g.name, g.since, g.quiet = name, now, false
	}
	end := ""
	if m := endShown.FindStringSubmatch(view); m != nil && name != "" {
		end = nameSign + m[1] + nameSign
	}
	if end != g.endName {
		if g.endName != "" && now.Sub(g.endSince) >= drawn {
			g.ended[g.endName] = true
		}
		g.endName, g.endSince = end, now
	}
	switch asks := strings.Contains(view, "y allows it"); {
	case !asks || name == "":
		g.sure, g.enter = time.Time{}, false
	case g.sure.IsZero():
		g.sure = now
	}
}

// key takes in a key that is about to be pressed, by itself or not, and notes what it may allow.
func (g *gateWatch) key(s *storm, name string, now time.Time) {
	rested := now.Sub(g.last)
	if g.last.Before(g.since) {
		rested = now.Sub(g.since)
	}
	g.last = now
	if g.name == "" {
		return
	}
	g.quiet = g.quiet || rested >= unhurried
	end := g.ended[g.name] || (g.endName == g.name && now.Sub(g.endSince) >= unhurried)
	switch {
	case name == "Enter" && g.sure.IsZero():
		g.enter = g.quiet && end
	case name == "y" && !g.sure.IsZero() && g.enter && rested >= unhurried && now.Sub(g.sure) >= unhurried:
		row := litOne.FindStringSubmatch(s.view)
		if row == nil {
			row = litAny.FindStringSubmatch(s.view)
		}
		for _, a := range s.asks {
			if a.name == g.name && row != nil {
				g.may[a.id] = row[1]
			}
		}
	case name != "Enter" && name != "y":
		g.enter = false
	}
}

// checkAllowed checks an answer to a proposal.
func (s *storm) checkAllowed(a *stormAsk, e sentEnd) {
	if a.proposal == nil || e.decline {
		return
	}
	row := a.questions[0].Options[e.answers[0].Picked[0]].Label
	if row == host.Deny {
		return
	}
	if s.allowed++; s.gate.may[a.id] != row {
		s.failf("%s (%s) was allowed with %q, and %q could have been: %+v\n%s", a.id, a.name, row, s.gate.may[a.id], s.gate, s.view)
	}
}
