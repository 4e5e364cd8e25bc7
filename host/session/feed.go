package session

import (
	"context"
	"sync"
	"time"
)

// feedSize bounds what a slow reader can still get; feedBatch what it gets at once.
const (
	feedSize  = 8192
	feedBatch = 500
)

// feed keeps the newest events of a session for any number of readers, each at its own pace.
type feed struct {
	mu     sync.Mutex // guards all below
	ring   []Event    // oldest first, dense sequence
	last   uint64
	closed bool
	more   chan struct{} // closed at the next event
}

func newFeed() *feed { return &feed{more: make(chan struct{})} }

func (f *feed) add(e Event, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.last++
	e.Seq, e.Time = f.last, now
	if len(f.ring) == feedSize {
		f.ring = append(f.ring[:0:0], f.ring[feedSize/4:]...)
	}
	f.ring = append(f.ring, e)
	f.wakeLocked()
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		f.wakeLocked()
	}
}

func (f *feed) wakeLocked() {
	close(f.more)
	f.more = make(chan struct{})
}

func (f *feed) newest() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

func (f *feed) read(ctx context.Context, after uint64) (Batch, error) {
	for {
		b, more, err := f.take(after)
		if more == nil {
			return b, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return Batch{}, context.Cause(ctx)
		}
	}
}

// take returns what is there after the given event, or the channel to wait on.
func (f *feed) take(after uint64) (b Batch, more <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if after >= f.last {
		if f.closed {
			return b, nil, ErrClosed
		}
		return b, f.more, nil
	}
	from := 0
	if first := f.ring[0].Seq; after+1 < first {
		b.Resync = true
	} else {
		from = int(after + 1 - first)
	}
	to := min(from+feedBatch, len(f.ring))
	b.Events = append(b.Events, f.ring[from:to]...)
	return b, nil, nil
}
