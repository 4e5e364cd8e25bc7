package teatest

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
)

// watch is what the storm knows of the screen and of the text that was typed.
type watch struct {
	since   map[string]time.Time // from when on an ask's name, or its words, have been on every frame
	settled map[string]bool      // asks that a key since the last look could have answered
	typed   map[rune]string      // the characters that must not be lost, and where they were typed

	next, nextWide rune

	gate    gateWatch
	allowed int // proposals
}

// No two characters of a storm are the same, so that none can be lost behind another, or be torn apart. They are
// letters without case: syllables of one cell, and ideographs and syllables of two.
const (
	firstFresh = 0x1401
	lastFresh  = 0x166c
	firstWide  = 0x4e00
	lastWide   = 0x9fa0
)

// unseen is a character that was not typed before.
func (s *storm) unseen(kind string) rune {
	if kind == fresh && s.next <= lastFresh {
		s.next++
		return s.next - 1
	}
	s.nextWide++
	if s.nextWide > lastWide {
		s.nextWide = firstWide
	}
	return s.nextWide - 1
}

// unhurried is how long an ask has to have been on the screen before a key may answer it.
const unhurried = 400 * time.Millisecond

// press gives the program keys, one right after the other, and looks at each frame.
func (s *storm) press(names ...string) {
	for _, name := range names {
		if s.fault != "" {
			return
		}
		at := s.where()
		if s.spared(at, name) {
			continue
		}
		s.notePossible()
		s.steps++
		k := keyOf(name)
		if name == fresh || name == wide {
			r := s.unseen(name)
			k = tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
			if s.early() || at.takesText() {
				s.typed[r] = at.String()
			}
		}
		s.gate.key(s, name, time.Now())
		s.guard.key(time.Now(), isStop(k) || !at.guarded())
		s.update(k)
		s.look()
	}
}

// isStop reports whether a key means the same everywhere, and is not the ask's.
func isStop(k tea.KeyMsg) bool { return k.Type == tea.KeyEsc || k.Type == tea.KeyCtrlC }

// paste gives the program a paste: fresh characters at its ends and in between, and a filling.
func (s *storm) paste(n int, fill string) {
	at := s.where()
	s.notePossible()
	var text, marks []rune
	filling := []rune(fill)
	for i := range n {
		if i == 0 || i == n-1 || i%997 == 0 {
			r := s.unseen(wide)
			text, marks = append(text, r), append(marks, r)
			continue
		}
		text = append(text, filling[i%len(filling)])
	}
	if s.early() || at.takesPaste() {
		for _, r := range marks {
			s.typed[r] = at.String() + ", pasted"
		}
	}
	s.gate.key(s, "a paste", time.Now())
	s.guard.key(time.Now(), !at.guarded())
	s.update(tea.KeyMsg{Type: tea.KeyRunes, Runes: text, Paste: true})
	s.look()
}

// guardModel is what the storm knows of the guard: keys that follow each other closely from the moment that a page
// came up, are early.
type guardModel struct {
	armed bool
	last  time.Time
}

func (g *guardModel) key(now time.Time, free bool) {
	if g.armed && !free {
		g.armed = now.Sub(g.last) < unhurried
		g.last = now
	}
}

func (s *storm) armed() { s.guard = guardModel{armed: true, last: time.Now()} }

// early reports whether a character is for the prompt, because it was on its way when the page came up.
func (s *storm) early() bool {
	return s.guard.armed && time.Since(s.guard.last) < unhurried && s.where().guarded()
}

// spot is where the keyboard is, as the screen shows it.
type spot struct {
	page  string // composer, ask, inbox, sessions, queue, peek, help, small
	field bool   // the keyboard is in a text field
	aside bool   // whose text is no draft: a search, a filter, a form
	over  bool   // of an ask that has ended
	list  bool   // of an ask's question
	name  string // of the ask
}

func (p spot) String() string {
	type plain spot
	return fmt.Sprintf("%+v", plain(p))
}

func (p spot) takesText() bool {
	switch p.page {
	case "composer", "ask":
		return (p.field && !p.aside) || p.over
	}
	return p.page == "small"
}

func (p spot) takesPaste() bool { return p.takesText() || (p.list && !p.aside) }

func (p spot) guarded() bool { return p.page == "ask" || p.page == "inbox" }

var askHead = regexp.MustCompile(`^ (ask \d+ of \d+ · |\d+/\d+ ).*?(` + nameSign + `\d+` + nameSign + `)`)

var proposalHead = regexp.MustCompile(`^╔═ PROPOSAL · .*?(` + nameSign + `\d+` + nameSign + `)`)

