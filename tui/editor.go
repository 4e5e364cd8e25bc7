package tui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/tui/signals"
)

// editedMsg is what came back from the operator's editor. ask is the id of the ask it belongs to; empty for the
// prompt.
type editedMsg struct {
	pane *pane
	ask  string
	text string
	err  error
}

// editing runs the operator's editor on a text, with the terminal handed over. It implements tea.ExecCommand.
type editing struct {
	argv     []string
	text     string
	in       io.Reader
	out, err io.Writer
}

var _ tea.ExecCommand = (*editing)(nil)

// SetStdin takes the terminal itself, for the same reason as SetStdout.
func (e *editing) SetStdin(r io.Reader) {
	if t, ok := r.(*typist); ok {
		r = t.File
	}
	e.in = r
}

// SetStdout takes the terminal itself: an editor whose output is a pipe is not on a terminal.
func (e *editing) SetStdout(w io.Writer) {
	if t, ok := w.(*signals.Writer); ok {
		w = t.File
	}
	e.out = w
}
func (e *editing) SetStderr(w io.Writer) { e.err = w }

// Run writes the text to a file that only the operator can read, runs the editor, and takes the file's content.
// On an error the text stays as it was.
func (e *editing) Run() (err error) {
	f, err := os.CreateTemp("", "kitsoki-*.md")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(e.text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	cmd := exec.Command(e.argv[0], append(e.argv[1:], f.Name())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in, e.out, e.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w", e.argv[0], err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	e.text = strings.TrimSuffix(string(text), "\n") // editors end the last line
	return nil
}

// editorArgv is the editor of the operator's choice, as a command and its arguments.
func editorArgv(getenv func(string) string) []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if argv := strings.Fields(getenv(name)); len(argv) > 0 {
			return argv
		}
	}
	return []string{"vi"}
}

// edit opens the text that the keyboard works on in the editor.
func (m *Model) edit() tea.Cmd {
	p := m.at
	e := &editing{argv: editorArgv(m.opt.Getenv), text: p.composer.Value()}
	id := ""
	if a := m.front(); a != nil {
		p = m.paneOf(a)
		a.form.OpenField()
		id, e.text = a.form.Info().ID, a.form.Text()
	}
	return tea.Exec(e, func(err error) tea.Msg { return editedMsg{pane: p, ask: id, text: e.text, err: err} })
}

// edited takes a text back from the editor. When its ask is over by now, the text is kept like every other.
func (m *Model) edited(msg editedMsg) tea.Cmd {
	m.guard.Arm(m.now()) // the keys that ended the editor are not meant for us
	a := m.find(msg.ask)
	switch {
	case msg.err != nil && a != nil:
		a.form.Say(msg.err.Error())
	case msg.err != nil:
		m.say(msg.err.Error())
	case msg.ask == "":
		msg.pane.composer.Set(msg.text)
	case a == nil:
		m.keep(msg.pane, []string{msg.text}, "the ask")
	default:
		a.form.SetText(msg.text)
		return m.save(a)
	}
	return nil
}
