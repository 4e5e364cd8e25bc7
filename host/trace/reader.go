package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// maxLine bounds one line of a trace, in bytes. The recorder's own are far below.
const maxLine = 16 << 20

var (
	// ErrNoTrace means that a file does not begin like a trace.
	ErrNoTrace = errors.New("this is no trace of kitsoki's")
	// ErrNewer means that a trace was written by a later version of kitsoki.
	ErrNewer = errors.New("this trace was written by a newer kitsoki")
)

// LineError is a line, whole but not the last, that is no record. The reader goes on after it.
type LineError struct {
	Line int // from 1, the header
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads a trace record by record, also while it is being written.
type Reader struct {
	br     *bufio.Reader
	part   []byte // of a line whose end was not read yet
	long   int64  // bytes of a line over maxLine, so far
	line   int
	offset int64
	header Header
	begun  int64 // where the header ends; 0 before it was read
}

// NewReader makes a reader. Nothing is read yet.
func NewReader(r io.Reader) *Reader { return &Reader{br: bufio.NewReaderSize(r, 64<<10)} }

// Header is the first line, once Next has returned something other than io.EOF, ErrNoTrace or ErrNewer.
func (r *Reader) Header() Header { return r.header }

// Offset is where the last whole line that was read ends, in bytes.
func (r *Reader) Offset() int64 { return r.offset }

// Torn is how many bytes were read after the last whole line. At the end of a file it is the length of a line
// that was not finished.
func (r *Reader) Torn() int64 { return int64(len(r.part)) + r.long }

// Next returns the next record, of a kind that is known or not. io.EOF means that there is none yet; a later
// call finds what was written meanwhile. A *LineError is about one line, any other error about the file.
func (r *Reader) Next() (Record, error) {
	for {
		line, err := r.next()
		if err != nil && !errors.Is(err, io.EOF) && r.begun == 0 {
			return Record{}, fmt.Errorf("%w: %w", ErrNoTrace, err)
		}
		if err != nil {
			return Record{}, err
		}
		if r.begun == 0 {
			if err := r.readHeader(line); err != nil {
				return Record{}, err
			}
			continue
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return Record{}, &LineError{Line: r.line, Err: err}
		}
		if rec.Seq == 0 || rec.Event == "" {
			return Record{}, &LineError{Line: r.line, Err: errors.New("it has no sequence number or no event")}
		}
		return rec, nil
	}
}

func (r *Reader) readHeader(line []byte) error {
	if json.Unmarshal(line, &r.header) != nil || r.header.Format != format || r.header.Version < 1 {
		return ErrNoTrace
	}
	if r.header.Version > Version {
		return fmt.Errorf("%w: format %d, this one reads up to %d", ErrNewer, r.header.Version, Version)
	}
	r.begun = r.offset
	return nil
}

// next returns the next whole line without its end. The beginning of a line that is not there yet is kept.
func (r *Reader) next() ([]byte, error) {
	for {
		piece, err := r.br.ReadSlice('\n')
		if r.long > 0 || len(r.part)+len(piece) > maxLine {
			r.long += int64(len(r.part) + len(piece))
			r.part = nil
		} else {
			r.part = append(r.part, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		r.line++
		if r.long > 0 {
			r.offset += r.long
			r.long = 0
			return nil, &LineError{Line: r.line, Err: fmt.Errorf("it is longer than %d bytes", maxLine)}
		}
		r.offset += int64(len(r.part))
		line := bytes.TrimSuffix(r.part, []byte("\n"))
		r.part = nil
		return line, nil
	}
}

// end is how far a file can be trusted.
type end struct {
	size int64 // of its whole lines
	torn int64 // bytes after them
	seq  uint64
	last time.Time
}

// survey reads a file to its end. A last line that is whole but no record counts as torn: after a loss of power,
// file systems leave zeros where a line should be.
func survey(r io.Reader) (end, error) {
	rd := NewReader(r)
	var e end
	for {
		rec, err := rd.Next()
		var bad *LineError
		switch {
		case err == nil:
			e.size, e.seq, e.last = rd.Offset(), rec.Seq, rec.Time
		case errors.As(err, &bad):
		case errors.Is(err, io.EOF):
			if e.size == 0 {
				e.size = rd.begun
			}
			e.torn = rd.Offset() + rd.Torn() - e.size
			return e, nil
		default:
			return e, err
		}
	}
}

// Live reports whether a process is writing the trace at this moment.
func Live(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock) == nil && lock.Type != unix.F_UNLCK
}
