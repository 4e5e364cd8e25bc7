package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"example.com/kitsoki/tui/cells"
)

// paint styles what is between two places of the text.
func (r renderer) paint(s spans, from, to int) string {
	var b strings.Builder
	for i := r.runAt(s, from); i < len(s.runs) && from < to; i++ {
		end := min(to, s.runs[i].end)
		if end > from {
			b.WriteString(r.render(s.text[from:end], s.runs[i].look))
			from = end
		}
	}
	return b.String()
}

// runAt finds the run of a place by halving, for a paragraph may have thousands of lines and of runs.
func (r renderer) runAt(s spans, at int) int {
	low, high := 0, len(s.runs)
	for low < high {
		if mid := (low + high) / 2; s.runs[mid].end <= at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// render styles a stretch of text. A pen is made of the style once, for making one costs more than drawing with it.
func (r renderer) render(text string, l look) string {
	if r.st.Plain || (l == 0 && !r.based) || strings.TrimLeft(text, " ") == "" {
		return text
	}
	p := &r.pens[l]
	if !p.made {
		p.made = true
		p.before, p.after, _ = strings.Cut(r.style(l).Render("x"), "x")
	}
	return p.before + text + p.after
}

// pen is what a style puts around text.
type pen struct {
	made          bool
	before, after string
}

// style puts a look onto the style of the text around it.
func (r renderer) style(l look) lipgloss.Style {
	s := r.base
	if !r.based {
		s = r.st.Strong.UnsetBold()
	}
	bold := r.based && r.base.GetBold()
	switch l {
	case codeBlock:
		return r.st.Chip
	case faint:
		return r.st.Dim
	}
	if l&code != 0 {
		s = r.st.Title.Bold(bold)
	}
	if l&strong != 0 {
		s = s.Bold(true)
		if bold { // more than bold already
			s = s.Underline(true)
		}
	}
	if l&emphasis != 0 {
		s = s.Italic(true)
	}
	return s
}

// wrapped cuts a text into lines of at most width cells, as places in it: at spaces, which the cut takes away, or
// after the hyphen of a word; where that is not possible, and with hard always, at the edge. Looks change only
// between clusters afterwards, for a cluster that is torn apart may be wider.
func wrapped(s spans, width int, hard bool) (lines [][2]int) {
	var (
		start, w     int // of the present line
		end, next    int // where the line can be broken: its end, and the start of the next one
		nextW        int // the width up to next
		space, inRun bool
		letter       bool
		r            int
	)
	brk := func(e, n, ew int) {
		if e > start {
			lines = append(lines, [2]int{start, e})
		}
		start, w, end, next, nextW = n, w-ew, 0, 0, 0
	}
	for i := 0; i < len(s.text); {
		n, cw := cluster(s.text[i:])
		for r < len(s.runs) && s.runs[r].end <= i {
			r++
		}
		if n > 1 && r < len(s.runs) && s.runs[r].end < i+n {
			s.runs[r].end = i + n
		}
		c := s.text[i]
		if c == '\n' {
			lines = append(lines, [2]int{start, trimEnd(s.text, start, i, hard)})
			start, w, end, next, nextW, space, letter = i+1, 0, 0, 0, 0, false, false
			i += n
			continue
		}
		inRun, space = space, c == ' ' && n == 1 && !hard
		if space {
			if !inRun {
				end = i
			}
			w += cw
			next, nextW, letter = i+1, w, false
			i += n
			continue
		}
		for w+cw > width && i > start {
			if next > start {
				brk(end, next, nextW)
			} else {
				brk(i, i, w)
			}
		}
		w += cw
		i += n
		if c == '-' && letter && !hard && w <= width {
			end, next, nextW = i, i, w
		}
		letter = c >= utf8.RuneSelf || unicode.IsLetter(rune(c))
	}
	return append(lines, [2]int{start, trimEnd(s.text, start, len(s.text), hard)})
}

func trimEnd(text string, from, to int, hard bool) int {
	if hard {
		return to
	}
	return from + len(strings.TrimRight(text[from:to], " "))
}

// cluster measures what a text starts with that is drawn as one: its bytes and its cells.
func cluster(s string) (bytes, width int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1, 1
	}
	c, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return max(1, len(c)), w
}

// para draws one paragraph behind a prefix, which hangs: the further lines are indented as far.
func (r renderer) para(s spans, prefix string, hard bool) []string {
	if len(s.text) <= r.width-cells.Width(prefix) && strings.IndexByte(s.text, '\n') < 0 {
		return []string{prefix + r.paint(s, 0, len(s.text))} // bytes are never less than cells
	}
	var lines []string
	for _, l := range wrapped(s, max(1, r.width-cells.Width(prefix)), hard) {
		lines = append(lines, r.paint(s, l[0], l[1]))
	}
	return cells.Indent(lines, prefix)
}
