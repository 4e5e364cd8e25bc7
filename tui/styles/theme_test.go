package styles

import (
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

func theme(t *testing.T, name string, profile termenv.Profile, vars ...string) Styles {
	t.Helper()
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	r.SetHasDarkBackground(true)
	st, err := Theme(name, r, func(k string) string {
		if len(vars) == 2 && k == vars[0] {
			return vars[1]
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// each renders every style there is.
func each(t *testing.T, st Styles, f func(name, out string)) {
	t.Helper()
	v := reflect.ValueOf(st)
	seen := 0
	for i := range v.NumField() {
		if style, ok := v.Field(i).Interface().(lipgloss.Style); ok {
			f(v.Type().Field(i).Name, style.Render("words"))
			seen++
		}
	}
	if seen < 10 {
		t.Fatalf("only %d styles were looked at", seen)
	}
}

func TestNoneHasNoEscape(t *testing.T) {
	for name, st := range map[string]Styles{
		"none":                   theme(t, "none", termenv.TrueColor),
		"NO_COLOR":               theme(t, "auto", termenv.TrueColor, "NO_COLOR", "1"),
		"NO_COLOR of 0":          theme(t, "auto", termenv.TrueColor, "NO_COLOR", "0"),
		"NO_COLOR against dark":  theme(t, "dark", termenv.ANSI256, "NO_COLOR", "1"),
		"NO_COLOR against 16":    theme(t, "16", termenv.TrueColor, "NO_COLOR", "1"),
		"16 on a plain terminal": theme(t, "16", termenv.Ascii),
	} {
		each(t, st, func(style, out string) {
			if out != "words" {
				t.Errorf("%s: %s renders %q", name, style, out)
			}
		})
		if !st.Plain {
			t.Errorf("%s: it does not say that it is plain", name)
		}
	}
}

func TestEmptyNoColorSaysNothing(t *testing.T) {
	if theme(t, "auto", termenv.TrueColor, "NO_COLOR", "").Plain {
		t.Error("colours are off")
	}
}

func TestBackgrounds(t *testing.T) {
	const profile = termenv.TrueColor
	auto, light, dark := theme(t, "auto", profile), theme(t, "light", profile), theme(t, "dark", profile)
	if got, want := dark.Good.Render("x"), auto.Good.Render("x"); got != want {
		t.Errorf("dark is %q, and auto on a dark background %q", got, want)
	}
	if light.Good.Render("x") == dark.Good.Render("x") {
		t.Error("light and dark look the same")
	}
	if light.Plain || dark.Plain || auto.Plain {
		t.Error("a theme with colours says that it is plain")
	}
}

// The sixteen colours are 30–37 and 90–97; attributes are below 10.
func TestSixteenColoursAreSixteen(t *testing.T) {
	codes := regexp.MustCompile(`\x1b\[([0-9;]*)m`)
	for _, profile := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI} {
		each(t, theme(t, "16", profile), func(style, out string) {
			for _, m := range codes.FindAllStringSubmatch(out, -1) {
				for _, code := range strings.Split(m[1], ";") {
					n, _ := strconv.Atoi(code) // an empty one is 0
					if n >= 10 && (n < 30 || n > 37) && (n < 90 || n > 97) {
						t.Errorf("%s uses %d in %q", style, n, out)
					}
				}
			}
		})
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(termenv.TrueColor)
	if _, err := Theme("16", r, func(string) string { return "" }); err != nil || r.ColorProfile() != termenv.ANSI {
		t.Errorf("the renderer is left at %v, %v: other styles of it could show more", r.ColorProfile(), err)
	}
}

func TestUnknownTheme(t *testing.T) {
	_, err := Theme("blue", lipgloss.NewRenderer(io.Discard), func(string) string { return "" })
	if want := `there is no theme "blue"; use one of auto, light, dark, none, 16`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
