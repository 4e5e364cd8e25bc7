package teatest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
)

// proposal is one as the gate makes it.
func proposal(effect host.Effect, title, text string) *host.Proposal {
	return &host.Proposal{
		Tool: "Bash", Effect: effect, Title: title, Text: text, Dir: "/project",
		Reason: "a command that is not known to only read", Held: "claude asks kitsoki before each tool and waits", Hash: "5e1f",
	}
}

func makeTest() *host.Proposal { return proposal(host.EffectWrite, "Bash make test", "make test") }

// sequence is a command of two thousand characters.
func sequence() *host.Proposal {
	text := "seq " + strings.Repeat("0123456789 ", 181)
	return proposal(host.EffectWrite, "Bash seq", text+"END")
}

// rowsOf are the rows of a proposal, in the gate's order.
func rowsOf(effect host.Effect) []host.OperatorOption {
	rows := []host.OperatorOption{
		{Label: "turn", Description: "this, and every other write until the turn ends"},
		{Label: "action", Description: "this once; the next one is proposed again"},
		{Label: "session", Description: "this, and every other write until the session ends"},
		{Label: "deny", Description: "the agent is told that you refused"},
	}
	if effect == host.EffectExternal {
		return []host.OperatorOption{rows[1], rows[3]}
	}
	return rows
}

// proposes is an agent whose actions are proposed, all at the same time.
func proposes(ps ...*host.Proposal) play {
	return func(ctx context.Context, _ func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say("I will run the tests now.")
		board, _ := host.OperatorPrompterFrom(ctx)
		done := make(chan string)
		for i, p := range ps {
			go func() { done <- propose(ctx, board, fmt.Sprintf("proposal-%d", i+1), p) }()
			if shown, _ := ctx.Value(shownKey{}).(func() int); !eventually(func() bool { return shown() > i }) {
				return errors.New("the proposal is not shown")
			}
		}
		for range ps {
			say(<-done)
		}
		return context.Cause(ctx)
	}
}

func propose(ctx context.Context, board host.OperatorPrompter, id string, p *host.Proposal) string {
	q := host.OperatorQuestion{Question: p.Title, Header: "Proposal", Options: rowsOf(p.Effect)}
	answers, err := board.Ask(host.WithAskRequest(ctx, host.AskRequest{
		ID: id, Kind: host.KindProposal, Proposal: p, Asker: builder,
	}), sessionID(ctx), []host.OperatorQuestion{q})
	row, _ := answers[q.Question].(string)
	if judged, ok := ctx.Value(judgedKey{}).(func(proposal, row string) error); ok {
		if err := judged(id, row); err != nil {
			return err.Error()
		}
	}
	if err != nil {
		return "The gate heard " + err.Error() + "."
	}
	return fmt.Sprintf("The gate heard %v.", answers[q.Question])
}

// proposed opens a screen on which proposals wait, past the guard.
func proposed(t *testing.T, w, h int, ps ...*host.Proposal) *screen {
	t.Helper()
	s := open(t, w, h, proposes(ps...))
	s.prompt()
	s.until(fmt.Sprintf("counts %d asks", len(ps)), func(string) bool { return s.shown() == len(ps) })
	s.see("╔═ PROPOSAL")
	s.rest()
	return s
}

// send gives the program keys at once, by their names as storms write them.
func (s *screen) send(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.tm.Send(keyOf(name))
	}
	s.settle()
}

// open fails when a proposal has been answered, or one key would allow it now.
func (s *screen) stillReading() {
	s.t.Helper()
	s.see("PROPOSAL")
	s.never("any other key goes back")
	if s.shown() != 1 {
		s.t.Fatalf("%d proposals are open:\n%s", s.shown(), s.view())
	}
}

func TestTwoKeysAllowAProposal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {40, 12}, {40, 14}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := proposed(t, size[0], size[1], makeTest())
			s.see("PROPOSAL · write", "make test", "1 turn", "then y, allows it")
			s.press("y") // the second key is nothing by itself
			s.stillReading()
			s.apart("Enter")
			s.see("y allows it for this turn")
			s.apart("x") // any other key goes back
			s.stillReading()
			s.apart("y")
			s.stillReading()
			s.apart("Enter", "y")
			s.see("The gate heard turn", "allowed for this turn: Bash")
		})
	}
}

func TestARowIsLitByItsDigitAndAnsweredAsLit(t *testing.T) {
	for row, want := range map[string]string{"2": "action", "3": "session"} {
		s := proposed(t, 80, 24, makeTest())
		s.press(row)
		s.stillReading()
		s.apart("Enter", "y")
		s.see("The gate heard " + want)
	}
	s := proposed(t, 80, 24, proposal(host.EffectExternal, "Bash git push", "git push"))
	s.see("PROPOSAL · external", "leaves this machine", "> 1 action")
	s.never("session")
	s.apart("3", "Enter") // there is no such row
	s.see("y allows it this once")
	s.apart("y")
	s.see("The gate heard action")
}

