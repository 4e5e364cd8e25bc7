package teatest

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"example.com/kitsoki/host"
)

// kinds are the kinds of steps, each as often as it comes.
func (w weather) kinds() []*rapid.Generator[step] {
	var out []*rapid.Generator[step]
	add := func(often int, draw func(*rapid.T) step) {
		for range often {
			out = append(out, rapid.Custom(draw))
		}
	}
	add(8, w.drawKey)
	add(4, w.drawType)
	add(3, w.drawBurst)
	add(2, w.drawPaste)
	add(2, drawResize)
	add(1, drawFocus)
	add(3, drawRest)
	add(w.asks, drawAsk)
	add(w.proposals, drawProposal)
	add(2*w.proposals, drawAllow)
	add(w.asks/2, drawSurprise)
	add(5, drawAnswer)
	add(1, drawGone)
	add(1, drawElsewhere)
	add(1, drawTurnEnd)
	add(2, drawPrompt)
	add(1, drawQueue)
	add(1, drawSession)
	return out
}

// stormKeys are all named keys and all of ASCII.
func stormKeys() []string {
	return append(stormKeysThatKeep(), "Backspace", "Delete", "^U", "^D", "^K", "^W", "^H", "A-d", "A-Backspace", "A-c", "A-l", "A-u")
}

// stormKeysThatKeep are the same without those that take characters out of a field or change them.
func stormKeysThatKeep() []string {
	out := strings.Fields(`Enter Enter Enter Enter Esc Esc Esc Tab Tab S-Tab Up Up Down Down Left Right Home End PgUp PgDn ^End Space Space
		^A ^B ^C ^E ^F ^J ^L ^N ^O ^O ^P ^P ^Q ^R ^T ^V ^X ^X ^Y ^Z F1 F2 A-Enter A-b A-f A-x A-1 i i n n e s p v r y / + ?`)
	for r := '!'; r <= '~'; r++ {
		out = append(out, string(r))
	}
	return out
}

// storms' keys beyond those of the other tests.
var moreKeys = map[string]tea.KeyMsg{
	"Home": {Type: tea.KeyHome}, "End": {Type: tea.KeyEnd}, "^End": {Type: tea.KeyCtrlEnd}, "Delete": {Type: tea.KeyDelete},
	"^A": {Type: tea.KeyCtrlA}, "^B": {Type: tea.KeyCtrlB}, "^E": {Type: tea.KeyCtrlE}, "^Q": {Type: tea.KeyCtrlQ}, "^R": {Type: tea.KeyCtrlR},
	"^V": {Type: tea.KeyCtrlV}, "^Y": {Type: tea.KeyCtrlY}, "^Z": {Type: tea.KeyCtrlZ}, "^K": {Type: tea.KeyCtrlK}, "^W": {Type: tea.KeyCtrlW},
	"^H": {Type: tea.KeyCtrlH}, "F2": {Type: tea.KeyF2},
	"A-Enter": {Type: tea.KeyEnter, Alt: true}, "A-Backspace": {Type: tea.KeyBackspace, Alt: true},
	"Space": {Type: tea.KeySpace, Runes: []rune{' '}},
}

// keyOf is the message of a key by its name, as tests write it.
func keyOf(name string) tea.KeyMsg {
	if k, ok := moreKeys[name]; ok {
		return k
	}
	if k, ok := named[name]; ok {
		return tea.KeyMsg{Type: k}
	}
	if rest, ok := strings.CutPrefix(name, "A-"); ok {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(rest), Alt: true}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// fresh in a list of keys stands for a character that was never typed before, wide for one of two cells.
const fresh, wide = "fresh", "wide"

func restBefore() *rapid.Generator[time.Duration] {
	return rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Millisecond, 100 * time.Millisecond, 450 * time.Millisecond, 450 * time.Millisecond, 1200 * time.Millisecond})
}

func (w weather) drawKey(t *rapid.T) step {
	name, rest := rapid.SampledFrom(w.keys).Draw(t, "key"), restBefore().Draw(t, "after")
	return step{fmt.Sprintf("%v, key %s", rest, name), nil, func(s *storm, _ []string) { s.after(rest); s.press(name) }}
}

// drawType is what hands do: a few characters, at the speed of typing.
func (w weather) drawType(t *rapid.T) step {
	n, rest := rapid.IntRange(1, 8).Draw(t, "characters"), restBefore().Draw(t, "after")
	kind := rapid.SampledFrom([]string{fresh, fresh, wide}).Draw(t, "kind")
	return step{fmt.Sprintf("%v, type %d %s", rest, n, kind), nil, func(s *storm, _ []string) {
		s.after(rest)
		for range n {
			s.press(kind)
			s.settle()
			s.after(40 * time.Millisecond)
		}
	}}
}

