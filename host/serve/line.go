package serve

import (
	"slices"
	"sync"
)

// line lets so many calls run at once, and the others wait in the order in which they came.
type line struct {
	mu      sync.Mutex // guards all below
	free    int
	most    int // that may wait
	waiting []*place
}

func newLine(parallel, most int) *line { return &line{free: parallel, most: most} }

// place is a call's place in the line.
type place struct {
	line *line
	turn chan struct{} // closed when it may run
	left bool          // guarded by the line's mu
}

// enter takes a place; nil when too many wait. Leave it in any case.
func (l *line) enter() *place {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := &place{line: l, turn: make(chan struct{})}
	switch {
	case l.free > 0: // so nobody waits
		l.free--
		close(p.turn)
	case len(l.waiting) >= l.most:
		return nil
	default:
		l.waiting = append(l.waiting, p)
	}
	return p
}

// position is where in the line the place is, from 1; 0 when it may run, or was left.
func (p *place) position() int {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	return slices.Index(p.line.waiting, p) + 1
}

// leave gives the place to the next one.
func (p *place) leave() {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.left {
		return
	}
	p.left = true
	if i := slices.Index(l.waiting, p); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		return
	}
	if len(l.waiting) == 0 {
		l.free++
		return
	}
	close(l.waiting[0].turn)
	l.waiting = slices.Delete(l.waiting, 0, 1)
}
