package frame

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// ErrTooLong is a line that is longer than its reader takes.
var ErrTooLong = errors.New("the line is longer than a frame can be")

// Reader reads lines up to a limit, however they are cut into packets. It belongs to one goroutine.
type Reader struct {
	in    *bufio.Reader
	limit int
	line  []byte
}

// NewReader makes a reader of lines that have limit bytes at the most, with their newline.
func NewReader(in io.Reader, limit int) *Reader {
	return &Reader{in: bufio.NewReader(in), limit: limit}
}

// shrinkAt is the size from which the memory of a line is not kept for the next one.
const shrinkAt = 64 << 10

// ReadLine returns the next line with its newline. It is valid until the next call. A line without an end is none:
// what came of it is lost with the error. After ErrTooLong the rest of the line is still to come, see Skip.
func (r *Reader) ReadLine() ([]byte, error) {
	if cap(r.line) > shrinkAt {
		r.line = nil
	}
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(r.line)+len(part) > r.limit {
			if len(part) > 0 && part[len(part)-1] == '\n' {
				_ = r.in.UnreadByte() // so that Skip finds the end; nothing was read since, so it cannot fail
			}
			return nil, ErrTooLong
		}
		r.line = append(r.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.line, nil
	}
}

// Skip passes over the rest of a line that was too long, without keeping it: most bytes at the most, after which the
// line is taken for one without an end, ErrTooLong.
func (r *Reader) Skip(most int) error {
	for {
		part, err := r.in.ReadSlice('\n')
		most -= len(part)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		case most < 0:
			return ErrTooLong
		}
	}
}

// Writer writes lines. It is safe for concurrent use; a line is written as a whole.
type Writer struct {
	conn    net.Conn
	timeout time.Duration

	mu sync.Mutex // held while a line is written
}

// NewWriter makes a writer. timeout bounds how long one line takes, because a peer that does not read blocks its
// writer after some 200 kB; 0: nothing bounds it but the end of the connection.
func NewWriter(conn net.Conn, timeout time.Duration) *Writer {
	return &Writer{conn: conn, timeout: timeout}
}

// WriteLine writes one line, which brings its newline. After an error the peer may have got a part of it.
func (w *Writer) WriteLine(line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timeout > 0 {
		if err := w.conn.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
			return err
		}
	}
	_, err := w.conn.Write(line)
	return err
}
