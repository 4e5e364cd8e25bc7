package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

// Version is the version of the format, in the header of each file.
const Version = 1

// header is the first line of a file.
type header struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Created time.Time `json:"created"`
}

// Record is one line after the header.
type Record struct {
	Seq   uint64          `json:"seq"` // dense, from 1
	Time  time.Time       `json:"time"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// File is a trace that is being written. It is safe for concurrent use.
type File struct {
	now  func() time.Time
	path string

	mu  sync.Mutex // guards all below
	f   *os.File
	seq uint64
}

var _ host.Recorder = (*File)(nil)

// Create makes a new trace, readable by its owner alone. It is an error when the file exists.
func Create(path string, now func() time.Time) (*File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the trace could not be created: %w", err)
	}
	t := &File{now: now, path: path, f: f}
	if err := t.writeLine(header{Format: "kitsoki-trace", Version: Version, Created: now()}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return t, nil
}

// Path returns where the trace is.
func (t *File) Path() string { return t.path }

// Record appends one event.
func (t *File) Record(_ context.Context, e host.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Name(), err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return fmt.Errorf("event %s: %w", e.Name(), os.ErrClosed)
	}
	if err := t.writeLine(Record{Seq: t.seq + 1, Time: t.now(), Event: e.Name(), Data: data}); err != nil {
		return err
	}
	t.seq++
	return nil
}

// writeLine writes a line in one call, so that a reader never sees half of it unless the disk is full.
func (t *File) writeLine(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := t.f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("the trace could not be written: %w", err)
	}
	return nil
}

// Close ends the trace; later events are refused.
func (t *File) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.f == nil {
		return nil
	}
	err := errors.Join(t.f.Sync(), t.f.Close())
	t.f = nil
	return err
}