// drawBurst is keys that come faster than the program can do what they ask for.
func (w weather) drawBurst(t *rapid.T) step {
	all := append([]string{fresh, fresh, fresh, fresh, fresh, fresh, fresh, fresh, fresh, fresh, wide, wide, wide, wide}, w.keys...)
	names, rest := rapid.SliceOfN(rapid.SampledFrom(all), 5, 50).Draw(t, "keys"), restBefore().Draw(t, "after")
	return step{fmt.Sprintf("%v, burst", rest), names, func(s *storm, keys []string) { s.after(rest); s.press(keys...) }}
}

func (w weather) drawPaste(t *rapid.T) step {
	n := rapid.SampledFrom([]int{1, 2, 5, 10, 10, 30, 50, 50, 100, 200, 1000}).Draw(t, "characters")
	if rapid.IntRange(0, 299).Draw(t, "huge") == 299 {
		n = hugePaste
	}
	fill := rapid.SampledFrom([]string{"words and words ", "a line\nand one\n", "\x1b[31mred\x1b]0;x\a", "\r\n\t\x00\x7f", "漢字", "1/3 ‹ESC› e\u0301\u200d", "x"}).Draw(t, "filled with")
	rest := restBefore().Draw(t, "after")
	return step{fmt.Sprintf("%v, paste %d of %q", rest, n, fill), nil, func(s *storm, _ []string) {
		s.after(rest)
		s.paste(n, fill)
		if n == hugePaste { // which makes every key slow, so it does not stay for long
			s.settle()
			s.press("Enter")
		}
	}}
}

const hugePaste = 40_000

func drawResize(t *rapid.T) step {
	usual := rapid.SampledFrom([][2]int{{80, 24}, {80, 24}, {80, 24}, {80, 24}, {40, 12}, {40, 12}, {40, 10}, {39, 9}, {1, 1}, {200, 60}, {60, 18}, {120, 30}})
	size := rapid.OneOf(usual, usual, usual,
		rapid.Custom(func(t *rapid.T) [2]int {
			return [2]int{rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height")}
		}),
	).Draw(t, "size")
	return step{fmt.Sprintf("resize %dx%d", size[0], size[1]), nil, func(s *storm, _ []string) { s.resize(size[0], size[1]) }}
}

func drawFocus(t *rapid.T) step {
	if rapid.Bool().Draw(t, "focus") {
		return step{"focus", nil, func(s *storm, _ []string) { s.armed(); s.update(tea.FocusMsg{}) }}
	}
	return step{"blur", nil, func(s *storm, _ []string) { s.update(tea.BlurMsg{}) }}
}

func drawRest(t *rapid.T) step {
	d := rapid.SampledFrom([]time.Duration{
		10 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 2 * time.Second, 2 * time.Second, 2 * time.Second,
		2 * time.Second, 5 * time.Second, 20 * time.Second, 2 * time.Minute, 10 * time.Minute,
	}).Draw(t, "time")
	return step{fmt.Sprintf("%v pass", d), nil, func(s *storm, _ []string) { s.after(d) }}
}

func nth(t *rapid.T) int { return rapid.IntRange(0, 11).Draw(t, "which") }

func drawAsk(t *rapid.T) step {
	a := newAsk{
		session: rapid.IntRange(0, 2).Draw(t, "session"), asker: rapid.IntRange(0, 3).Draw(t, "asker"),
		twin: rapid.IntRange(0, 4).Draw(t, "twin") == 0, hostile: rapid.IntRange(0, 5).Draw(t, "hostile") == 0,
		wait: rapid.SampledFrom([]time.Duration{0, 0, 0, 3 * time.Second, 30 * time.Second, time.Hour}).Draw(t, "wait"),
	}
	options := rapid.SampledFrom([]int{0, 1, 2, 2, 3, 3, 4, 9, 12, 30})
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 3, 4}).Draw(t, "questions") {
		a.questions = append(a.questions, newQuestion{
			options: options.Draw(t, "options"), multi: rapid.Bool().Draw(t, "multi"), previews: rapid.IntRange(0, 3).Draw(t, "previews") == 0,
			long: rapid.IntRange(0, 5).Draw(t, "long") == 0,
		})
	}
	return step{"ask " + a.String(), nil, func(s *storm, _ []string) { s.ask(a) }}
}

