package tui

import (
	"os"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host/hosttest"
)

func TestCutSequences(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, "abc": false, "abc\x1b": true, "\x1b[": true, "\x1b[A": false, "\x1b[1;5": true, "\x1b[1;5C": false, "\x1bOP": false, "\x1bO": true,
		"\x1bx": false, "\x1b[A\x1b": true, "\x1b[200~": false,
	} {
		if got := cut([]byte(in)); got != want {
			t.Errorf("cut(%q) = %v", in, got)
		}
	}
}

func TestOneKey(t *testing.T) {
	for in, want := range map[string]bool{
		"y": true, "é": true, "漢": true, "\r": true, "\x1b": true, "\x1by": true, "\x1b[A": true, "\x1b[1;5C": true, "\x1bOP": true, "\x1b[15~": true, "\x1b[[A": true,
		"yy": false, "\ry": false, "y\r": false, "\x1b[Ay": false, "\x1b[A\x1b[A": false, "\x1b\x1b": false, "\x1b[200~y\x1b[201~": false, "\x1byy": false, "\x1b[": false,
	} {
		if got := oneKey([]byte(in)); got != want {
			t.Errorf("oneKey(%q) = %v", in, got)
		}
	}
}

// What came is timed when it is read, once a read, and a focus report within a read is told.
func TestTypistTimesReads(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	clock := hosttest.NewClock()
	var sent []tea.Msg
	in := newTypist(r, clock, func(m tea.Msg) { sent = append(sent, m) })
	buf := make([]byte, 256)
	read := func(text string) {
		t.Helper()
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if n, err := in.Read(buf); err != nil || string(buf[:n]) != text {
			t.Fatalf("read %q, %v", buf[:n], err)
		}
	}
	read("a")
	first := clock.Now()
	clock.Advance(time.Second)
	read("b\x1b[I")
	if at, ok := in.Arrival(); !ok || !at.Equal(first) {
		t.Errorf("the first of two reads is timed %v, %v; want %v", at, ok, first)
	}
	if at, ok := in.Arrival(); ok {
		t.Errorf("nothing was read since, and it is timed %v", at)
	}
	if len(sent) != 1 || sent[0] != (tea.FocusMsg{}) {
		t.Errorf("told %v", sent)
	}
}
