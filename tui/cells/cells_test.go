package cells

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWrapKeepsItsWidth(t *testing.T) {
	for _, s := range []string{"abcd      - and", "a - b", strings.Repeat("x", 30), "繁體中文 A1", ""} {
		checkWrap(t, s, 5)
	}
	rapid.Check(t, func(t *rapid.T) {
		checkWrap(t, rapid.StringOfN(rapid.SampledFrom([]rune("ab -–.,繁ｆ\n")), 0, 80, -1).Draw(t, "text"), rapid.IntRange(2, 20).Draw(t, "width"))
	})
}

func checkWrap(t interface{ Errorf(string, ...any) }, s string, w int) {
	for _, line := range Wrap(s, w) {
		if Width(line) > w {
			t.Errorf("Wrap(%q, %d) has the line %q of %d cells", s, w, line, Width(line))
		}
	}
}
