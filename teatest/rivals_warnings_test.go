package teatest

import (
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// A warning that a bounced Enter wiped off the screen is not what the next Enter confirms.
func TestAWipedWarningIsNoConsent(t *testing.T) {
	s, r := asked(t, 80, 24, checks)
	s.press("Enter")
	s.see("nothing is ticked")
	s.clock.Advance(40 * time.Millisecond)
	s.press("Enter")
	s.rest()
	shown := strings.Contains(s.view(), "nothing is ticked")
	s.press("Enter")
	if !shown {
		s.see("nothing is ticked")
	}
	r.waits()
}

// An own answer over the limit that is declined goes out cut; the rest must be in the prompt.
func TestDecliningKeepsWhatIsCut(t *testing.T) {
	s, r := asked(t, 80, 24, when)
	s.paste(strings.Repeat("0123456789", 10000))
	s.apart("Enter")
	s.see("answers are 100030")
	s.apart("^X", "Enter")
	if u := r.unanswered(host.Declined); len(u.Partial) > 1 {
		t.Errorf("what was refused went along whole: %d answers", len(u.Partial))
	}
	s.see("> ", "6789|")
}

// Blank own text beside a row makes a review of a single question.
func TestBlankTextBesideARow(t *testing.T) {
	s, r := asked(t, 80, 24, when)
	s.press("i", "  ", "Esc")
	s.apart("2", "Enter")
	r.got("at night")
}

// The countdown of the last 20 s is loud without colours too.
func TestTheCountdownIsLoudWithoutColours(t *testing.T) {
	s, _ := asked(t, 80, 24, when)
	s.clock.Advance(4*time.Minute + 20*time.Second)
	s.tick()
	before := firstLine(s.view())
	s.clock.Advance(20 * time.Second)
	s.tick()
	after := firstLine(s.view())
	digits := strings.NewReplacer("0", "", "1", "", "2", "", "3", "", "4", "", "5", "", "6", "", "7", "", "8", "", "9", "", " ", "")
	if digits.Replace(before) == digits.Replace(after) {
		t.Errorf("nothing but the digits differs:\n%s\n%s", before, after)
	}
}

// The last line of a preview cannot be scrolled to.
func TestAPreviewScrollsToItsLastLine(t *testing.T) {
	q := layouts
	q.Options = []host.OperatorOption{{Label: "Flat", Preview: strings.ReplaceAll(numbered("p", 60, 300), " ", "\n")}, {Label: "Nested"}}
	s, _ := asked(t, 80, 24, q)
	s.press("p")
	for range 20 {
		s.press("PgDn")
	}
	s.see("p059")
}

// The same with the review's warning of open questions.
func TestAWipedWarningOfTheReview(t *testing.T) {
	s, r := asked(t, 80, 24, database, when)
	s.press("Enter")
	s.see("When should it run?")
	s.apart("Tab", "Enter")
	s.see("1 question is open")
	s.clock.Advance(40 * time.Millisecond)
	s.press("Enter")
	s.rest()
	shown := strings.Contains(s.view(), "1 question is open")
	s.press("Enter")
	if !shown {
		s.see("1 question is open")
	}
	r.waits()
}
