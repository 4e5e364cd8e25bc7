package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/tui/signals"
)

// copyText brings a text into the operator's clipboard, where that is allowed, and says what it did.
func (m *Model) copyText(text string) (said string, cmd tea.Cmd) {
	if !m.opt.Copy || m.opt.Emit == nil {
		return "copying is off: copy.osc52: true in config.yaml (docs/settings.md) lets the terminal's clipboard be written", nil
	}
	if text == "" {
		return "there is nothing to copy", nil
	}
	emit, code := m.opt.Emit, signals.Copy(text, m.opt.Signals.Tmux)
	return "copied", func() tea.Msg { return failed(emit(code)) }
}
