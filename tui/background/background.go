// Package background settles what lipgloss believes of the terminal's background before anybody asks.
//
// bubbletea's init asks the terminal, in every subcommand of a program that links it, and waits up to five
// seconds for a terminal that does not answer. Go initialises packages that are ready in the order of their
// import paths, and this one is ready when lipgloss is and sorts before github.com/charmbracelet/bubbletea: so
// the question is answered before it is asked. Package tui imports it for every program that links bubbletea.
package background

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
