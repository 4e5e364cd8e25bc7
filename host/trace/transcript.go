package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

const (
	// transcriptQueue bounds what waits to be written, in bytes. A longer line is taken when nothing else waits.
	transcriptQueue = 16 << 20
	// transcriptWait is how long the agent is held up by a disk that does not keep up, once, until it does again.
	transcriptWait = 250 * time.Millisecond
	// transcriptClose bounds how long Close waits for the disk.
	transcriptClose = 3 * time.Second
)

// ErrSlowDisk means that lines are missing from a transcript because the disk did not take them in time.
var ErrSlowDisk = errors.New("the disk did not take the transcript in time")

// Transcript keeps every line of the agents of a session as it came, secrets aside, and the question events at
// their place, as lines of the type "kitsoki". What cannot be kept is counted at its place. It is safe for
// concurrent use.
type Transcript struct {
	opt     Options
	trouble func(error)
	out     *lineFile // the writer's alone
	wake    chan struct{}
	done    chan struct{} // closed when the writer has ended

	mu      sync.Mutex // guards all below
	started bool
	closed  bool
	told    bool
	slow    bool
	queue   []entry
	queued  int           // bytes
	dropped int           // lines, since the last entry
	room    chan struct{} // closed when the queue was taken
}

// entry is one line that waits to be written; before it, some were dropped.
type entry struct {
	line    []byte
	raw     bool // the agent's
	dropped int
}

// NewTranscript makes the transcript at a path; a file that is there is continued. trouble is told once when
// something could not be kept; it may be nil, and must not block.
func NewTranscript(path string, opt Options, trouble func(error)) *Transcript {
	return &Transcript{
		opt: opt.withDefaults(), trouble: trouble, out: &lineFile{path: path},
		wake: make(chan struct{}, 1), done: make(chan struct{}), room: make(chan struct{}),
	}
}

// Line keeps a line of an agent's stream. It returns at once, and soon when the disk is slow.
func (t *Transcript) Line(raw []byte) { t.put(bytes.Clone(raw), true) }

// Event keeps an event at its place among the lines.
func (t *Transcript) Event(e host.Event) error {
	data, err := t.opt.Data(e)
	if err != nil {
		return err
	}
	t.put(t.own(e.Name(), data), false)
	return nil
}

func (t *Transcript) put(line []byte, raw bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.fitsLocked(line) && !t.slow {
		t.awaitRoomLocked()
	}
	switch {
	case t.closed:
		return
	case !t.fitsLocked(line):
		t.slow = true
		t.dropped++
		t.troubleLocked(ErrSlowDisk)
		return
	}
	t.queue = append(t.queue, entry{line: line, raw: raw, dropped: t.dropped})
	t.queued += len(line)
	t.slow, t.dropped = false, 0
	if !t.started {
		t.started = true
		go t.write()
	}
	t.wakeWriter()
}

func (t *Transcript) fitsLocked(line []byte) bool {
	return len(t.queue) == 0 || t.queued+len(line) <= transcriptQueue
}

func (t *Transcript) awaitRoomLocked() {
	room := t.room
	t.mu.Unlock()
	defer t.mu.Lock()
	limit := time.NewTimer(transcriptWait)
	defer limit.Stop()
	select {
	case <-room:
	case <-limit.C:
	}
}

func (t *Transcript) troubleLocked(err error) {
	if !t.told && t.trouble != nil {
		t.told = true
		t.trouble(err)
	}
}

func (t *Transcript) wakeWriter() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// take gives the writer what waits; ok is false when nothing more will.
func (t *Transcript) take() (batch []entry, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	batch, t.queue, t.queued = t.queue, nil, 0
	if t.closed && t.dropped > 0 {
		batch = append(batch, entry{dropped: t.dropped})
		t.dropped = 0
	}
	close(t.room)
	t.room = make(chan struct{})
	return batch, !t.closed
}

// write is the goroutine that Close waits for.
func (t *Transcript) write() {
	defer close(t.done)
	lost := 0
	for more := true; more; {
		<-t.wake
		var batch []entry
		batch, more = t.take()
		for len(batch) > 0 {
			piece, lines, rest := t.piece(batch, lost)
			if err := t.out.write(piece); err != nil {
				lost += lines
				t.mu.Lock()
				t.troubleLocked(err)
				t.mu.Unlock()
			} else {
				lost = 0
			}
			batch = rest
		}
	}
}

// transcriptPiece is about how many bytes are written at once.
const transcriptPiece = 256 << 10

// piece encodes the beginning of a batch: what is missing before it, and its lines.
func (t *Transcript) piece(batch []entry, lost int) (piece []byte, lines int, rest []entry) {
	gap := func(n int) {
		if n > 0 {
			piece = append(append(piece, t.gap(n)...), '\n')
		}
	}
	gap(lost)
	for i, e := range batch {
		if len(piece) >= transcriptPiece {
			return piece, lines, batch[i:]
		}
		gap(e.dropped)
		lines += e.dropped
		if e.line == nil {
			continue
		}
		line := e.line
		if e.raw {
			line = t.clean(line)
		}
		piece = append(append(piece, line...), '\n')
		lines++
	}
	return piece, lines, nil
}

// Close writes what waits and ends the transcript. It waits a few seconds for the disk at most.
func (t *Transcript) Close() error {
	t.mu.Lock()
	first, started := !t.closed, t.started
	t.closed = true
	t.mu.Unlock()
	if !first || !started {
		return nil
	}
	t.wakeWriter()
	limit := time.NewTimer(transcriptClose)
	defer limit.Stop()
	select {
	case <-t.done:
		return t.out.close()
	case <-limit.C:
		return ErrSlowDisk
	}
}

// own is a line of kitsoki's.
type own struct {
	Type  string          `json:"type"`
	Time  time.Time       `json:"time"`
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

func (t *Transcript) own(event string, data json.RawMessage) []byte {
	line, err := json.Marshal(own{Type: "kitsoki", Time: t.opt.Now().Round(0).UTC(), Event: event, Data: data})
	if err != nil { // data comes from json.Marshal
		return []byte(`{"type":"kitsoki"}`)
	}
	return line
}
