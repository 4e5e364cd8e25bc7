package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/surface"
)

// The messages of the prompter.
type (
	askOpenedMsg struct {
		ask  host.Ask
		from *Origin
	}
	askChangedMsg struct{ info host.AskInfo }
	askEndedMsg   struct {
		id  string
		end host.Resolution
	}
)

// NewPrompter returns the terminal as a host.OperatorPrompter, for a session to be attached to: asks become
// messages of the program that send gives them to.
func NewPrompter(send func(tea.Msg)) host.OperatorPrompter {
	return prompterOf(send, nil)
}

func prompterOf(send func(tea.Msg), from *Origin) surface.Surface {
	return surface.Surface{
		Guests:  from == nil,
		Opened:  func(a host.Ask) { send(askOpenedMsg{a, from}) },
		Changed: func(i host.AskInfo) { send(askChangedMsg{i}) },
		Ended:   func(id string, end host.Resolution) { send(askEndedMsg{id: id, end: end}) },
	}
}
