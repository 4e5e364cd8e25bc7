package teatest

import (
	"fmt"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// Match (Claude, AUQ): an ask that comes while a prompt is typed waits, and the prompt is as it was afterwards.
func TestThePromptInHandIsNotDisturbed(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := cast(t, w, h, simple("api", when))
		s.prompt()
		s.press("half a pro")
		rs[0].asks()
		s.seeOpen(1)
		s.see("> half a pro")
		s.press("mpt, 2")
		s.rest()
		s.tick() // however long it rests
		s.see("> half a prompt, 2")
		rs[0].waits()
		s.press("^O")
		s.see("When should it run?")
		s.apart("2", "Enter")
		rs[0].got("at night")
		s.see("> half a prompt, 2", "idle")
	})
}

// Beat 4: two asks of one message are two asks: an answer goes to one of them, and what is typed into the one is not
// in the other.
func TestTwoAsksInOneMessage(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, asker{who: builder, qs: []host.OperatorQuestion{when}}, asker{who: builder, qs: []host.OperatorQuestion{when}})
		s.press("i", "for the first", "Esc")
		s.apart("^O", "Down", "Enter") // the second
		s.rest()
		s.never("for the first")
		s.press("2", "Enter")
		rs[1].got("at night")
		rs[0].waits()
		s.seeOpen(1)
		s.see("own answer: for the first")
		s.apart("i", "Enter")
		rs[0].got("for the first")
	})
}

// Beat 12 and Claude: a digit, then Enter twice 40 ms apart with two asks in the line answers the first one alone.
// So does a third one, and a digit between them.
func TestTwoQuickEntersAnswerOneAsk(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		for _, quick := range [][]string{{"Enter"}, {"Enter", "Enter"}, {"2", "Enter"}, {"Space", "Enter"}} {
			t.Run(fmt.Sprint(quick), func(t *testing.T) {
				s, rs := askedBy(t, w, h, simple("api", when), simple("web", database))
				s.press("2", "Enter")
				for _, key := range quick {
					s.clock.Advance(40 * time.Millisecond)
					s.press(key)
				}
				rs[0].got("at night")
				s.seeOpen(1)
				for range 3 { // it is in front now
					s.clock.Advance(40 * time.Millisecond)
					s.press("Enter")
				}
				s.never("(x)")
				rs[1].waits()
				s.apart("3", "Enter")
				rs[1].got("None yet")
			})
		}
	})
}

// O12 (claude-code#43883, #87053) and Beat 2 at both sizes: `a s d Enter` within 240 ms of opening answers nothing; the
// letters are in the prompt. It holds for every ask that comes to the front, not only for the first.
func TestQuickKeysAnswerNothingAtAnyOpening(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		danger := host.OperatorQuestion{Question: "Drop the table?", Header: "Drop", Options: labels("Yes, drop it", "No")}
		s, rs := cast(t, w, h, simple("api", danger), simple("web", danger))
		quick := func() {
			for _, k := range []string{"a", "s", "d", "Enter"} {
				s.clock.Advance(60 * time.Millisecond)
				s.press(k)
			}
		}
		s.prompt()
		rs[0].asks()
		s.see("Drop the table?")
		quick()
		s.see("3")
		rs[1].asks()
		s.seeOpen(2)
		s.rest()
		s.press("2", "Enter")
		rs[0].got("No")
		s.seeOpen(1)
		quick()
		rs[1].waits()
		s.rest()
		s.press("2", "Enter")
		rs[1].got("No")
		s.see("> asdasd")
	})
}

// Beat 11: the same words from two agents with different right answers: each screen names its agent and that there is
// a twin; each answer arrives where it was given.
func TestTwinsGetTheirOwnAnswers(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, simple("api", when), simple("web", when))
		s.see("api", "same words")
		s.press("2", "Enter")
		s.until("has web in front", func(string) bool { return frontAgent(s) == "web" })
		s.never("same words")
		s.apart("1", "Enter")
		rs[0].got("at night")
		rs[1].got("at noon")
	})
}

// frontAgent is the agent that the head line names.
func frontAgent(s *screen) string {
	for _, name := range []string{"api", "web", "docs"} {
		if head := firstLine(s.view()); containsWord(head, name) {
			return name
		}
	}
	return ""
}

// claude agents: every row of the inbox has a draft of its own, shown as its label; Enter sends the lit row's alone.
func TestEveryRowHasItsDraft(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, simple("api", when), simple("web", database), simple("docs", when))
		s.press("^O")
		s.rest()
		s.press("2")
		s.see("Enter sends “at night” to api")
		s.press("Down", "3")
		s.see("Enter sends “None yet” to web")
		s.press("Down", "1")
		s.see("Enter sends “at noon” to docs")
		s.press("Up", "Up")
		s.see("Enter sends “at night” to api")
		s.press("Down")
		s.apart("Enter")
		rs[1].got("None yet")
		s.see("inbox: 2 open")
		s.entered() // the next row that waits
		rs[2].got("at noon")
		s.see("inbox: 1 open")
		s.entered()
		rs[0].got("at night")
	})
}

// Beat 12: an ask of four questions is never sent from its row, whatever is pressed there; it opens.
func TestARowOfFourQuestionsIsNotSent(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, simple("api", when, database, goals, freely), simple("web", when))
		s.press("^O")
		s.rest()
		s.press("1")
		s.see("this ask has 4 questions: Enter opens")
		s.apart("2", "Enter")
		s.see("When should it run?", "at noon")
		s.never("(x)")
		rs[0].waits()
		s.apart("Enter") // its first question
		s.see("Which database")
		rs[0].waits()
		rs[1].waits()
	})
}

// Match (Codex, AUQ): a paste on the inbox is no key either.
func TestAPasteOnTheInboxIsNoKey(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, simple("api", when), simple("web", when))
		s.press("^O")
		s.rest()
		s.paste("2\n")
		s.rest()
		s.never("(x)")
		s.press("Enter") // opens
		s.apart("1", "Enter")
		rs[0].got("at noon")
		rs[1].waits()
	})
}

// Beat 11: an ask that another surface settled while it was open here is greyed within a second and says how; a
// second answer to it is refused, changes no history, and the draft is kept.
func TestALateSecondAnswerChangesNothing(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, when)
		s.press("i", "my own words")
		if err := r.ask.Answer(t.Context(), []host.Answer{{Picked: []int{1}}}); err != nil {
			t.Fatal(err)
		}
		r.got("at night")
		s.see("ended: answered", "my own words")
		s.apart("Enter", "Enter", "Esc")
		s.see("> my own words", "When: at night · sent")
		if a := r.sent(0); a.Text != "" {
			t.Errorf("history says %+v", a)
		}
	})
}