// where reads off the screen where the keyboard is.
func (s *storm) where() spot {
	if s.width < 40 || s.height < 10 {
		return spot{page: "small"}
	}
	lines := strings.Split(s.view, "\n")
	head, last := lines[0], lines[len(lines)-1]
	starts := func(text string) bool {
		return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, text) })
	}
	switch m := askHead.FindStringSubmatch(head); {
	case strings.HasPrefix(head, " Keys in "):
		return spot{page: "help"}
	case strings.HasPrefix(head, "╔═ PROPOSAL"):
		p := spot{page: "ask", over: strings.Contains(head, "ended: "), field: strings.Contains(last, "Enter deny  Esc back")}
		if m := proposalHead.FindStringSubmatch(head); m != nil {
			p.name = m[1]
		}
		return p
	case m != nil:
		p := spot{page: "ask", name: m[2], aside: starts(" filter: "), over: strings.Contains(head, "ended: ")}
		p.field = strings.Contains(last, " accept") || strings.Contains(last, "Enter save") || strings.Contains(last, "Enter decline") ||
			strings.Contains(last, "Enter ask back") || strings.Contains(last, "Enter type")
		p.list = !strings.Contains(last, "use or leave") && !strings.HasPrefix(last, " Enter send  Esc to")
		return p
	case strings.HasPrefix(head, " inbox: "), strings.HasPrefix(head, " settled: "):
		return spot{page: "inbox", aside: starts(" filter: ")}
	case strings.HasPrefix(head, " sessions: "), strings.HasPrefix(head, " a new session"):
		return spot{page: "sessions"}
	case strings.Contains(head, " queued, the next first"):
		return spot{page: "queue"}
	case strings.Contains(last, "Esc close"), strings.Contains(last, "Space page"):
		return spot{page: "peek"}
	}
	return spot{page: "composer", field: true, aside: starts(" search: ")}
}

// spared reports whether a key is left out here because it throws text away on purpose.
func (s *storm) spared(at spot, name string) bool {
	if !s.lossless {
		return false
	}
	return (at.page == "queue" && name == "x") || (at.page == "composer" && !at.aside && (name == "Up" || name == "Down"))
}

// look draws the program, and checks the frame.
func (s *storm) look() {
	if s.fault != "" {
		return
	}
	before := s.where()
	s.view = s.model.View()
	s.checkFrame()
	s.gate.frame(s.where(), s.view, time.Now())
	if at := s.where(); at.guarded() && before.page != "help" && (at.page != before.page || at.name != before.name || at.over && !before.over) {
		s.armed()
	}
	for _, a := range s.asks {
		for _, sign := range []string{a.name, a.words} {
			_, shown := s.since[sign]
			switch now := strings.Contains(s.view, sign); {
			case now && !shown:
				s.since[sign] = time.Now()
			case !now && shown:
				delete(s.since, sign)
			}
		}
	}
}

func (s *storm) checkFrame() {
	lines := strings.Split(s.view, "\n")
	if len(lines) != s.height {
		s.failf("a frame of %d lines on a terminal of %dx%d:\n%s", len(lines), s.width, s.height, s.view)
	}
	for _, line := range lines {
		if w := cells.Width(line); w > s.width {
			s.failf("a line of %d cells on a terminal of %dx%d: %q in\n%s", w, s.width, s.height, line, s.view)
		}
		for _, r := range line {
			if !unicode.IsPrint(r) {
				s.failf("%U is on the screen: %q", r, line)
			}
		}
	}
}

// notePossible notes which asks the next key may answer: those that the operator has had the time to see.
func (s *storm) notePossible() {
	if s.settled == nil {
		s.settled = map[string]bool{}
	}
	for _, a := range s.asks {
		for _, sign := range []string{a.name, a.words} {
			if since, ok := s.since[sign]; ok && time.Since(since) >= unhurried && (sign == a.name || s.width < 80) {
				s.settled[a.id] = true
			}
		}
	}
}

// checkEnds checks what the program sent since the last look.
func (s *storm) checkEnds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ends := s.ends
	s.ends = nil
	for _, e := range ends {
		a := s.byID(e.id)
		if !s.settled[e.id] {
			s.failf("%s (%s, %s) was ended by a key though it had not been on the screen for %v: %+v\n%s", e.id, a.name, a.words, unhurried, e, s.view)
		}
		if e.err != nil {
			continue
		}
		if a.settled++; a.settled > 1 {
			s.failf("%s was settled %d times", e.id, a.settled)
		}
		s.checkResult(a, e)
		s.checkAllowed(a, e)
	}
	s.settled = nil
	clear(s.gate.may)
	for _, a := range s.asks {
		s.checkOver(a)
	}
}

