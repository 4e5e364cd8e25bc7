package teatest

import (
	"reflect"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// Claude: the review warns of open questions, leads back to them, and what was chosen is ticked still.
func TestTheReviewWarnsAndLeadsBack(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, checks, when)
		s.press("2", "Enter")
		s.see("Which checks")
		s.apart("S-Tab", "S-Tab") // the review, the back way round
		s.see("use or leave")
		s.apart("Enter")
		s.see("2 questions are open: Enter again")
		s.press("Esc")
		s.see("Which checks should run before the", "[ ] lint")
		s.apart("Space", "Enter")
		s.see("When should it run?")
		s.apart("Tab", "Enter")
		s.see("1 question is open: Enter again")
		s.press("Up") // a warning does not outlive another key
		s.apart("Enter")
		s.see("1 question is open: Enter again")
		r.waits()
		s.press("Up", "Up", "Esc")
		s.see("(x) SQLite")
		s.apart("Tab")
		s.see("[x] lint")
		s.apart("Tab", "Tab", "Enter", "Enter") // sent without, at the second Enter
		r.got("SQLite", []string{"lint"}, nil)
	})
}

// Beat 4: passing by questions answers none of them, and their lit first rows are no defaults. Without any answer a
// send is a decline, after a warning.
func TestPassingAQuestionRecordsNothing(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, checks, when)
		s.apart("Down", "Tab", "Down", "Tab", "Tab")
		s.see("open")
		s.apart("Enter")
		s.see("no question is answered: Enter again")
		r.waits()
		s.apart("Enter")
		if u := r.unanswered(host.Declined); u.Partial != nil {
			t.Errorf("it went along: %+v", u.Partial)
		}
	})
}

// O6 (copilot-cli#4890) and Gemini: Tab keeps what was typed, in the field as on the list.
func TestTabKeepsText(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		other := freely
		other.Question = "And what should it be called in the end?"
		s, r := asked(t, w, h, freely, other)
		s.press("A", "Tab", "B", "S-Tab")
		s.see("What should it be called?", "A")
		s.apart("Enter") // A is taken
		s.see("And what should it be called", "B")
		if d := r.ask.Draft(1); d.Taken {
			t.Errorf("B is taken: %+v", d)
		}
		s.apart("Tab")
		s.see("draft, not taken: “B”")
		s.apart("Enter")
		s.see("question 2 has a draft")
		s.apart("Space", "Enter")
		r.got("A", "B")
	})
}

// Beat 7: Tab means the next question, wherever the keyboard is: never a choice, an end of a text, or a tab in it.
// With a single question there is no next one, and nothing happens.
func TestTabMeansOneThing(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, when, checks)
		steps := []string{"When should it run?", "Which checks", "use or leave", "Which database"}
		s.press("Tab")
		s.see(steps[0])
		s.apart("i", "x", "Tab") // from the field
		s.see(steps[1])
		s.apart("Tab")
		s.see(steps[2])
		s.apart("Tab")
		s.see(steps[3])
		s.apart("n", "y", "Tab") // from a note
		s.see(steps[0], "own answer: x")
		s.apart("Down", "Tab", "S-Tab")
		s.see(steps[0])
		for i := range 3 {
			if d := r.ask.Draft(i); len(d.Picked) > 0 || d.Taken {
				t.Errorf("Tab answered question %d: %+v", i+1, d)
			}
		}
		alone, r := asked(t, w, h, when)
		alone.press("Down", "Tab")
		if alone.litRow() != "2" {
			t.Errorf("row %s is lit", alone.litRow())
		}
		alone.press("i", "a", "Tab", "b")
		alone.apart("Enter")
		r.got("ab")
	})
}

// Claude: asking back hands over what was answered so far, and is an ending of its own words (AUQ).
func TestAskingBackHandsOverTheAnswers(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, checks, when)
		s.press("2", "Enter")
		s.see("Which checks")
		s.apart("Space", "e") // ticked, not taken
		s.see("explain:")
		s.press("what does race cost?")
		s.apart("Enter")
		u := r.unanswered(host.Declined)
		if want := "the operator asks back before deciding: what does race cost?"; u.Reason != want {
			t.Errorf("the reason is %q", u.Reason)
		}
		if len(u.Partial) != 3 || !reflect.DeepEqual(u.Partial[0].Picked, []int{1}) || !u.Partial[1].Empty() || !u.Partial[2].Empty() {
			t.Errorf("with it went %+v", u.Partial)
		}
	})
}

// A decline is confirmed, its reason is kept over an Esc, and what was answered goes along.
func TestDecliningIsConfirmed(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, when)
		s.press("3", "Enter")
		s.see("When should it run?")
		s.apart("^X", "not before Mon", "Esc")
		s.see("When should it run?")
		r.waits()
		s.apart("^X")
		s.see("not before Mon")
		s.press("day")
		s.apart("Enter")
		u := r.unanswered(host.Declined)
		if u.Reason != "not before Monday" || len(u.Partial) == 0 || !reflect.DeepEqual(u.Partial[0].Picked, []int{2}) {
			t.Errorf("the agent got %+v", u)
		}
	})
}

// O1 (claudecodeui#1249), O2 (hermes-agent#92779) and Beat 5: the agent gets labels as they are: exactly the string,
// and an array also of one whose label has a comma.
func TestLabelsArriveAsTheyAre(t *testing.T) {
	always := host.OperatorQuestion{Question: "Go on?", Header: "Go on", Options: labels("Yes", "Yes, always")}
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, always, goals)
		s.press("2", "Enter")
		s.see("Which goals?")
		s.apart("Space", "Enter", "Enter")
		r.got("Yes, always", []string{"Health, longevity"})
	})
}

// O3 (oh-my-pi#12521): Enter with nothing ticked warns; the lit row is not taken; a second Enter is an explicit none.
func TestNothingTickedWarnsOnTheScreen(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, checks)
		s.press("Down", "Enter")
		s.see("nothing is ticked")
		s.clock.Advance(40 * time.Millisecond)
		s.press("Enter") // the same Enter, held
		s.rest()
		r.waits()
		s.press("Down") // takes the warning back
		s.apart("Enter")
		s.see("nothing is ticked")
		r.waits()
		s.apart("Enter")
		r.got([]string{})
	})
}

// opencode: 0, 1 and 30 options are accepted, and each row can be reached and is the one that is sent.
func TestAnyNumberOfOptions(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		one := host.OperatorQuestion{Question: "Only one?", Options: labels("the one")}
		s, r := asked(t, w, h, freely, one, thirty)
		s.press("Nova")
		s.apart("Enter")
		s.see("Only one?")
		s.apart("Enter")
		s.see("Which region?")
		s.rest()
		for n := range 29 {
			if n > 0 {
				s.press("Down")
			}
		}
		s.see("> 29 ( ) region 29")
		s.apart("Enter")
		s.see("3 of 3 answered")
		s.apart("Enter")
		r.got("Nova", "the one", "region 29")
	})
}
