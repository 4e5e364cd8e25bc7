package question

import (
	"fmt"
	"strings"

	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/markdown"
)

// hasPreview reports whether any option of the focused question has a preview.
func (m *Model) hasPreview() bool {
	for _, o := range m.sheet.Question().Options {
		if o.Preview != "" {
			return true
		}
	}
	return false
}

// previewLines is the preview of the lit option.
func (m *Model) previewLines() []string {
	if m.sheet.OnReview() || m.sheet.OnOwnRow() {
		return nil
	}
	text := m.sheet.Question().Options[m.sheet.LitRow()].Preview
	if text == "" {
		return []string{m.st.Dim.Render(" this option has no preview")}
	}
	lines := markdown.Lines(text, max(1, m.width-1), m.st)
	for i, l := range lines {
		lines[i] = " " + l
	}
	return lines
}

// previewView shows the preview in place of the options, under the label it belongs to.
func (m *Model) previewView(h int) string {
	lines := m.previewLines()
	m.previewTop = max(0, min(m.previewTop, len(lines)-h+1))
	head := m.st.Lit.Render(cells.Cut(fmt.Sprintf(" > %d %s", m.sheet.LitRow()+1, m.litLabel()), m.width))
	return strings.Join(cells.Fit(append([]string{head}, lines[min(m.previewTop, len(lines)):]...), h), "\n")
}

func (m *Model) litLabel() string {
	if m.sheet.OnOwnRow() {
		return "own answer"
	}
	return m.sheet.Question().Options[m.sheet.LitRow()].Label
}

func (m *Model) previewMarks() string {
	all, h := len(m.previewLines()), m.optionsHeight()-1
	if all <= h {
		return "preview · p closes"
	}
	return m.mark("preview", m.previewTop+1, min(all, m.previewTop+h), all) + " · p closes"
}
