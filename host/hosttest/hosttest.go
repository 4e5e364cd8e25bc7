// Package hosttest is what tests of asks need: a clock that moves when told, and a recorder that remembers.
package hosttest

import (
	"context"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

// Clock is a host.Clock that stands still until Advance.
type Clock struct {
	mu     sync.Mutex // guards all below
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

// NewClock starts a clock at a fixed moment.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now implements host.Clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements host.Clock. f runs on the goroutine that calls Advance.
func (c *Clock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Add(d), f: f}
	c.timers = append(c.timers, t)
	return func() bool { return c.remove(t) }
}

func (c *Clock) remove(t *timer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, o := range c.timers {
		if o == t {
			c.timers = append(c.timers[:i:i], c.timers[i+1:]...)
			return true
		}
	}
	return false
}

// Advance moves the clock and runs what becomes due, in order of time.
func (c *Clock) Advance(d time.Duration) {
	end := c.Now().Add(d)
	for {
		due := c.takeDue(end)
		if due == nil {
			return
		}
		due.f()
	}
}

func (c *Clock) takeDue(end time.Time) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := -1
	for i, t := range c.timers {
		if !t.at.After(end) && (first < 0 || t.at.Before(c.timers[first].at)) {
			first = i
		}
	}
	if first < 0 {
		c.now = end
		return nil
	}
	t := c.timers[first]
	c.timers = append(c.timers[:first:first], c.timers[first+1:]...)
	if t.at.After(c.now) {
		c.now = t.at
	}
	return t
}

// Timers is how many timers are set.
func (c *Clock) Timers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

// Recorder is a host.Recorder that remembers.
type Recorder struct {
	mu     sync.Mutex
	events []host.Event
}

// Record implements host.Recorder.
func (r *Recorder) Record(_ context.Context, e host.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

// Events returns what was recorded so far.
func (r *Recorder) Events() []host.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]host.Event(nil), r.events...)
}

// Names returns the names of the recorded events.
func (r *Recorder) Names() []string {
	var out []string
	for _, e := range r.Events() {
		out = append(out, e.Name())
	}
	return out
}
