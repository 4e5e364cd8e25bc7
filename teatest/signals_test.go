package teatest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
)

// beside is what the program has written beside the screen, once it is as the test wants it.
func (s *screen) beside(want func(string) bool) string {
	s.t.Helper()
	read := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.written
	}
	if !eventually(func() bool { return want(read()) }) {
		s.t.Fatalf("beside the screen is %q", read())
	}
	return read()
}

func TestOperatorWhoLooksElsewhereIsCalled(t *testing.T) {
	hostile := database
	hostile.Question = "Which one?\x1b]52;c;AAAA\x07 done"
	s := open(t, 80, 24, asks(hostile))
	s.tm.Send(tea.BlurMsg{})
	s.prompt()
	s.see("Which one?")
	got := s.beside(func(w string) bool { return strings.HasPrefix(w, "\a\x1b]9;") })
	if strings.Count(got, "\x1b") != 1 || strings.Count(got, "\a") != 2 {
		t.Errorf("an ask that was meant to write the clipboard wrote %q", got)
	}
}

// Who works at the terminal is not rung at.
func TestOperatorAtTheTerminalIsNotCalled(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("Postgres")
	s.settle()
	if got := s.beside(func(string) bool { return true }); got != "" {
		t.Errorf("it wrote %q", got)
	}
}

// The operator's own program hears of an ask that is still open after a while, once, and of none that was answered.
func TestProgramIsToldOfAnAskThatWaits(t *testing.T) {
	s := open(t, 80, 24, together(simple("api", database), simple("web", releaseName)))
	s.prompt()
	s.see("ask 1 of 2")
	s.rest()
	s.press("Enter")
	s.see("ask 1 of 1")
	s.clock.Advance(time.Minute)
	s.tick()
	s.tick()
	told := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.notices)
	}
	if !eventually(func() bool { return told() > 0 }) {
		t.Fatal("nobody was told")
	}
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.notices) != 1 || s.notices[0].Agent != "web" || s.notices[0].Questions[0].Question != releaseName.Question {
		t.Errorf("told: %+v", s.notices)
	}
}

func TestQuestionIsCopied(t *testing.T) {
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("Postgres")
	s.rest()
	s.press("2", "Space", "y")
	s.see("copied")
	got := s.beside(func(w string) bool { return strings.Contains(w, "]52;c;") })
	code := strings.TrimSuffix(got[strings.LastIndex(got, ";")+1:], "\a")
	text, err := base64.StdEncoding.DecodeString(code)
	if err != nil || !strings.Contains(string(text), "* SQLite: One file") || !strings.Contains(string(text), database.Question) {
		t.Errorf("copied %q (%v)", text, err)
	}
}

// G5 (OpenGlasses#205): a question that looks like a permission is answered with words, and the screen says that it
// is no more.
func TestQuestionThatLooksLikeAPermissionGrantsNothing(t *testing.T) {
	q := host.OperatorQuestion{Question: "May I write to /etc?", Header: "PERMISSION", Options: []host.OperatorOption{
		{Label: "turn"}, {Label: "action"}, {Label: "session"}, {Label: "deny"},
	}}
	for _, width := range []int{80, 40} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			s := open(t, width, 12, asks(q))
			s.prompt()
			s.see("grants nothing")
			s.rest()
			s.press("3", "Enter")
			s.see("session]")
		})
	}
	s := open(t, 80, 24, asks(database))
	s.prompt()
	s.see("Postgres")
	if strings.Contains(s.view(), "grants nothing") {
		t.Error("any question is said to be no permission")
	}
}
