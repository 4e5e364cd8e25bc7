package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/trace"
)

// lookAgain is after how long a trace is read again at the latest: some file systems tell of no change, and
// nothing tells that the writer was killed.
const lookAgain = time.Second

// show prints one session, as a timeline or as JSON, and goes on when it is followed.
func (f *traceFlags) show(ctx context.Context, out io.Writer, s trace.Stored) error {
	if ctx == nil {
		ctx = context.Background()
	}
	file, err := os.Open(s.Path)
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	defer func() { _ = file.Close() }()
	var changed *os.File
	if f.follow {
		if changed, err = watch(s.Path); err != nil {
			return &exitError{code: exitFailed, err: err}
		}
		defer func() { _ = changed.Close() }()
		stop := context.AfterFunc(ctx, func() { _ = changed.SetReadDeadline(time.Now()) })
		defer stop()
	}
	p := f.printer(out, s)
	rd := trace.NewReader(file)
	for {
		live := trace.Live(s.Path) // before reading, so that nothing is missed of a writer that ends now
		if err := drain(rd, p); err != nil {
			return err
		}
		if !f.follow || !live || ctx.Err() != nil {
			return p.end(live, rd.Torn())
		}
		if err := p.pause(); err != nil {
			return err
		}
		_ = changed.SetReadDeadline(time.Now().Add(lookAgain))
		_, _ = changed.Read(make([]byte, 4096)) // what it says does not matter; at its deadline it says nothing
	}
}

// watch returns a file that can be read from when the one at path has changed.
func watch(path string) (*os.File, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "inotify")
	if _, err := unix.InotifyAddWatch(fd, path, unix.IN_MODIFY|unix.IN_CLOSE_WRITE); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// printer shows records.
type printer interface {
	record(trace.Record) error
	fault(error) error // of a line that is no record
	pause() error      // nothing more is there for now
	end(live bool, torn int64) error
}

func (f *traceFlags) printer(out io.Writer, s trace.Stored) printer {
	if f.json {
		return jsonPrinter{f: f, out: out}
	}
	return newTimeline(out, s, f.matches)
}

// drain shows everything that is there.
func drain(rd *trace.Reader, p printer) error {
	for {
		rec, err := rd.Next()
		var bad *trace.LineError
		switch {
		case err == nil:
			err = p.record(rec)
		case errors.As(err, &bad):
			err = p.fault(bad)
		case errors.Is(err, io.EOF):
			return nil
		default:
			err = &exitError{code: exitFailed, err: err}
		}
		if err != nil {
			return err
		}
	}
}

// jsonPrinter prints records as they are.
type jsonPrinter struct {
	f   *traceFlags
	out io.Writer
}

func (p jsonPrinter) record(rec trace.Record) error {
	if !p.f.matches(rec) {
		return nil
	}
	return printJSON(p.out, rec)
}

func (jsonPrinter) fault(error) error     { return nil } // the checker's
func (jsonPrinter) pause() error          { return nil }
func (jsonPrinter) end(bool, int64) error { return nil }

// matches reports whether a record passes every filter.
func (f *traceFlags) matches(rec trace.Record) bool {
	for _, want := range f.filter {
		if !strings.HasPrefix(rec.Event, want) && !mentions(rec.Data, strings.ToLower(want)) {
			return false
		}
	}
	return true
}

// mentions reports whether a text occurs in a string of the data, names of fields aside.
func mentions(data json.RawMessage, want string) bool {
	var v any
	return json.Unmarshal(data, &v) == nil && valueMentions(v, want)
}

func valueMentions(v any, want string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), want)
	case []any:
		for _, item := range v {
			if valueMentions(item, want) {
				return true
			}
		}
	case map[string]any:
		for _, item := range v {
			if valueMentions(item, want) {
				return true
			}
		}
	}
	return false
}
