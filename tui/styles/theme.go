package styles

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Themes are the names that Theme knows. auto takes the renderer as it is; light and dark say what the background
// is; 16 uses no more than the terminal's own sixteen colours, which its owner chose; none shows neither colour
// nor attribute, and signs say everything.
func Themes() []string { return []string{"auto", "light", "dark", "none", "16"} }

// Theme settles the renderer as the theme wants it, and makes the styles for it. A theme never turns on colours
// that the renderer found its output unable to show. A NO_COLOR that is not empty wins as none, whatever the name
// (https://no-color.org).
func Theme(name string, r *lipgloss.Renderer, getenv func(string) string) (Styles, error) {
	switch name {
	case "auto":
	case "light", "dark":
		r.SetHasDarkBackground(name == "dark")
	case "16":
		if r.ColorProfile() < termenv.ANSI { // the lower profile has the more colours
			r.SetColorProfile(termenv.ANSI)
		}
	case "none":
		r.SetColorProfile(termenv.Ascii)
	default:
		return Styles{}, fmt.Errorf("there is no theme %q; use one of %s", name, strings.Join(Themes(), ", "))
	}
	if getenv("NO_COLOR") != "" {
		r.SetColorProfile(termenv.Ascii)
	}
	return New(r), nil
}
