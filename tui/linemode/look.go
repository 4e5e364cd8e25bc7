package linemode

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/tui/question"
)

// twin reports whether another open ask has the same words.
func (m *mode) twin(a *asked) bool {
	for _, b := range m.asks {
		if a != b && question.SameWords(a.info.Questions, b.info.Questions) {
			return true
		}
	}
	return false
}

// preview writes the preview of a row.
func (m *mode) preview(a *asked, row string) {
	q := a.sheet.Question()
	n, err := strconv.Atoi(row)
	switch {
	case err != nil || n < 1 || n > len(q.Options):
		m.say(fmt.Sprintf("! p needs one of the rows 1 to %d after it", len(q.Options)))
	case q.Options[n-1].Preview == "":
		m.say(fmt.Sprintf("! row %d has no preview", n))
	default:
		m.say("  " + strings.ReplaceAll(strings.TrimRight(q.Options[n-1].Preview, "\n"), "\n", "\n  "))
	}
}

// Peeks are short here: the newest words and calls, and which files changed.
const (
	peekWords = 2
	peekTools = 5
)

// peek writes what the asking agent last said and did.
func (m *mode) peek(ctx context.Context, a *asked) {
	if a.info.Asker.Guest { // whatever the session knows is another's
		m.say("  what a guest does is not seen here; it runs in " + a.info.Asker.Dir)
		return
	}
	p, err := m.opt.Client.Peek(ctx, a.info.Asker.Path)
	for _, text := range p.Words[max(0, len(p.Words)-peekWords):] {
		m.say("  said: " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  "))
	}
	for _, t := range p.Tools[max(0, len(p.Tools)-peekTools):] {
		m.say("  did: " + strings.TrimSpace(t.Name+" "+t.Input))
	}
	for _, f := range p.Diff.Files {
		m.say(fmt.Sprintf("  changed: %s +%d -%d", f.Path, f.Added, f.Deleted))
	}
	if err != nil {
		m.say("! " + askbridge.Safe(err.Error()))
	}
	if len(p.Words)+len(p.Tools)+len(p.Diff.Files) == 0 {
		m.say("  nothing was said or done in this turn yet")
	}
}
