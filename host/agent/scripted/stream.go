package scripted

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
)

// event is one line of the stream.
type event map[string]any

// stream prints events, one line each, in one write each: sub-agents print at the same time.
type stream struct {
	session string
	output  string // an --output-format

	silent atomic.Bool
	mu     sync.Mutex // held during a write
	w      io.Writer
}

// emit prints an event under the session's id and an id of its own. In the other formats only the result counts.
func (s *stream) emit(e event) error {
	e["session_id"] = s.session
	e["uuid"] = uuid.NewString()
	if s.output != outputStream && e["type"] != "result" {
		return nil
	}
	var line bytes.Buffer
	if s.output == outputText {
		text, _ := e["result"].(string)
		line.WriteString(text)
	} else if err := encode(&line, e); err != nil {
		return err
	}
	return s.raw(line.Bytes())
}

// raw prints a line as it is.
func (s *stream) raw(line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent.Load() {
		return nil
	}
	_, err := s.w.Write(append(line, '\n'))
	return err
}

// silence ends the stream in the middle. It does not wait for a write that nobody reads.
func (s *stream) silence() { s.silent.Store(true) }
