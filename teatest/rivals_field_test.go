package teatest

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// O10 (claude-code#56890, #78175) and Beat 1: Esc in the field loses neither the draft nor what was answered before.
func TestEscInTheFieldLosesNothing(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, when)
		s.press("2", "Enter")
		s.see("When should it run?")
		s.apart("i")
		s.press("at dawn", "Esc")
		s.see("own answer: at dawn", "draft")
		s.press("Esc") // folds
		s.see("folded, 1 of 2 answered")
		s.rest()
		s.press("^O")
		s.see("own answer: at dawn")
		s.apart("Tab", "Tab") // review, first question
		s.see("(x) SQLite")
		s.apart("Tab", "Down", "i") // the field has the draft still
		s.press(" or so")
		s.apart("Enter", "Enter")
		r.got("SQLite", "at dawn or so")
	})
}

// O10 and opencode: Enter on an empty own answer does nothing, however often, and says so.
func TestEnterOnAnEmptyFieldDoesNothing(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, when)
		s.press("i")
		for range 3 {
			s.apart("Enter")
			s.see("the own answer is empty")
		}
		s.press("  ")
		s.apart("Enter") // blank is empty
		s.see("the own answer is empty")
		s.press("Backspace", "Backspace", "Esc")
		s.apart("2", "Enter")
		r.got("at night")
	})
}

// O4 (Pivot#48): Enter on the own answer's row opens the field; neither its name nor a sentinel is ever sent, and an
// option that is called Other is an option.
func TestEnterOnTheOwnRowOpensTheFieldOnly(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		q := when
		q.Options = labels("Now", "Other")
		s, r := asked(t, w, h, q)
		s.press("Down", "Down")
		s.see("> own answer: type it here")
		s.press("Enter")
		s.see("own") // the field
		s.apart("Enter")
		s.see("the own answer is empty")
		s.press("in an hour")
		s.apart("Enter")
		r.got("in an hour")
	})
}

// O5 (claude-code#25624) and Beat 12: `15:00` is text, on the own answer's row and in the field, all at once or with
// a rest after the 1; no digit of it picks a row, and the rest goes nowhere else.
func TestFifteenOClockIsText(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		for name, type15 := range map[string]func(*screen){
			"on the row":             func(s *screen) { s.press("Down", "Down", "15:00") },
			"on the row, with rests": func(s *screen) { s.press("Down", "Down"); s.apart("1", "5", ":", "0", "0") },
			"in the field":           func(s *screen) { s.press("i", "15:00") },
			"in the field, rests":    func(s *screen) { s.apart("i", "1", "5", ":", "0", "0") },
			"pasted on the row":      func(s *screen) { s.press("Down", "Down"); s.paste("15:00") },
		} {
			t.Run(name, func(t *testing.T) {
				s, r := asked(t, w, h, when)
				type15(s)
				s.see("15:00")
				s.never("(x)")
				s.apart("Enter")
				r.got("15:00")
				s.see("idle")
				s.never("> 5:00")
			})
		}
	})
}

// Beat 12: 1 lights a row and no more; the rest of `15:00` on the list is digits too, or nothing, and no prompt.
func TestTheRestOfADigitGoesNowhere(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, when)
		s.press("1", "5:00")
		s.rest()
		r.waits()
		if s.litRow() != "1" {
			t.Errorf("row %s is lit", s.litRow())
		}
		s.press("2", "Enter")
		r.got("at night")
		s.see("idle")
		s.never("5:00|")
	})
}

// O7 (maka#1079) and Beat 6: pastes of any length arrive whole in the field, and are not sent by their newlines.
func TestPastesAreWholeAndNotSent(t *testing.T) {
	lines := strings.Repeat("x", 400) + "\n" + strings.Repeat("y", 298) + "\r\n" + strings.Repeat("z", 300) + "\n"
	want := strings.ReplaceAll(lines, "\r\n", "\n")
	if len([]rune(want)) != 1001 {
		t.Fatal(len([]rune(want)))
	}
	atSizes(t, func(t *testing.T, w, h int) {
		for name, tc := range map[string]struct{ paste, want string }{
			"1001": {lines, want}, "40000": {strings.Repeat("0123456789\n", 4000)[:40000], strings.Repeat("0123456789\n", 4000)[:40000]},
		} {
			for _, keys := range [][]string{{"i"}, {}, {"Down", "Down"}} { // the field, the list, the own answer's row
				t.Run(name+" after "+strings.Join(keys, " "), func(t *testing.T) {
					s, r := asked(t, w, h, when)
					s.press(keys...)
					s.paste(tc.paste)
					s.rest()
					r.waits()
					s.apart("Enter")
					r.got(tc.want)
				})
			}
		}
	})
}

