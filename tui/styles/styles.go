// Package styles is how things look: a handful of styles by meaning, made for one renderer.
package styles

import (
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Styles are the styles of the program, by what they say.
type Styles struct {
	Title   lipgloss.Style // what a screen is about
	Lit     lipgloss.Style // the row that a key would act on
	Good    lipgloss.Style // done, answered
	Warn    lipgloss.Style // wants the operator
	Bad     lipgloss.Style // failed
	Dim     lipgloss.Style // there, but not the point
	Strong  lipgloss.Style
	Key     lipgloss.Style // a key in a line of keys
	Chip    lipgloss.Style
	ChipLit lipgloss.Style

	Plain bool // nothing of this can be seen: signs have to say it
}

// New makes the styles for a renderer, whose colour profile and background decide what can be seen of them.
func New(r *lipgloss.Renderer) Styles {
	color := func(light, dark string) lipgloss.TerminalColor {
		return lipgloss.AdaptiveColor{Light: light, Dark: dark}
	}
	base := r.NewStyle()
	return Styles{
		Title:   base.Bold(true).Foreground(color("5", "13")),
		Lit:     base.Bold(true).Foreground(color("4", "14")),
		Good:    base.Foreground(color("2", "10")),
		Warn:    base.Bold(true).Foreground(color("3", "11")),
		Bad:     base.Foreground(color("1", "9")),
		Dim:     base.Foreground(color("8", "8")),
		Strong:  base.Bold(true),
		Key:     base.Bold(true),
		Chip:    base.Foreground(color("8", "7")),
		ChipLit: base.Bold(true).Reverse(true),
		Plain:   r.ColorProfile() == termenv.Ascii,
	}
}
