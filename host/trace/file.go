package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
)

// Version is the version of the format, in the header of each file.
const Version = 1

const format = "kitsoki-trace"

// Header is the first line of a file.
type Header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Created time.Time `json:"created"`
}

// Record is one line after the header.
type Record struct {
	Seq   uint64          `json:"seq"`  // dense, from 1
	Time  time.Time       `json:"time"` // never before that of the record before
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// File is a trace that is being written. It is safe for concurrent use.
//
// Every event is one write, so the death of the process loses nothing that was recorded; the death of the machine
// is another matter, see [durable].
type File struct {
	path string
	opt  Options

	mu      sync.Mutex // guards all below
	f       *os.File   // nil until the first event, and again after Close
	closed  bool
	seq     uint64
	last    time.Time // of the last record
	size    int64     // up to the end of the last whole line
	ragged  bool      // there may be part of a line after size
	session string    // as the last event said
	cut     int64     // bytes of a torn line that no event tells of yet
	lost    uint64    // events that no event tells of yet
	since   time.Time // the first of them
	why     string    // it was lost
}

var _ host.Recorder = (*File)(nil)

// ErrLocked means that a file is another process's to write.
var ErrLocked = errors.New("is being written by another kitsoki")

// NewFile makes the trace at a path. Nothing is opened before the first event, and a file that cannot be opened
// or written then is tried again with each one after it. A trace that is there already is continued; a torn last
// line of it is cut, which the event trace.repaired tells.
func NewFile(path string, opt Options) *File {
	return &File{path: path, opt: opt.withDefaults()}
}

// Open opens the file now, and not with the first event: from here on no other process writes it. ErrLocked means that
// one does already. After another error it is tried again, as always.
func (t *File) Open() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return os.ErrClosed
	case t.f != nil:
		return nil
	}
	return t.openLocked()
}

// Path returns where the trace is.
func (t *File) Path() string { return t.path }

// Record appends one event. After an error the event is missing from the trace, or (of one that had to be made
// durable) could be after a loss of power; the next event that can be written is preceded by trace.gap, which
// says how many are missing.
func (t *File) Record(_ context.Context, e host.Event) error {
	data, err := t.opt.Data(e)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return fmt.Errorf("event %s: %w", e.Name(), os.ErrClosed)
	}
	t.session = e.Session()
	if err := t.writeLocked(e.Name(), data); err != nil {
		if t.lost == 0 {
			t.since, t.why = t.nowLocked(), err.Error()
		}
		t.lost++
		return fmt.Errorf("event %s could not be written: %w", e.Name(), err)
	}
	if durable(e.Name()) {
		if err := t.f.Sync(); err != nil {
			return fmt.Errorf("event %s could not be made durable: %w", e.Name(), err)
		}
	}
	return nil
}

// durable says which events are on the disk before Record returns: the ends of asks and grants, because an
// action of the agent follows from them that must never be without its reason; the ends of turns and sessions,
// because nobody may come back for hours. The others are left to the kernel. It loses them only when the machine
// goes down, at most those since the last durable one, and a wait for the disk with each tool call would be paid
// by the agent.
func durable(event string) bool {
	switch event {
	case host.QuestionAnswered{}.Name(), host.QuestionUnanswered{}.Name(), "machine.write_mode_granted",
		TurnEnded{}.Name(), SessionClosed{}.Name():
		return true
	}
	return false
}

// writeLocked writes an event, and before it what must be told of the file itself.
func (t *File) writeLocked(event string, data json.RawMessage) error {
	if t.f == nil {
		if err := t.openLocked(); err != nil {
			return err
		}
	}
	if t.cut > 0 {
		if err := t.ownLocked(Repaired{SessionID: t.session, Bytes: t.cut}); err != nil {
			return err
		}
		t.cut = 0
	}
	if t.lost > 0 {
		if err := t.ownLocked(Gap{SessionID: t.session, Lost: t.lost, Since: t.since, Error: t.why}); err != nil {
			return err
		}
		t.lost = 0
	}
	return t.appendLocked(event, data)
}

func (t *File) ownLocked(e host.Event) error {
	data, err := t.opt.Data(e)
	if err != nil {
		return err
	}
	return t.appendLocked(e.Name(), data)
}

func (t *File) appendLocked(event string, data json.RawMessage) error {
	now := t.nowLocked()
	if err := t.lineLocked(Record{Seq: t.seq + 1, Time: now, Event: event, Data: data}); err != nil {
		return err
	}
	t.seq++
	t.last = now
	return nil
}

// nowLocked is the time, which in a trace never goes back, whatever is done to the machine's clock.
func (t *File) nowLocked() time.Time {
	now := t.opt.Now().Round(0).UTC()
	if now.Before(t.last) {
		return t.last
	}
	return now
}

// lineLocked writes a line in one call. What a full disk took of it is cut again, so that the next line does not
// begin in the middle of this one.
func (t *File) lineLocked(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := t.trimLocked(); err != nil {
		return err
	}
	n, err := t.f.Write(append(line, '\n'))
	if err != nil {
		t.ragged = n > 0
		_ = t.trimLocked() // tried again before the next line
		return err
	}
	t.size += int64(n)
	return nil
}

func (t *File) trimLocked() error {
	if !t.ragged {
		return nil
	}
	if err := t.f.Truncate(t.size); err != nil {
		return err
	}
	t.ragged = false
	return nil
}

// openLocked opens or makes the file, for this process alone.
func (t *File) openLocked() error {
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	f, err := openOwn(t.path)
	if err != nil {
		return err
	}
	if err := t.continueLocked(f); err != nil {
		t.f = nil
		return errors.Join(err, f.Close())
	}
	return nil
}

// openOwn opens a file to append to, mode 0600, and locks it against other writers. The lock goes with the
// process, so that readers can tell a trace whose writer lives from one whose writer was killed.
func openOwn(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK} // of the open file: a reader can ask for it without taking it
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			err = fmt.Errorf("%s %w", path, ErrLocked)
		}
		return nil, errors.Join(err, f.Close())
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// continueLocked finds the end of what is there, cuts what is torn, and writes the header of a new file.
func (t *File) continueLocked(f *os.File) error {
	end, err := survey(f)
	if err != nil {
		return err
	}
	if end.torn > 0 {
		if err := f.Truncate(end.size); err != nil {
			return err
		}
	}
	t.f, t.size, t.seq, t.ragged = f, end.size, end.seq, false
	if end.last.After(t.last) {
		t.last = end.last
	}
	if end.size == 0 {
		if err := t.lineLocked(Header{Format: format, Version: Version, Created: t.nowLocked()}); err != nil {
			return err
		}
		syncDir(filepath.Dir(t.path))
	}
	t.cut += end.torn
	return nil
}

// syncDir makes the name of a new file durable, where the file system can.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// Close ends the trace; later events are refused. It is an error when events are missing at its end.
func (t *File) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	var errs []error
	if t.lost > 0 {
		lost := t.lost
		gap := Gap{SessionID: t.session, Lost: lost, Since: t.since, Error: t.why}
		if t.f == nil {
			errs = append(errs, t.openLocked())
		}
		if t.f != nil {
			errs = append(errs, t.ownLocked(gap))
		}
		if errors.Join(errs...) != nil {
			errs = append(errs, fmt.Errorf("%d events are missing from the end of the trace", lost))
		}
	}
	if t.f != nil {
		errs = append(errs, t.f.Sync(), t.f.Close())
		t.f = nil
	}
	return errors.Join(errs...)
}
