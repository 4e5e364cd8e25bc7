// Package cells cuts, wraps and pads text by the cells it takes on the screen. Its input is safe text, see
// askbridge.Safe, with or without styling.
package cells

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is the number of cells of the widest line.
func Width(s string) int {
	w := 0
	for line := range strings.SplitSeq(s, "\n") {
		w = max(w, ansi.StringWidth(line))
	}
	return w
}

// Cut shortens one line to w cells, with … where something was cut.
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	return ansi.Truncate(s, w, "…")
}

// Wrap breaks text into lines of at most w cells, at words where it can. A cell is the least width, in which a wide
// character stands out.
func Wrap(s string, w int) []string {
	if w <= 0 {
		return nil
	}
	var lines []string
	for line := range strings.SplitSeq(ansi.Wrap(s, w, ""), "\n") {
		if ansi.StringWidth(line) > w { // x/ansi 0.11 lets a dash after several spaces pass
			lines = append(lines, strings.Split(ansi.Hardwrap(line, w, true), "\n")...)
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// Pad cuts or fills one line to exactly w cells.
func Pad(s string, w int) string {
	s = Cut(s, w)
	return s + strings.Repeat(" ", max(0, w-ansi.StringWidth(s)))
}

// Spread puts one text at the left and one at the right end of a line of w cells. The right one is whole as
// long as it fits; the left one is cut.
func Spread(left, right string, w int) string {
	if right == "" {
		return Cut(left, w)
	}
	rw := ansi.StringWidth(right)
	if rw >= w {
		return Cut(right, w)
	}
	return Pad(left, w-rw-1) + " " + right
}

// Indent puts a prefix before the first line and as many spaces before the others.
func Indent(lines []string, prefix string) []string {
	space := strings.Repeat(" ", ansi.StringWidth(prefix))
	out := make([]string, len(lines))
	for i, l := range lines {
		if i == 0 {
			out[i] = prefix + l
		} else {
			out[i] = space + l
		}
	}
	return out
}

// Fit makes exactly h lines of the given ones: cut at the end, or filled with empty ones.
func Fit(lines []string, h int) []string {
	if len(lines) >= h {
		return lines[:max(0, h)]
	}
	return append(lines[:len(lines):len(lines)], make([]string, h-len(lines))...)
}