// drawSurprise is an ask that comes up under hands that are on the keys.
func drawSurprise(t *rapid.T) step {
	ask := drawAsk(t)
	names := rapid.SampledFrom([][]string{{"Enter"}, {"Enter", "Enter", "Enter"}, {"1", "Enter"}, {fresh, "Enter"}, {"Space", "Enter", "Enter"}, {"^X", "Enter"}, {"e", fresh, "Enter"}}).Draw(t, "keys")
	rest := rapid.SampledFrom([]time.Duration{0, 30 * time.Millisecond, 100 * time.Millisecond}).Draw(t, "after")
	return step{fmt.Sprintf("Esc, 1.2s, %s, and %v before each of", ask.name, rest), names, func(s *storm, keys []string) {
		s.press("Esc")
		s.after(1200 * time.Millisecond)
		ask.do(s, nil)
		s.settle()
		for _, name := range keys {
			s.after(rest)
			s.press(name)
			s.settle()
		}
	}}
}

func drawGone(t *rapid.T) step {
	n := nth(t)
	return step{fmt.Sprintf("asker of open ask %d is gone", n), nil, func(s *storm, _ []string) {
		if a := s.openAsk(n); a != nil {
			a.cancel(&host.Unanswered{Outcome: host.AskerGone, Reason: "the agent died"})
		}
	}}
}

func drawElsewhere(t *rapid.T) step {
	n, decline := nth(t), rapid.IntRange(0, 3).Draw(t, "decline") == 0
	return step{fmt.Sprintf("open ask %d ends elsewhere, declined %v", n, decline), nil, func(s *storm, _ []string) { s.elsewhere(n, decline) }}
}

func drawTurnEnd(t *rapid.T) step {
	n, well := nth(t), rapid.Bool().Draw(t, "well")
	return step{fmt.Sprintf("turn of session %d ends, well %v", n, well), nil, func(s *storm, _ []string) { s.endTurn(n, well) }}
}

// drawPrompt is an operator on the way to a new turn.
func drawPrompt(t *rapid.T) step {
	n := rapid.IntRange(1, 4).Draw(t, "characters")
	return step{fmt.Sprintf("Esc, Esc, type %d, Enter", n), nil, func(s *storm, _ []string) {
		for range 2 {
			s.after(450 * time.Millisecond)
			s.press("Esc")
			s.settle()
		}
		for range n {
			s.press(fresh)
			s.settle()
		}
		s.press("Enter")
	}}
}

// drawAnswer is an operator who takes the time to read.
func drawAnswer(t *rapid.T) step {
	names := rapid.SampledFrom([][]string{
		{"Enter", "Enter"}, {"2", "Enter"}, {"Space", "Enter", "Enter"}, {"Space", "Enter", "Space", "Enter", "Enter", "Enter"}, {"i", fresh, wide, "Enter", "Enter"},
		{"n", fresh, fresh, "Enter", "1", "Enter", "Enter"}, {fresh, "Enter"}, {"^X", fresh, "Enter"}, {"e", fresh, "Enter"}, {"i", fresh, "^X", fresh, "Enter"},
		{"i", fresh, "Esc", "Enter", "Enter"}, {"r", "Enter", "Enter"}, {"^O", "1", "Enter"}, {"^O", "Down", "2", "Enter", "1", "Enter"}, {"^O", "^X", fresh, "Enter"}, {"s", "Enter", "Enter"},
	}).Draw(t, "keys")
	return step{"with a rest before each", names, func(s *storm, keys []string) {
		for _, name := range keys {
			s.after(450 * time.Millisecond)
			s.press(name)
			s.settle()
		}
	}}
}

// drawQueue is an operator who sends two prompts and takes the second one back, in a hurry.
func drawQueue(t *rapid.T) step {
	names := rapid.SampledFrom([][]string{{"^P", fresh}, {"^P", "Enter"}, {"^P", "^P", fresh}, {"^P", "^N", fresh}}).Draw(t, "keys")
	return step{"Esc, two prompts, then at once", names, func(s *storm, keys []string) {
		s.after(450 * time.Millisecond)
		s.press("Esc")
		for range 2 {
			s.after(450 * time.Millisecond)
			s.press(fresh, "Enter")
			s.settle()
		}
		s.after(450 * time.Millisecond)
		s.press(keys...)
	}}
}

// drawSession opens a session with the keyboard, or closes one.
func drawSession(t *rapid.T) step {
	names := rapid.SampledFrom([][]string{
		{"^L", "n", "Enter"}, {"^L", "n", "Enter"}, {"^L", "n", "Tab", fresh, "Enter"},
		{"^L", "x", "x"}, {"^L", "Down", "x", "x"}, {"^L", "Up", "x", "x", "Esc", fresh, "Enter"}, {"^L", "1", "Enter"}, {"^N"},
	}).Draw(t, "keys")
	rest := restBefore().Draw(t, "after")
	return step{fmt.Sprintf("%v, Esc, then %s", rest, strings.Join(names, " ")), nil, func(s *storm, _ []string) {
		s.after(450 * time.Millisecond)
		s.press("Esc")
		for _, name := range names {
			s.after(rest)
			s.press(name)
			s.settle()
		}
	}}
}
