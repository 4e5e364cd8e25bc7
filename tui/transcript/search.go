package transcript

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// search is what is looked for in the log.
type search struct {
	query string
	exact bool // an upper-case letter in the query says that case matters
	want  flat
	from  int    // where the window was when the search began, as lines up from the end
	at    *block // the match that was gone to is its nth; nil: none yet
	nth   int
}

// place is a byte of a line, without its styling.
type place struct{ line, off int }

// hit is a match within a block; it may go over several lines.
type hit struct{ from, to place }

// The ways that a character can stand to the one before it.
const (
	beside = iota
	spaced
	broken // over the end of a line, where a space may have been, or not
)

// flat is text without its spaces and line ends, so that a match is found however the lines were cut. All slices
// have an element a byte.
type flat struct {
	text []byte
	gap  []byte
	at   []place
	size []byte // of the character before it was folded
}

func (f *flat) add(line int, text string, fold bool) {
	gap := byte(broken)
	for off, r := range text {
		if unicode.IsSpace(r) {
			if gap == beside {
				gap = spaced
			}
			continue
		}
		before, size := len(f.text), byte(utf8.RuneLen(r))
		if fold {
			r = unicode.ToLower(r)
		}
		f.text = utf8.AppendRune(f.text, r)
		for range len(f.text) - before {
			f.gap = append(f.gap, gap)
			gap = beside
			f.at = append(f.at, place{line, off})
			f.size = append(f.size, size)
		}
	}
}

// Search sets what is searched for; nothing ends the search. Case matters only if the text has an upper-case
// letter. Runs of tool calls with a match in them are unfolded meanwhile. Go to a match with Next.
func (m *Model) Search(text string) {
	if text == m.search.query {
		return
	}
	m.flush()
	if m.search.query == "" {
		m.search.from = m.up
	}
	s := search{query: text, exact: strings.ContainsFunc(text, unicode.IsUpper), from: m.search.from}
	s.want.add(0, text, !s.exact)
	if text == "" {
		s.from = 0
	}
	m.search = s
	for _, b := range m.blocks {
		if len(b.calls) > 0 {
			m.change(b)
		} else {
			b.hits = m.find(b.lines)
		}
	}
	m.flush()
}

func (m *Model) searching() bool { return len(m.search.want.text) > 0 }

// find returns the matches in the lines of a block, none of which overlap.
func (m *Model) find(lines []string) []hit {
	if !m.searching() {
		return nil
	}
	var f flat
	for i, l := range lines {
		f.add(i, ansi.Strip(l), !m.search.exact)
	}
	want := m.search.want
	var out []hit
	for i := 0; i <= len(f.text)-len(want.text); {
		n := bytes.Index(f.text[i:], want.text)
		if n < 0 {
			break
		}
		i += n
		end := i + len(want.text)
		if !f.fits(i, want) {
			i++
			continue
		}
		last := f.at[end-1]
		out = append(out, hit{f.at[i], place{last.line, last.off + int(f.size[end-1])}})
		i = end
	}
	return out
}

// fits compares the spaces of a match.
func (f *flat) fits(at int, want flat) bool {
	for i := 1; i < len(want.gap); i++ {
		if got := f.gap[at+i]; got != broken && got != want.gap[i] {
			return false
		}
	}
	return true
}

// Next goes to the next match: an older one for a negative dir, a newer one for a positive, round at the ends. It
// brings the match into a window of that height.
func (m *Model) Next(dir, height int) {
	m.flush()
	type ref struct {
		b   *block
		nth int
		up  int // the lines below the match's own
	}
	var all []ref // the newest first
	now, below := -1, 0
	for i := len(m.blocks) - 1; i >= 0; i-- {
		b := m.blocks[i]
		for k := len(b.hits) - 1; k >= 0; k-- {
			if b == m.search.at && k == m.search.nth {
				now = len(all)
			}
			all = append(all, ref{b, k, below + len(b.lines) - 1 - b.hits[k].from.line})
		}
		below += len(b.lines)
	}
	if len(all) == 0 || dir == 0 {
		return
	}
	switch {
	case now >= 0 && dir < 0:
		now++
	case now >= 0:
		now--
	case dir < 0: // the newest that is not below the window
		for now = 0; now < len(all) && all[now].up < m.search.from; now++ {
		}
	default: // the oldest that is not above it
		for now = len(all) - 1; now >= 0 && all[now].up >= m.search.from+height; now-- {
		}
	}
	to := all[(now+len(all))%len(all)]
	m.search.at, m.search.nth = to.b, to.nth
	if to.up < m.up || to.up >= m.up+height {
		m.up = max(0, min(to.up-height/2, m.total-height))
	}
}

// Matches returns how many matches there are, and which of them was gone to, counted from the oldest; 0: none yet.
func (m *Model) Matches() (nth, all int) {
	m.flush()
	for _, b := range m.blocks {
		if b == m.search.at && m.search.nth < len(b.hits) {
			nth = all + m.search.nth + 1
		}
		all += len(b.hits)
	}
	return nth, all
}
