// Package markdown draws light markdown: what agents write most, in the styles of the program. It is no markdown
// library, which would cost more at the start of the program than all the rest of the screen. Three rules hold:
// every letter and digit of the text is shown and in its order; the target of a link is always shown; and what is
// not clearly markdown stays as it is. Without styles the marks stay too, for then they are all that can be seen.
//
// The text is safe text, see askbridge.SafeText: newline is its only control character. It may import tui/cells
// and tui/styles.
package markdown

import (
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/styles"
)

// Lines draws a text in lines of at most width cells. A character that is wider than that has a line of its own.
func Lines(text string, width int, st styles.Styles) []string {
	return newRenderer(width, st).lines(text)
}

// LinesIn is Lines with a style for all of the text, which the marks add to.
func LinesIn(base lipgloss.Style, text string, width int, st styles.Styles) []string {
	r := newRenderer(width, st)
	r.base, r.based = base, true
	return r.lines(text)
}

// Inline draws a text in one line: newlines become spaces, and only what is within a line counts as markdown.
func Inline(text string, st styles.Styles) string {
	r := newRenderer(1, st)
	s := r.inline(strings.ReplaceAll(cells.Tabs(text), "\n", " "), 0)
	wrapped(s, 1<<30, true) // puts the looks onto whole clusters
	return r.paint(s, 0, len(s.text))
}

// Stream draws a text that grows: what can no longer change is drawn once. A new width needs a new Stream.
type Stream struct {
	r     renderer
	at    int   // what is before this in the text is settled
	fence fence // the code block that is open there
}

// NewStream starts a text of lines of at most width cells.
func NewStream(width int, st styles.Styles) *Stream {
	return &Stream{r: newRenderer(width, st)}
}

// Next draws what has come since the last call. The text is the one of that call with more at its end. settled are
// further lines that stay as they are; open are those after them, which the next call draws anew.
func (s *Stream) Next(text string) (settled, open []string) {
	if s.r.width < 1 {
		return nil, nil
	}
	rest := text[s.at:]
	if n := settledIn(rest, s.fence); n > 0 {
		settled = s.r.blocks(strings.Split(rest[:n-1], "\n"), &s.fence)
		s.at += n
		rest = rest[n:]
	}
	fence := s.fence
	return settled, s.r.blocks(strings.Split(rest, "\n"), &fence)
}

// settledIn is how much of a text is drawn the same whatever follows it: all up to the last empty line, or line of a
// code block.
func settledIn(text string, open fence) int {
	done := 0
	for at := 0; ; {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return done
		}
		line := text[at : at+n]
		at += n + 1
		if open.n > 0 {
			if open.closedBy(line) {
				open = fence{}
			}
			done = at
		} else if f, ok := fenceOf(line); ok {
			open, done = f, at
		} else if strings.TrimSpace(line) == "" {
			done = at
		}
	}
}

type renderer struct {
	st    styles.Styles
	width int
	base  lipgloss.Style
	based bool // there is a base
	depth int  // of block quotes
	pens  *[faint + 1]pen
}

func newRenderer(width int, st styles.Styles) renderer {
	r := renderer{st: st, width: width}
	if !st.Plain {
		r.pens = new([faint + 1]pen)
	}
	return r
}

func (r renderer) lines(text string) []string {
	if r.width < 1 {
		return nil
	}
	return r.blocks(strings.Split(text, "\n"), &fence{})
}

// fence is the start of a code block; none is open when n is 0.
type fence struct {
	sign   byte
	n      int
	indent int
}

// fenceOf reads the line that opens a code block.
func fenceOf(line string) (fence, bool) {
	text := strings.TrimLeft(line, " ")
	if !strings.HasPrefix(text, "```") && !strings.HasPrefix(text, "~~~") {
		return fence{}, false
	}
	f := fence{sign: text[0], n: repeated(text), indent: len(line) - len(text)}
	return f, f.sign == '~' || strings.IndexByte(text[f.n:], '`') < 0
}

