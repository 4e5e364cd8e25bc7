package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/tui/keys"
)

// page is what has the whole screen and the keyboard. Keys that mean something everywhere are the program's and do
// not reach it.
type page interface {
	key(msg tea.KeyMsg) tea.Cmd
	view() string
	typing() bool                             // whether a printable key is text here
	keys() (title string, list []key.Binding) // every key that works here now
}

// isEsc reports whether a key leaves something, wherever the keyboard is. It never answers.
func isEsc(k keys.Map, msg tea.KeyMsg) bool {
	return !msg.Paste && key.Matches(msg, k.Stop, k.Fold, k.Leave)
}

// turnTo gives the screen to a page.
func (m *Model) turnTo(p page) {
	m.covered()
	m.page, m.notice = p, ""
}

// home is where a page that closes leads: to the composer.
func (m *Model) home() { m.turnTo(&composePage{m: m}) }

// composing reports whether the composer has the keyboard.
func (m *Model) composing() bool { _, ok := m.page.(*composePage); return ok }

// front is the ask that has the screen; nil when none has.
func (m *Model) front() *openAsk {
	switch p := m.page.(type) {
	case *askPage:
		return p.ask
	case *proposalPage:
		return p.ask
	}
	return nil
}