// checkResult checks that what the agent got is what the program sent, to that ask.
func (s *storm) checkResult(a *stormAsk, e sentEnd) {
	var u *host.Unanswered
	switch errors.As(a.err, &u); {
	case !a.over:
		s.failf("%s was settled, and its agent waits still", a.id)
	case e.decline && (u == nil || u.Outcome != host.Declined || u.Reason != e.reason):
		s.failf("%s was declined with %q, and its agent got %v, %v", a.id, e.reason, a.answers, a.err)
	case e.decline, u != nil && u.Outcome == host.Declined:
	default:
		want, _, err := host.EncodeAnswers(a.questions, e.answers)
		if err != nil || a.err != nil || !reflect.DeepEqual(want, a.answers) {
			s.failf("%s was answered with %v (%v), and its agent got %v, %v", a.id, want, err, a.answers, a.err)
		}
	}
}

// checkOver checks that an answer is made of the ask's own labels and of what an operator typed, and that an ask
// with an answer was settled by somebody, and one without by nobody.
func (s *storm) checkOver(a *stormAsk) {
	if !a.over {
		return
	}
	var u *host.Unanswered
	errors.As(a.err, &u)
	if byHand := a.err == nil || (u != nil && u.Outcome == host.Declined); byHand != (a.settled == 1) || a.settled > 1 {
		s.failf("%s was settled %d times, and its agent got %v, %v", a.id, a.settled, a.answers, a.err)
	}
	if a.ended > 1 {
		s.failf("the end of %s was told %d times", a.id, a.ended)
	}
	for question, value := range a.answers {
		i := slices.IndexFunc(a.questions, func(q host.OperatorQuestion) bool { return q.Question == question })
		if i < 0 {
			s.failf("%s got an answer to another question: %q", a.id, question)
			return
		}
		for _, text := range texts(value) {
			own := slices.ContainsFunc(a.questions[i].Options, func(o host.OperatorOption) bool { return o.Label == text })
			if !own && strings.ContainsAny(text, nameSign+wordsSign) {
				s.failf("%s got an answer of another ask: %q", a.id, text)
			}
		}
	}
}

func texts(value any) []string {
	if list, ok := value.([]string); ok {
		return list
	}
	text, _ := value.(string)
	return []string{text}
}

// drain ends all asks and sends all prompts, so that every text comes out that is anywhere in the program.
func (s *storm) drain() {
	s.resize(100, 40)
	for _, a := range s.pending() {
		a.cancel(&host.Unanswered{Outcome: host.AskerGone, Reason: "the agent died"})
	}
	s.setStop()
	s.after(2 * time.Second)
	for n := 0; s.where() != (spot{page: "composer", field: true}); n++ {
		if n > 200 {
			s.failf("Esc does not lead back to the prompt:\n%s", s.view)
			return
		}
		s.after(time.Second)
		s.press("Esc")
		s.settle()
	}
	for range len(s.openSessions()) {
		for n := 0; !strings.Contains(s.view, "no prompt is queued"); n++ {
			if n > 200 {
				s.failf("there is no end of prompts:\n%s", s.view)
				return
			}
			for _, name := range []string{"x", "Enter", "^P"} { // a blank prompt is not sent, so there is something in each
				s.after(time.Second)
				s.press(name)
				s.settle()
			}
			if s.where().page != "composer" {
				s.press("Esc")
				s.settle()
			}
		}
		s.press("^N")
		s.settle()
	}
}

// checkTexts checks that nothing that was typed or pasted is lost.
func (s *storm) checkTexts() {
	if !s.lossless {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lost, twice []string
	for r, at := range s.typed {
		switch n := s.out[r]; {
		case n < 1:
			lost = append(lost, fmt.Sprintf("%c %U, typed at %s", r, r, at))
		case n > 1:
			twice = append(twice, fmt.Sprintf("%c %U, typed at %s", r, r, at))
		}
	}
	slices.Sort(lost)
	slices.Sort(twice)
	if len(twice) > 0 {
		s.failf("%d of %d characters went out twice:\n%s\n%s", len(twice), len(s.typed), strings.Join(twice[:min(len(twice), 30)], "\n"), s.view)
	}
	if len(lost) > 0 {
		s.failf("%d of %d characters are lost:\n%s\n%s", len(lost), len(s.typed), strings.Join(lost[:min(len(lost), 30)], "\n"), s.view)
	}
}
