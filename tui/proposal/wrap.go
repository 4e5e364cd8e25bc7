package proposal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// wrap breaks one line of a safe text into rows of at most w cells and leaves nothing out, no space either: what is read
// is what would run. A token stays in one piece when it fits into a row.
func wrap(line string, w int) []string {
	var rows []string
	var row strings.Builder
	used := 0
	for line != "" {
		part, width := piece(line, w)
		if used+width > w && used > 0 {
			rows = append(rows, row.String())
			row.Reset()
			used = 0
		}
		row.WriteString(part)
		used += width
		line = line[len(part):]
	}
	return append(rows, row.String())
}

// piece is the start of a text that is not broken: a run of plain characters that fits, a token, or one character with
// what belongs to it.
func piece(s string, w int) (string, int) {
	if s[0] < utf8.RuneSelf {
		// What follows may be a mark that joins the character before it.
		if len(s) == 1 || s[1] < utf8.RuneSelf {
			return s[:1], 1
		}
	}
	if strings.HasPrefix(s, "‹") {
		if token, _, ok := strings.Cut(s, "›"); ok {
			token += "›"
			if width := ansi.StringWidth(token); width <= w {
				return token, width
			}
		}
	}
	return ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
}
