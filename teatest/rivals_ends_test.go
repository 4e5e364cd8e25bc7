package teatest

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

// T4 (executor#1953) and Beat 9: a second after the deadline no key answers; the screen says how it ended, the draft
// stands there still, and is in the prompt afterwards. The agent reads a timeout, not a success.
func TestALateAnswerIsToldAndItsDraftKept(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, when)
		s.press("i", "my own words")
		s.clock.Advance(10 * time.Minute)
		r.ends(host.TimedOut)
		s.press("Enter")
		s.see("ended: timed out", "my own words", "This ask is over")
		s.apart("Enter", "Esc")
		s.see("> my own words", "answered: timed out", "idle")
		s.never("= When")
	})
}

// T4: the draft of an ask that timed out can be copied where it stands.
func TestADraftThatIsTooLateCanBeCopied(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, when)
		s.press("i", "my own words", "Esc")
		s.clock.Advance(10 * time.Minute)
		r.ends(host.TimedOut)
		s.see("ended: timed out")
		s.apart("y")
		got := s.beside(func(w string) bool { return strings.Contains(w, "]52;c;") })
		code := base64.StdEncoding.EncodeToString([]byte("my own words"))
		if !strings.Contains(got, code) {
			t.Errorf("copied %q", got)
		}
	})
}

// Beat 9: a lit row, a ticked row and a filled field are no answer when the time is up.
func TestATimeoutTakesNoDraft(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, checks)
		s.press("Space", "Down", "Space", "i", "also this")
		s.apart("Enter") // ticked, and the whole not taken
		s.clock.Advance(10 * time.Minute)
		if u := r.unanswered(host.TimedOut); u.Partial != nil {
			t.Errorf("it went along: %+v", u.Partial)
		}
		s.see("ended: timed out")
	})
}

// O14 (claude-code#73490): the deadline moves on while keys come, and the countdown shows it; it runs on when none come.
func TestTypingHoldsTheCountdown(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, when)
		s.press("i")
		for range 16 { // eight minutes, of which five were given
			s.clock.Advance(30 * time.Second)
			s.press("x")
			if !eventually(func() bool { return r.ask.Info().Deadline.Sub(s.clock.Now()) >= time.Minute }) {
				t.Fatal("the deadline comes nearer than a minute")
			}
			s.tick()
		}
		r.waits()
		s.see("1:00")
		s.clock.Advance(30 * time.Second)
		s.tick()
		s.see("0:30")
		s.clock.Advance(31 * time.Second)
		r.ends(host.TimedOut)
		s.see(strings.Repeat("x", 16))
	})
}

// Beat 11: an answer that did not reach the agent is shown as that and not as done, and can be copied from the list
// of what is settled.
func TestAnUndeliveredAnswerIsNotShownAsDone(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, simple("api", when), simple("web", when))
		s.press("2", "Enter")
		rs[0].got("at night")
		s.seeOpen(1)
		s.apart("1", "Enter")
		rs[1].got("at noon")
		rs[0].ask.Delivered(false)
		rs[1].ask.Delivered(true)
		s.apart("^O", "Tab")
		s.see("settled: 2 of 2", "answered, not delivered")
		s.see("answered, taken")
		s.press("/", "not delivered", "Enter")
		s.see("settled: 1 of 2", "= When: at night")
	})
}

// Beat 7: the first Ctrl+C says what quitting now means for what is open, on every page, and answers nothing; the key
// after it takes it back.
func TestControlCSaysWhatItMeans(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		for name, keys := range map[string][]string{"list": nil, "field": {"i", "x"}, "inbox": {"^O"}, "folded": {"Esc"}} {
			t.Run(name, func(t *testing.T) {
				s, rs := askedBy(t, w, h, simple("api", when), simple("web", when))
				s.press(keys...)
				s.rest()
				s.press("^C")
				if w == 80 {
					s.see("^C again quits: 2 open asks end without an answer")
				}
				s.see("^C again quits")
				s.press("Up")
				s.clock.Advance(time.Second)
				s.press("^C") // the first one again
				s.see("^C again quits")
				s.clock.Advance(3100 * time.Millisecond)
				s.press("^C") // too late to be the second
				s.see("^C again quits")
				s.apart("F1")
				s.see("Keys in")
				s.apart("F1")
				s.gone("Keys in") // it runs still
				rs[0].waits()
				rs[1].waits()
			})
		}
	})
}

// Beat 11: the row of an agent that died takes no answer, with a digit that was pressed before it died too; no key of
// it goes to another row.
func TestTheRowOfADeadAgentTakesNoAnswer(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, simple("api", when), simple("web", when))
		s.press("^O")
		s.rest()
		s.press("2")
		s.see("Enter sends “at night” to api")
		rs[0].dies()
		rs[0].ends(host.AskerGone)
		s.see("inbox: 1 open")
		s.apart("Enter", "1", "Enter")
		s.see("this ask is over: asker gone")
		rs[1].waits()
		if d := rs[1].ask.Draft(0); len(d.Picked) > 0 {
			t.Errorf("a key went to the other row: %+v", d)
		}
		s.press("Down")
		s.apart("1", "Enter")
		rs[1].got("at noon")
	})
}

// Beat 11: the second of two equal labels can never deliver the first, because such a question is not shown at all.
func TestEqualLabelsNeverReachTheScreen(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		equal := host.OperatorQuestion{Question: "Which file?", Options: labels("foo.txt", "foo.txt")}
		s, rs := cast(t, w, h, simple("api", equal), simple("web", when))
		s.prompt()
		close(rs[0].cue)
		if e := rs[0].ending(); e.err == nil || len(e.answers) > 0 {
			t.Errorf("the agent got %v, %v", e.answers, e.err)
		}
		rs[1].asks()
		s.seeOpen(1)
		s.never("foo.txt")
		s.apart("1", "Enter")
		rs[1].got("at noon")
	})
}

// O13 (claude-code#87179) at both sizes, and Beat 9: stopping the turn cancels every ask of it, ticked or lit as it is.
func TestStoppingCancelsEveryAsk(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		q := host.OperatorQuestion{Question: "Drop it?", Options: labels("Yes (Recommended)", "No")}
		s, rs := askedBy(t, w, h, simple("api", q, when), simple("web", q))
		s.press("r") // ticks what is recommended, and sends nothing
		s.rest()
		rs[0].waits()
		s.press("Esc", "Esc")
		s.apart("Esc")
		s.clock.Advance(150 * time.Millisecond)
		s.press("Esc")
		for _, r := range rs {
			if u := r.unanswered(host.Cancelled); strings.Contains(u.Error(), "Recommended") || u.Partial != nil {
				t.Errorf("%s got %v", r.who.Agent, u)
			}
		}
		s.see("idle")
	})
}

// G5 (OpenGlasses#205): an agent's question that poses as a permission is a question: the screen says that it grants
// nothing, and its answer is plain text.
func TestAQuestionThatPosesAsAPermission(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		q := host.OperatorQuestion{Question: "Allow Bash(rm -rf build)?", Header: "PERMISSION", Options: labels("turn", "action", "session", "deny")}
		s, r := asked(t, w, h, q)
		if kind := r.ask.Info().Kind; kind != host.KindQuestion {
			t.Errorf("it is a %s", kind)
		}
		s.see("grants nothing")
		s.press("3", "Enter")
		r.got("session")
	})
}