func (f fence) closedBy(line string) bool {
	text := strings.TrimSpace(line)
	return len(text) >= f.n && text[0] == f.sign && repeated(text) == len(text)
}

// blocks draws lines of text block by block. open is the code block that is open before and after them.
func (r renderer) blocks(src []string, open *fence) []string {
	for i, line := range src {
		src[i] = cells.Tabs(line)
	}
	var out []string
	for i := 0; i < len(src); {
		line := src[i]
		if open.n > 0 {
			out = append(out, r.codeLine(line, open)...)
			i++
			continue
		}
		if f, ok := fenceOf(line); ok {
			*open = f
			out = append(out, r.fenceLine(line, f)...)
			i++
			continue
		}
		end := i + 1
		switch {
		case strings.TrimSpace(line) == "":
			out = append(out, "")
		case r.table(src[i:]):
			for end < len(src) && strings.Contains(src[end], "|") {
				end++
			}
			out = append(out, r.tableLines(src[i:end])...)
		case r.quoted(line):
			for end < len(src) && r.quoted(src[end]) {
				end++
			}
			out = append(out, r.quote(src[i:end])...)
		case rule(line):
			out = append(out, r.dim(cells.Cut(line, r.width)))
		case r.heading(line) > 0:
			n := r.heading(line)
			out = append(out, r.para(r.inline(line[n:], strong), r.dim(line[:n]), false)...)
		case r.item(line) > 0:
			n := r.item(line)
			for end < len(src) && indent(src[end]) > indent(line) && !r.starts(src[end:]) {
				end++
			}
			out = append(out, r.itemLines(src[i:end], n)...)
		default:
			for end < len(src) && !r.starts(src[end:]) {
				end++
			}
			out = append(out, r.para(r.inline(strings.Join(src[i:end], "\n"), 0), "", false)...)
		}
		i = end
	}
	return out
}

// starts reports whether something other than more of a paragraph starts here.
func (r renderer) starts(src []string) bool {
	line := src[0]
	_, fenced := fenceOf(line)
	return fenced || strings.TrimSpace(line) == "" || rule(line) || r.quoted(line) || r.heading(line) > 0 || r.item(line) > 0 || r.table(src)
}

func (r renderer) dim(text string) string { return r.render(text, faint) }

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// codeLine draws a line of a code block, cut at the edge and nowhere else; the line that ends the block is seen
// only where there are no styles.
func (r renderer) codeLine(line string, f *fence) []string {
	if f.closedBy(line) {
		closed := *f
		*f = fence{}
		return r.fenceLine(line, closed)
	}
	line = line[min(f.indent, indent(line)):]
	prefix := strings.Repeat(" ", min(f.indent+2, r.width/3))
	return r.para(spans{line, []run{{len(line), codeBlock}}}, prefix, true)
}

// fenceLine draws a line that starts or ends a code block: the language, if it says one.
func (r renderer) fenceLine(line string, f fence) []string {
	text := strings.TrimSpace(line)
	if !r.st.Plain {
		if text = strings.TrimSpace(text[repeated(text):]); text == "" {
			return nil
		}
	}
	in := strings.Repeat(" ", min(f.indent, r.width/3))
	return r.para(spans{text, []run{{len(text), faint}}}, in, true)
}

func rule(line string) bool {
	s := strings.ReplaceAll(line, " ", "")
	return len(s) >= 3 && strings.IndexByte("-*_", s[0]) >= 0 && repeated(s) == len(s)
}

// heading is the length of the signs that make a line one, or 0.
func (r renderer) heading(line string) int {
	if line == "" || line[0] != '#' || r.width < 12 {
		return 0
	}
	if n := repeated(line); n <= 6 && n+1 < len(line) && line[n] == ' ' {
		return n + 1
	}
	return 0
}

// item is the length of the sign that starts an item of a list and of the spaces around it, or 0.
func (r renderer) item(line string) int {
	from := indent(line)
	n := from
	for n < len(line) && n < from+9 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	signs := ".)"
	if n == from {
		signs = "-*+"
	}
	if n+2 >= len(line) || strings.IndexByte(signs, line[n]) < 0 || line[n+1] != ' ' || n-from+2 > r.width/2 {
		return 0
	}
	text := strings.TrimLeft(line[n+1:], " ")
	if text == "" {
		return 0
	}
	return len(line) - len(text)
}