func TestDenyingTakesOneKey(t *testing.T) {
	for name, keys := range map[string][]string{"its key": {"d"}, "its row": {"4", "Enter"}, "before the end": {"PgUp", "d"}} {
		t.Run(name, func(t *testing.T) {
			p := makeTest()
			if name == "before the end" {
				p = sequence()
			}
			s := proposed(t, 40, 12, p)
			s.apart(keys...)
			s.see("The gate heard deny", "denied: "+p.Title)
		})
	}
	s := proposed(t, 80, 24, makeTest())
	s.press("^X", "not on a friday")
	s.apart("Esc") // kept
	s.stillReading()
	s.apart("^X")
	s.see("not on a friday")
	s.apart("Enter")
	s.see("(declined): not on a friday", "denied: Bash make test (not on a friday)")
}

// S2 (pi#9610): of a command of two thousand characters the end has to have been on the screen.
func TestAProposalIsReadToItsEnd(t *testing.T) {
	for _, size := range [][2]int{{40, 14}, {40, 12}, {40, 10}, {80, 24}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			s := proposed(t, size[0], size[1], sequence())
			s.never("END")
			for _, k := range []string{"Enter", "1", "2", "3"} {
				s.apart(k)
				s.see("read to the end first: PgDn")
				s.stillReading()
			}
			s.apart("1")
			for range 60 {
				s.send("PgDn")
			}
			s.see("END") // which is not passed by before it has been there for a moment
			s.rest()
			s.apart("Up", "Enter") // what was there counts
			s.see("y allows it for this turn")
			s.never("unread")
			s.apart("Esc")
			s.resize(41, 10)
			s.send("Home")
			s.never("END")
			s.apart("Enter", "y")
			s.see("The gate heard turn")
		})
	}
}

// text is what the screen shows of a proposal's text.
func (s *screen) text() string {
	var b strings.Builder
	for l := range strings.SplitSeq(s.view(), "\n") {
		if rest, ok := strings.CutPrefix(l, "║ │ "); ok {
			b.WriteString(rest)
		} else if rest, ok := strings.CutPrefix(l, "║ » "); ok {
			b.WriteString(rest)
		}
	}
	return b.String()
}

// Every character of a text can be read, at every size, in its order.
func TestAProposalIsShownWhole(t *testing.T) {
	p := sequence()
	p.Text = ""
	for i := range 60 {
		p.Text += fmt.Sprintf("%d  漢字 ", i)
	}
	p.Text += "\n\n|" + strings.Repeat(" ", 90) + "&& rm -rf ~  "
	for _, size := range [][2]int{{40, 10}, {43, 13}, {80, 24}} {
		s := proposed(t, size[0], size[1], p)
		var seen []string
		for range 40 {
			s.rest()
			if text := s.text(); len(seen) == 0 || seen[len(seen)-1] != text {
				seen = append(seen, text)
			}
			s.send("Down")
		}
		var rows string
		for i, text := range seen { // each step brings one row more
			if i == 0 {
				rows = text
				continue
			}
			for n := len(text); n >= 0; n-- {
				if strings.HasSuffix(rows, text[:n]) {
					rows += text[n:]
					break
				}
			}
		}
		if want := strings.ReplaceAll(p.Text, "\n", ""); strings.TrimRight(rows, " ") != strings.TrimRight(want, " ") {
			t.Errorf("at %v the screen showed\n%q, want\n%q", size, rows, want)
		}
	}
}

// A jump to the end is no reading, and what was passed over is said where it is allowed.
func TestWhatWasPassedOverIsSaid(t *testing.T) {
	s := proposed(t, 80, 24, sequence())
	s.send("End")
	s.apart("Enter")
	s.see("y allows it for this turn, ", " lines unread")
}

// The end has to stay on the screen: keys that come together scroll past it without its having been drawn.
func TestTheEndIsNotSeenInPassing(t *testing.T) {
	s := proposed(t, 40, 12, sequence())
	s.send("End", "Home")
	s.apart("Enter")
	s.see("read to the end first")
	s.send("End", "Enter")
	s.see("too quick")
	s.stillReading()
	s.apart("Enter")
	s.see("y allows it")
}

// O12 (claude-code#43883, #87053): what is typed as it opens is no answer. The letters are the prompt's.
func TestEarlyKeysAllowNothing(t *testing.T) {
	s := open(t, 80, 24, proposes(makeTest()))
	s.prompt()
	s.see("╔═ PROPOSAL")
	for _, k := range []string{"a", "s", "d", "Enter", "y"} {
		s.clock.Advance(60 * time.Millisecond)
		s.press(k)
	}
	s.stillReading()
	s.see("4 early keys are in the prompt")
	s.apart("Esc")
	s.see("> asdy", "PROPOSAL folded")
}

