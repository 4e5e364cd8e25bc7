package question

import (
	"errors"
	"io"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"
)

// choice is the huh field of one question's list. huh's own select fields do not serve here: they answer with a
// default before any key, tell options apart by their text, and break long ones. This one keeps no value of its
// own; it is a view onto the sheet, and completes the form when the sheet says that the question is finished.
type choice struct {
	m       *Model
	focused bool
}

var _ huh.Field = (*choice)(nil)

func (c *choice) Init() tea.Cmd { return nil }

// Update does what a key means in the list. Other messages reach a field twice and mean nothing here.
func (c *choice) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if k, ok := msg.(tea.KeyMsg); ok && c.focused {
		if c.m.last = c.m.listKey(k); c.m.last.Finished {
			return c, huh.NextField
		}
	}
	return c, nil
}

func (c *choice) View() string                             { return c.m.optionsView() }
func (c *choice) Blur() tea.Cmd                            { c.focused = false; return nil }
func (c *choice) Focus() tea.Cmd                           { c.focused = true; return nil }
func (c *choice) Error() error                             { return nil }
func (c *choice) Skip() bool                               { return false }
func (c *choice) Zoom() bool                               { return false }
func (c *choice) KeyBinds() []key.Binding                  { return nil }
func (c *choice) WithTheme(*huh.Theme) huh.Field           { return c }
func (c *choice) WithAccessible(bool) huh.Field            { return c }
func (c *choice) WithKeyMap(*huh.KeyMap) huh.Field         { return c }
func (c *choice) WithWidth(int) huh.Field                  { return c }
func (c *choice) WithHeight(int) huh.Field                 { return c }
func (c *choice) WithPosition(huh.FieldPosition) huh.Field { return c }
func (c *choice) GetKey() string                           { return "choice" }
func (c *choice) GetValue() any                            { return c.m.sheet.Draft().Answer }

// errOwnLoop is the answer of the ways to run a field by itself, which nobody takes here.
var errOwnLoop = errors.New("the choice field runs inside its form only")

func (c *choice) Run() error                               { return errOwnLoop }
func (c *choice) RunAccessible(io.Writer, io.Reader) error { return errOwnLoop }

// newForm makes the form of the focused question. It is made anew whenever the page or the size changes; all
// state is in the sheet.
func (m *Model) newForm() {
	if m.sheet.OnReview() {
		m.form = nil
		return
	}
	theme := huh.ThemeBase()
	theme.Form.Base, theme.Group.Base = theme.Form.Base.UnsetPadding(), theme.Group.Base.UnsetPadding()
	m.form = huh.NewForm(huh.NewGroup(&choice{m: m})).
		WithShowHelp(false).WithShowErrors(false).WithTheme(theme).
		WithWidth(max(1, m.width)).WithHeight(max(1, m.optionsHeight()))
	// Init's command asks for the window's size, which would make the form lay itself out by that.
	_ = m.form.Init()
}

// step gives the form one message and everything that follows from it, at once: a next-field message that is
// still under way when the form is replaced would otherwise complete the next one.
func (m *Model) step(msg tea.Msg) (completed bool) {
	form := m.form
	todo := []tea.Msg{msg}
	for len(todo) > 0 && form.State == huh.StateNormal {
		var cmd tea.Cmd
		_, cmd = form.Update(todo[0])
		todo = append(todo[1:], messages(cmd)...)
	}
	return form.State == huh.StateCompleted
}

// messages runs a form's commands. They only make messages; none of them waits.
func messages(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	switch msg := cmd().(type) {
	case nil:
		return nil
	case tea.BatchMsg:
		var out []tea.Msg
		for _, c := range msg {
			out = append(out, messages(c)...)
		}
		return out
	default:
		return []tea.Msg{msg}
	}
}