func (r renderer) itemLines(src []string, n int) []string {
	from := indent(src[0])
	sign := strings.TrimRight(src[0][from:n], " ") + " "
	prefix := strings.Repeat(" ", min(from, r.width/3)) + sign
	body := make([]string, 0, len(src))
	body = append(body, src[0][n:])
	for _, l := range src[1:] {
		body = append(body, l[min(n, indent(l)):])
	}
	return r.para(r.inline(strings.Join(body, "\n"), 0), prefix, false)
}

// maxDepth is how many block quotes are drawn within each other; further signs are text.
const maxDepth = 4

func (r renderer) quoted(line string) bool {
	text := strings.TrimLeft(line, " ")
	return text != "" && text[0] == '>' && (len(text) == 1 || text[1] == ' ' || text[1] == '>') && r.depth < maxDepth && r.width > 8
}

func (r renderer) quote(src []string) []string {
	inner := r
	inner.depth++
	inner.width -= 2
	body := make([]string, len(src))
	for i, l := range src {
		body[i] = strings.TrimPrefix(strings.TrimLeft(l, " ")[1:], " ")
	}
	lines := inner.blocks(body, &fence{})
	for i, l := range lines {
		lines[i] = r.dim(">") + " " + l
	}
	return lines
}

// table reports whether a table starts here: a line of columns over a line of as many dashes.
func (r renderer) table(src []string) bool {
	if len(src) < 2 || !strings.Contains(src[0], "|") || !strings.Contains(src[1], "|") || strings.Trim(src[1], "|-: ") != "" {
		return false
	}
	dashes := columns(src[1])
	empty := func(c string) bool { return !strings.Contains(c, "-") }
	return !slices.ContainsFunc(dashes, empty) && len(dashes) == len(columns(src[0]))
}

// columns cuts a line of a table at its bars.
func columns(line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	var out []string
	for from, i := 0, 0; ; i++ {
		switch {
		case i >= len(line):
			if rest := strings.TrimSpace(line[min(from, len(line)):]); rest != "" || from == 0 || line[len(line)-1] != '|' {
				out = append(out, rest)
			}
			return out
		case line[i] == '\\':
			i++
		case line[i] == '|':
			out = append(out, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
}

// tableLines draws the columns of a table under each other, or its lines as they are where that does not fit.
func (r renderer) tableLines(src []string) []string {
	rows, widths := make([][]spans, len(src)), []int(nil)
	for y, line := range src {
		if y == 1 {
			continue
		}
		base := look(0)
		if y == 0 {
			base = strong
		}
		for x, c := range columns(line) {
			s := r.inline(c, base)
			wrapped(s, 1<<30, true) // puts the looks onto whole clusters
			rows[y] = append(rows[y], s)
			if x == len(widths) {
				widths = append(widths, 1)
			}
			widths[x] = max(widths[x], cells.Width(s.text))
		}
	}
	all := 3 * (len(widths) - 1)
	for _, w := range widths {
		all += w
	}
	var out []string
	for y, row := range rows {
		switch {
		case all > r.width:
			out = append(out, r.para(r.inline(src[y], 0), "", false)...)
		case y == 1:
			var dashes []string
			for _, w := range widths {
				dashes = append(dashes, strings.Repeat("-", w))
			}
			out = append(out, r.dim(strings.Join(dashes, "-+-")))
		default:
			out = append(out, r.row(row, widths))
		}
	}
	return out
}

func (r renderer) row(row []spans, widths []int) string {
	var b strings.Builder
	for x, s := range row {
		if x > 0 {
			b.WriteString(r.dim(" | "))
		}
		b.WriteString(r.paint(s, 0, len(s.text)))
		if x < len(row)-1 {
			b.WriteString(strings.Repeat(" ", widths[x]-cells.Width(s.text)))
		}
	}
	return b.String()
}