// Neither two keys at once, nor a key that is held down, nor a paste are the two keys.
func TestKeysThatComeTogetherAllowNothing(t *testing.T) {
	for name, do := range map[string]func(s *screen){
		"both at once":        func(s *screen) { s.send("Enter", "y") },
		"the second too soon": func(s *screen) { s.send("Enter"); s.clock.Advance(390 * time.Millisecond); s.send("y") },
		"a held second key": func(s *screen) {
			s.send("Enter")
			for range 50 {
				s.clock.Advance(30 * time.Millisecond)
				s.send("y")
			}
		},
		"a held first key": func(s *screen) {
			for range 50 {
				s.send("Enter")
				s.clock.Advance(30 * time.Millisecond)
			}
		},
		"a paste": func(s *screen) {
			s.send("Enter")
			s.rest()
			s.paste("y")
		},
		"a word": func(s *screen) {
			s.send("Enter")
			s.rest()
			s.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("yes")}) // read at once
			s.settle()
		},
		"the other way round": func(s *screen) { s.send("y"); s.rest(); s.send("Enter") },
		"with Alt":            func(s *screen) { s.send("Enter"); s.rest(); s.send("A-y") },
	} {
		t.Run(name, func(t *testing.T) {
			s := proposed(t, 80, 24, makeTest())
			do(s)
			if s.shown() != 1 || strings.Contains(s.view(), "The gate heard") {
				t.Fatalf("it was answered:\n%s", s.view())
			}
		})
	}
	s := proposed(t, 80, 24, makeTest())
	s.send("Enter", "y")
	s.see("too quick: once more y allows it for this turn")
	s.send("o", "u")
	s.see("3 early keys are in the prompt") // the y with them: it was a word
	s.apart("Esc")
	s.see("> you")
}

// Whatever covers the screen between the two keys, or makes doubtful what is on it, takes the first one back.
func TestTheFirstKeyIsTakenBack(t *testing.T) {
	for name, do := range map[string]func(s *screen){
		"Esc":                func(s *screen) { s.send("Esc") },
		"a look at the keys": func(s *screen) { s.send("F1"); s.rest(); s.send("Esc") },
		"^C":                 func(s *screen) { s.send("^C") },
		"another size":       func(s *screen) { s.resize(90, 30) },
		"the focus":          func(s *screen) { s.tm.Send(tea.FocusMsg{}); s.settle() },
		"a suspend":          func(s *screen) { s.tm.Send(tea.ResumeMsg{}); s.settle() },
		"too small":          func(s *screen) { s.resize(30, 5); s.resize(80, 24) },
		"a paste":            func(s *screen) { s.paste("no\nidea") },
	} {
		t.Run(name, func(t *testing.T) {
			s := proposed(t, 80, 24, makeTest())
			s.send("Enter")
			s.see("y allows it")
			s.rest()
			do(s)
			s.rest()
			s.stillReading()
			s.apart("y")
			s.stillReading()
		})
	}
}

// What is on the screen as the operator presses the second key is what is answered: a proposal that ended takes none.
func TestAProposalThatEndedIsNotAllowed(t *testing.T) {
	s := proposed(t, 80, 24, makeTest())
	s.send("Enter")
	s.see("y allows it")
	s.clock.Advance(10 * time.Minute)
	s.see("ended: timed out")
	s.never("y allows it")
	s.apart("y")
	s.see("nothing can be allowed")
	s.apart("Esc")
	s.see("not allowed: Bash make test, timed out")
}

func TestProposalsInTheInbox(t *testing.T) {
	p, q := makeTest(), proposal(host.EffectWrite, "Bash make install", "make install")
	s := proposed(t, 80, 24, p, q, sequence())
	s.see("2 more like this wait", "1 of 3")
	s.apart("^O")
	s.see("> 1  PROPOSAL · write · scripted › tests", "Bash make install", "Enter open")
	s.apart("1")
	s.see("allowed where it can be read")
	s.apart("y")
	s.see("inbox: 3 open")
	s.apart("d")
	s.see("denied", "inbox: 2 open")
	s.apart("Enter")
	s.see("╔═ PROPOSAL", "make install", "then y, allows it")
	s.send("y", "Enter", "y")
	s.see("╔═ PROPOSAL", "make install")
	s.apart("^O", "^X", "no", "Enter")
	s.see("╔═ PROPOSAL", "Bash seq")
	s.apart("^O", "Tab")
	s.see("settled: 2 of 2", "Bash make test")
}

// A yes for the turn may settle the like ones: that is the gate's, and the screen says how many there are.
func TestTheSameWordsInTwoProposals(t *testing.T) {
	s := proposed(t, 80, 24, makeTest(), makeTest())
	s.see("1 more like this waits", "same words", "as ask 2")
	s.apart("Enter", "y")
	s.see("╔═ PROPOSAL", "1 of 1")
	s.never("more like this")
}

// One that comes while something is typed waits beside it, as a question does.
func TestAProposalNeverOpensOverTyping(t *testing.T) {
	s := open(t, 80, 24, proposes(makeTest()))
	s.prompt()
	s.see("╔═ PROPOSAL")
	s.apart("Esc", "typing")
	s.see("> typing", "PROPOSAL folded · scripted › tests: Bash make test")
	s.apart("^O")
	s.see("╔═ PROPOSAL")
	s.rest()
	s.apart("v")
	s.see("last words", "I will run the tests now")
	s.apart("Esc")
	s.stillReading()
}
