package teatest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/teatest/claudecli"
)

// claude agents and Gemini: the terminal's title says how many asks wait, and no longer when none does.
func TestTheTitleCountsWhatWaits(t *testing.T) {
	term := openTerminal(t, append(claudecli.Env(t, "http://127.0.0.1:9"), "KITSOKI_NOTIFY_TITLE=true"), program(t), "demo", "--cwd", t.TempDir())
	term.waitFor("This is a demo")
	term.untilAsked()
	term.waitFor("\x1b]2;kitsoki: 1 waiting\x07")
	quiet()
	if _, err := io.WriteString(term.ptm, "\r"); err != nil {
		t.Fatal(err)
	}
	term.waitFor("waiting\x07")
	if !eventually(func() bool { return containsAfter(term.output(), "kitsoki: 1 waiting\x07", "\x1b]2;kitsoki\x07") }) {
		t.Errorf("the title still counts: %q", term.output())
	}
}

// Claude: Ctrl+G edits the own answer in the operator's editor; what comes back is a draft and sends nothing. An editor
// that fails leaves the text as it was.
func TestTheOwnAnswerInAnEditor(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		editor := filepath.Join(t.TempDir(), "editor")
		script := "#!/bin/sh\ngrep -q fail \"$1\" && exit 3\nprintf ', then\\n15:00\\n' >>\"$1\"\n"
		if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("VISUAL", editor)
		s, r := asked(t, w, h, when)
		s.press("i", "noon")
		s.tm.Send(tea.KeyMsg{Type: tea.KeyCtrlG})
		s.see("15:00")
		s.rest()
		r.waits()
		s.press(" fail")
		s.tm.Send(tea.KeyMsg{Type: tea.KeyCtrlG})
		s.see("the editor", "15:00 fail")
		for range len(" fail") {
			s.apart("Backspace")
		}
		s.apart("Enter")
		r.got("noon, then\n15:00")
	})
}