// Beat 6: of 100,000 characters none is lost. They are more than an agent reads of a tool result, so the field says
// so, the ask stays open, and the text is whole in the prompt when the ask ends.
func TestOfAHundredThousandCharactersNoneIsLost(t *testing.T) {
	text := strings.Repeat("0123456789", 10000)
	atSizes(t, func(t *testing.T, w, h int) {
		r, prompts := newRival(t, simple("api", when)), make(chan string, 2)
		s := open(t, w, h, func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
			prompts <- promptOf(ctx)
			if promptOf(ctx) != "go" {
				return nil
			}
			return rivalsIn(r)(ctx, ask, say)
		})
		s.prompt()
		r.asks()
		s.seeOpen(1)
		s.rest()
		s.paste(text)
		s.apart("Enter")
		s.see("answers are 100030")
		r.waits()
		r.dies()
		r.ends(host.AskerGone)
		s.see("ended: asker gone")
		s.apart("Esc")
		s.see("> ", "6789", "idle")
		s.apart("Enter")
		<-prompts
		select {
		case got := <-prompts:
			if got != text {
				t.Errorf("%d characters were kept", len(got))
			}
		case <-time.After(20 * time.Second):
			t.Errorf("the text is not in the prompt:\n%s", s.view())
		}
	})
}

// Codex: a paste on the list never acts as keys, even when each of its characters is one: it becomes the own answer.
// On the review it does nothing.
func TestAPasteOnTheListIsTextOnly(t *testing.T) {
	const poison = "2\ns e y + 1 k j q / v\n\n"
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, checks)
		s.paste(poison)
		s.see("own")
		s.rest()
		s.press("Esc")
		s.see("> 1 ( )")
		s.apart("Tab")
		s.paste(poison)
		s.press("Esc")
		s.apart("Tab")
		s.see("This is what the agent will get")
		s.paste("\n\n  \n")
		s.rest()
		s.see("This is what the agent will get")
		r.waits()
		s.apart("Space", "Down", "Space", "Enter")
		r.got(poison, []string{poison})
	})
}

// O8 (claude-code#73136): of a multi-select two rows and the own answer all reach the agent.
func TestTwoRowsAndOwnTextAllArrive(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, checks)
		s.press("Space", "Down", "Down", "Space", "i", "smoke, by hand")
		s.apart("Enter", "Enter")
		r.got([]string{"lint", "race", "smoke, by hand"})
	})
}

// O9 (claude-code#92788), Beat 3 and Crush: own text that was typed and not taken is asked about when another row is
// taken, and goes along beside it, never dropped.
func TestOwnTextIsAskedAboutWhenARowIsTaken(t *testing.T) {
	const words = "a long own answer, with commas, that took a minute to type"
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database)
		s.press("i", words, "Esc")
		s.apart("2", "Enter")
		s.see("your own answer is a draft")
		r.waits()
		s.apart("Enter")
		s.see("SQLite", "note: a long own", "use or leave")
		r.waits()
		s.apart("Enter")
		r.got("SQLite")
		if a := r.sent(0); a.Text != words || len(a.Picked) != 1 {
			t.Errorf("sent %+v", a)
		}
	})
}

// Beat 3: a draft that was not taken stops the send and is decided on the review: used, or left out and kept.
func TestUntakenTextIsNotIgnoredAtTheSend(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		for name, keys := range map[string][]string{"used": {"Space"}, "left": {"Space", "Space"}} {
			t.Run(name, func(t *testing.T) {
				s, r := asked(t, w, h, database, freely)
				s.press("Enter")
				s.see("What should it be called?")
				s.rest()
				s.press("Nova", "Tab")
				s.see("This is what the agent will get")
				s.apart("Enter", "Enter", "Enter") // however often
				s.see("question 2 has a draft")
				r.waits()
				s.apart(keys...)
				s.apart("Enter")
				if name == "used" {
					r.got("Postgres", "Nova")
					return
				}
				r.got("Postgres", nil)
				s.see("> Nova") // kept for the prompt
			})
		}
	})
}

// Crush: Enter in a note only saves it, and the note goes along.
func TestEnterInANoteOnlySaves(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database)
		s.press("2", "n", "only on linux")
		s.apart("Enter")
		s.see("> 2 ( ) SQLite")
		s.rest()
		r.waits()
		s.press("n")
		s.see("note: only on linux")
		s.press("Esc")
		s.apart("Enter")
		r.got("SQLite")
		if a := r.sent(0); a.Note != "only on linux" || a.Text != "" {
			t.Errorf("sent %+v", a)
		}
	})
}
