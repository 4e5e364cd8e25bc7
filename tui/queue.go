package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
)

// queuePage lists the prompts that wait for their turn.
type queuePage struct {
	m    *Model
	pane *pane
	lit  int
}

func (q *queuePage) typing() bool { return false }

func (q *queuePage) bindings() []key.Binding {
	k := q.m.opt.Keys
	return []key.Binding{keys.As(k.Take, "edit"), keys.As(k.Fold, "back"), keys.As(k.CloseRow, "drop"), keys.As(k.Help, "all")}
}

func (q *queuePage) keys() (string, []key.Binding) {
	return "Keys in the queue", append(q.bindings(), q.m.opt.Keys.Up, q.m.opt.Keys.Down)
}

func (q *queuePage) key(msg tea.KeyMsg) tea.Cmd {
	m, k := q.m, q.m.opt.Keys
	queue := q.pane.snap.Queue
	q.lit = max(0, min(q.lit, len(queue)-1))
	switch {
	case msg.Paste:
		m.pasted(msg)
	case key.Matches(msg, k.Help):
		m.openHelp()
	case key.Matches(msg, k.Fold), len(queue) == 0:
		m.home()
	case key.Matches(msg, k.Up):
		q.lit = max(0, q.lit-1)
	case key.Matches(msg, k.Down):
		q.lit = min(len(queue)-1, q.lit+1)
	case key.Matches(msg, k.Take):
		m.home()
		if text := q.pane.composer.Value(); text != "" {
			q.pane.kept = append(q.pane.kept, text)
			q.pane.composer.Set("")
		}
		return m.takeBack(q.pane, q.lit)
	case key.Matches(msg, k.CloseRow):
		return q.drop(q.lit)
	}
	return nil
}

// drop takes a prompt out of the queue. It is kept where earlier prompts are, so that a slip of the finger costs
// nothing.
func (q *queuePage) drop(n int) tea.Cmd {
	p := q.pane
	return q.m.io(func(ctx context.Context) tea.Msg {
		prompt, ok, err := p.client.Unqueue(ctx, n)
		if err == nil && !ok {
			err = errors.New("that prompt does not wait any more")
		}
		if err != nil {
			return errorMsg{err}
		}
		return droppedMsg{p, prompt}
	})
}

type droppedMsg struct {
	pane *pane
	text string
}

func (q *queuePage) view() string {
	m, st := q.m, q.m.opt.Styles
	queue := q.pane.snap.Queue
	q.lit = max(0, min(q.lit, len(queue)-1))
	head := fmt.Sprintf(" %d queued, the next first", len(queue))
	if q.pane.snap.Held {
		head += " · held after the last turn"
	}
	var lines []string
	top := 0
	for i, prompt := range queue {
		mark, look := "   ", st.Strong
		if i == q.lit {
			mark, look = " > ", st.Lit
		}
		text := cells.Wrap(askbridge.SafeText(prompt), max(1, m.width-8))
		if i != q.lit && len(text) > 1 {
			text = []string{cells.Cut(text[0]+" …", m.width-8)}
		}
		from := len(lines)
		lines = append(lines, cells.Indent(text, mark+look.Render(fmt.Sprintf("%2d ", i+1)))...)
		if i == q.lit {
			top = max(0, min(from, len(lines)-(m.height-4)))
		}
	}
	out := []string{st.Title.Render(head), ""}
	out = append(out, cells.Fit(lines[min(top, len(lines)):], m.height-4)...)
	out = append(out, st.Warn.Render(" "+askbridge.Safe(m.notice)), " "+keys.Line(st, m.width-1, q.bindings()...))
	return fitScreen(out, m.width, m.height)
}

// fitScreen makes a screen of the lines: exactly height lines of at most width cells.
func fitScreen(lines []string, width, height int) string {
	lines = cells.Fit(lines, height)
	for i, l := range lines {
		lines[i] = cells.Cut(l, width)
	}
	return strings.Join(lines, "\n")
}
