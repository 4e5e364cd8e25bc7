package question

import "time"

// Quiet is how long the keyboard has to rest after an ask appeared before a key acts on it; AfterSend how long
// an Enter is ignored after one that did something.
const (
	Quiet     = 400 * time.Millisecond
	AfterSend = 300 * time.Millisecond
)

// Guard keeps keys from answering what the operator has not seen yet: keys that were on their way to something
// else when an ask opened, and the second of two quick Enters. The zero Guard lets everything through.
type Guard struct {
	armed bool
	last  time.Time // the last key, or the moment it was armed
	hold  time.Time // Enters before this are dropped
}

// Arm is called when an ask opens, when another comes to the front, and when the terminal gets the focus back.
func (g *Guard) Arm(now time.Time) { g.armed, g.last = true, now }

// Release is called when the operator opened a field with a key of its own: what is typed next is meant for it.
func (g *Guard) Release() { g.armed = false }

// Hold is called after an Enter that sent, finished or warned.
func (g *Guard) Hold(now time.Time) { g.hold = now.Add(AfterSend) }

// Admit reports whether a key may act. While the guard is armed every key starts the silence anew.
func (g *Guard) Admit(now time.Time, enter bool) bool {
	if g.armed {
		quiet := now.Sub(g.last) >= Quiet
		g.last = now
		if !quiet {
			return false
		}
		g.armed = false
	}
	return !enter || g.Enter(now)
}

// Enter reports whether an Enter may act, wherever the keyboard is by now.
func (g *Guard) Enter(now time.Time) bool {
	if now.Before(g.hold) {
		g.Hold(now) // a key that is held down repeats faster than this
		return false
	}
	return true
}
