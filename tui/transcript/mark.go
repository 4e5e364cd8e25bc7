package transcript

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
)

// stretch is a part of a line to mark, in bytes without its styling.
type stretch struct {
	from, to int
	style    lipgloss.Style
}

// markHits shows the matches in lines of a block, from its first on: reversed, or where that cannot be seen with a
// sign at the start of the line, in place of the mark's space.
func (m *Model) markHits(lines []string, first int, b *block) {
	if len(b.hits) == 0 {
		return
	}
	found := map[int][]stretch{}
	for k, h := range b.hits {
		style := m.st.Strong.UnsetBold().Reverse(true)
		if b == m.search.at && k == m.search.nth {
			style = m.st.Warn.Reverse(true)
		}
		for i := max(first, h.from.line); i <= h.to.line && i < first+len(lines); i++ {
			bare := ansi.Strip(lines[i-first])
			s := stretch{len(bare) - len(strings.TrimLeft(bare, " ")), len(bare), style}
			if i == h.from.line {
				s.from = h.from.off
			}
			if i == h.to.line {
				s.to = h.to.off
			}
			if s.from < s.to {
				found[i-first] = append(found[i-first], s)
			}
		}
	}
	for i, s := range found {
		if m.st.Plain {
			lines[i] = signed(lines[i])
		} else {
			lines[i] = marked(lines[i], s)
		}
	}
}

func signed(line string) string {
	if len(line) > 1 && line[1] == ' ' {
		return "»" + line[:1] + line[2:]
	}
	return line
}

// marked draws stretches of a line, which follow each other, in styles of their own. The line's styling goes on
// after each: its escapes since the last reset are written again.
func marked(line string, found []stretch) string {
	const reset = "\x1b[0m"
	var b strings.Builder
	on, at, in := "", 0, false
	for i := 0; i < len(line); {
		if len(found) > 0 && in && at >= found[0].to {
			b.WriteString(reset + on)
			found, in = found[1:], false
		}
		if n := strings.IndexByte(line[i:], 'm') + 1; line[i] == ansi.ESC && n > 0 {
			if on += line[i : i+n]; line[i:i+n] == reset {
				on = ""
			}
			if !in {
				b.WriteString(line[i : i+n])
			}
			i += n
			continue
		}
		if len(found) > 0 && !in && at >= found[0].from {
			before, _, _ := strings.Cut(found[0].style.Render("x"), "x")
			if on != "" {
				b.WriteString(reset)
			}
			b.WriteString(before)
			in = true
		}
		b.WriteByte(line[i])
		i++
		at++
	}
	if in {
		b.WriteString(reset + on)
	}
	return b.String()
}
