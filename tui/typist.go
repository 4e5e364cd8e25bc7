package tui

import (
	"bytes"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
)

// typist is the terminal's keyboard as bubbletea reads it. It remembers when input came, which is not when it is
// worked off: on a busy machine a burst of keys can be worked off with pauses in it, and a pause is what the guard
// takes for an operator who has read. It embeds the file, because bubbletea takes only what has its Fd for a terminal.
type typist struct {
	*os.File
	clock host.Clock
	send  func(tea.Msg)

	mu    sync.Mutex
	first time.Time // of the input that came since arrival was asked for; zero: none
	reads int       // since then; what is more than one key counts as two
	many  bool      // the input of the last arrival was more than one key
}

func newTypist(f *os.File, clock host.Clock, send func(tea.Msg)) *typist {
	return &typist{File: f, clock: clock, send: send}
}

// reserve is room in bubbletea's buffer for the rest of a sequence that the end of a read would cut: bubbletea 1.3.10
// reads 256 bytes at once and takes a sequence that goes on in the next read for Esc and text.
const reserve = 32

// Read reads what there is, and never a part of an escape sequence when the other part waits.
func (t *typist) Read(p []byte) (int, error) {
	most := len(p)
	if most > 2*reserve {
		most -= reserve
	}
	n, err := t.File.Read(p[:most])
	for err == nil && n < len(p) && cut(p[:n]) && t.Waiting() {
		var more int
		more, err = t.File.Read(p[n : n+1])
		n += more
	}
	if n > 0 {
		t.came(p[:n])
	}
	return n, err
}

func (t *typist) came(p []byte) {
	for _, report := range []struct {
		seq string
		msg tea.Msg
	}{{"\x1b[I", tea.FocusMsg{}}, {"\x1b[O", tea.BlurMsg{}}} {
		switch {
		case string(p) == report.seq: // no key
			return
		case bytes.Contains(p, []byte(report.seq)): // bubbletea 1.3.10 knows a report only when it is all of a read
			t.send(report.msg)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first.IsZero() {
		t.first = t.clock.Now()
	}
	if t.reads++; !oneKey(p) {
		t.reads++
	}
}

// Arrival is when the input came that was read since the last call; false when none was, because this key came in the
// same read as the one before.
func (t *typist) Arrival() (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.first
	if !at.IsZero() {
		t.first, t.many, t.reads = time.Time{}, t.reads > 1, 0
	}
	return at, !at.IsZero()
}

// Several reports whether the input of the last arrival was more than one key: a burst, or keys that a slow line brought
// together.
func (t *typist) Several() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.many
}

// oneKey reports whether input is one character, or one sequence.
func oneKey(p []byte) bool {
	if p[0] == '\x1b' && len(p) > 1 {
		end := len(p) - 1
		if bytes.LastIndexByte(p, '\x1b') > 0 {
			return false
		}
		if p[1] == '[' || p[1] == 'O' {
			return !cut(p) && bytes.IndexFunc(p[2:], func(r rune) bool { return r >= '@' && r <= '~' && r != '[' }) == end-2
		}
		p = p[1:] // Alt and a character
	}
	_, n := utf8.DecodeRune(p)
	return n == len(p)
}

// Waiting reports whether more input has come and is not read yet.
func (t *typist) Waiting() bool {
	n, err := unix.IoctlGetInt(int(t.Fd()), unix.TIOCINQ)
	return err == nil && n > 0
}

// cut reports whether input ends within an escape sequence.
func cut(p []byte) bool {
	at := bytes.LastIndexByte(p, '\x1b')
	if at < 0 || len(p)-at > reserve {
		return false
	}
	rest := p[at+1:]
	switch {
	case len(rest) == 0:
		return true
	case rest[0] == '[' || rest[0] == 'O':
		for _, b := range rest[1:] {
			if b >= '@' && b <= '~' { // the final byte
				return false
			}
		}
		return true
	}
	return false
}
