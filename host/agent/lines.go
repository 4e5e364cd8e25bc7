package agent

import (
	"bytes"
	"fmt"
)

// maxLine bounds one line of a stream. Agents put whole files into one line, so it is generous.
const maxLine = 64 << 20

// lineWriter cuts what is written to it into lines of any length up to maxLine. A longer one is given as a
// short notice instead; the stream goes on after it.
type lineWriter struct {
	line    func([]byte) // valid during the call
	buf     []byte
	dropped int
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.keep(p)
			return n, nil
		}
		if len(w.buf) == 0 && w.dropped == 0 {
			w.line(p[:i])
		} else {
			w.keep(p[:i])
			w.flush()
		}
		p = p[i+1:]
	}
}

func (w *lineWriter) keep(p []byte) {
	if w.dropped > 0 || len(w.buf)+len(p) > maxLine {
		w.dropped += len(w.buf) + len(p)
		w.buf = nil
		return
	}
	w.buf = append(w.buf, p...)
}

// flush gives what stands in the buffer; the end of the stream is the end of its last line.
func (w *lineWriter) flush() {
	switch {
	case w.dropped > 0:
		w.line(fmt.Appendf(nil, "(a line of %d bytes was left out)", w.dropped))
	case len(w.buf) > 0:
		w.line(w.buf)
	}
	w.buf, w.dropped = w.buf[:0], 0
}

// tail keeps the last bytes that were written to it.
type tail struct{ buf []byte }

const tailBytes = 8 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// lastLine returns the last line that is not blank.
func (t *tail) lastLine() string {
	lines := bytes.Split(bytes.TrimSpace(t.buf), []byte("\n"))
	return string(bytes.TrimSpace(lines[len(lines)-1]))
}
