package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/tui/signals"
)

// Signals are how an operator who looks elsewhere is called.
type Signals struct {
	signals.AlarmSettings
	Title bool // the terminal's title says how many asks wait
	Tmux  bool // what goes to the terminal has to pass through tmux

	// Run tells a program of an ask, when AlarmSettings.OnAsk is set. It returns when the program has ended.
	Run func(context.Context, signals.AskNotice) error
}

// signal does what the alarm decided.
func (m *Model) signal(e signals.Emit) tea.Cmd {
	var cmds []tea.Cmd
	out := ""
	if e.Bell {
		out = signals.Bell()
	}
	for _, id := range e.Notify {
		if a := m.find(id); a != nil {
			info := a.form.Info()
			out += signals.Notify(m.opt.Signals.OSC, m.who(a)+" asks", headline(info.Questions[0].Question), m.opt.Signals.Tmux)
		}
	}
	if out != "" && m.opt.Emit != nil {
		emit := m.opt.Emit
		cmds = append(cmds, func() tea.Msg { return failed(emit(out)) })
	}
	for _, id := range e.OnAsk {
		if a := m.find(id); a != nil && m.opt.Signals.Run != nil && !m.toldElsewhere(a) {
			notice := signals.NoticeOf(a.form.Info())
			cmds = append(cmds, m.io(func(ctx context.Context) tea.Msg { return failed(m.opt.Signals.Run(ctx, notice)) }))
		}
	}
	return tea.Batch(cmds...)
}

// title is the terminal's title, when it changed.
func (m *Model) title() tea.Cmd {
	if !m.opt.Signals.Title {
		return nil
	}
	title := "kitsoki"
	if n := len(m.asks); n > 0 {
		title = fmt.Sprintf("kitsoki: %d waiting", n)
	}
	if title == m.titled {
		return nil
	}
	m.titled = title
	return tea.SetWindowTitle(title)
}

// alarmed tells the alarm of an ask that opened.
func (m *Model) alarmed(id string, opened time.Time) tea.Cmd {
	return m.signal(m.alarm.Opened(id, opened, m.now()))
}
