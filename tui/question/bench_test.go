package question

import (
	"io"
	"testing"
	"time"

	"github.com/charmbracelet/lipgloss"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/styles"
)

// BenchmarkView is one frame of an ask at 80x24; an idle screen draws one a second.
func BenchmarkView(b *testing.B) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	info := host.AskInfo{Questions: []host.OperatorQuestion{database, checks}, Opened: now, Deadline: now.Add(time.Minute), Kind: host.KindQuestion}
	m := NewModel(info, nil, keys.Default(), styles.New(lipgloss.NewRenderer(io.Discard)))
	m.Resize(80, 24)
	for b.Loop() {
		m.View(Frame{Now: now, Nth: 1, All: 1})
	}
}
