package agent

import (
	"context"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

// timeLimit bounds the agent's own time in one verb call: it stands still while an ask of the call is open, however
// long the operator takes. A nil one bounds nothing.
type timeLimit struct {
	clock host.Clock
	over  func() // called once at most, on a goroutine of the clock's

	mu    sync.Mutex // guards all below
	left  time.Duration
	since time.Time // it runs since then, when no ask is open
	open  int       // asks
	stop  func() bool
	ended bool
}

// newTimeLimit starts a limit, none when it is below 0. End it with end.
func newTimeLimit(clock host.Clock, limit time.Duration, over func()) *timeLimit {
	if limit < 0 {
		return nil
	}
	l := &timeLimit{clock: clock, over: over, left: limit}
	l.runLocked() // nobody else has it yet
	return l
}

func (l *timeLimit) end() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.stop()
}

func (l *timeLimit) runLocked() {
	l.since = l.clock.Now()
	l.stop = l.clock.AfterFunc(l.left, l.expire)
}

// expire runs on the timer. One that an ask has overtaken does nothing.
func (l *timeLimit) expire() {
	l.mu.Lock()
	due := !l.ended && l.open == 0 && l.clock.Now().Sub(l.since) >= l.left
	l.ended = l.ended || due
	l.mu.Unlock()
	if due {
		l.over()
	}
}

func (l *timeLimit) pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open++; l.open == 1 && !l.ended {
		l.stop()
		l.left -= l.clock.Now().Sub(l.since)
	}
}

func (l *timeLimit) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.open == 0 && !l.ended {
		l.runLocked()
	}
}

// around is a prompter that halts the limit while it asks.
func (l *timeLimit) around(p host.OperatorPrompter) host.OperatorPrompter {
	if l == nil {
		return p
	}
	return host.PrompterFunc(func(ctx context.Context, sessionID string, qs []host.OperatorQuestion) (map[string]any, error) {
		l.pause()
		defer l.resume()
		return p.Ask(ctx, sessionID, qs)
	})
}

// spoken is a duration without its zero parts: 30m, not 30m0s.
func spoken(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
