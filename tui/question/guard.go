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
	last  time.Time // when the last key was worked off, or the moment it was armed
	more  bool      // something followed closely on the last key
	hold  time.Time // Enters before this are dropped
}

// Stroke is when a key was pressed, as far as that is known.
type Stroke struct {
	Came    time.Time // when it was read from the terminal
	Now     time.Time // when it is worked off, which is later on a busy machine
	Behind  bool      // it was read together with the key before it
	Waiting bool      // more input has come and waits
	Among   bool      // other keys were read together with it, before or behind
}

// Pressed is a stroke of which only the moment is known.
func Pressed(now time.Time) Stroke { return Stroke{Came: now, Now: now} }

// Arm is called when an ask opens, when another comes to the front, and when the terminal gets the focus back.
func (g *Guard) Arm(now time.Time) { g.armed, g.last, g.more = true, now, false }

// Release is called when the operator opened a field with a key of its own: what is typed next is meant for it.
func (g *Guard) Release() { g.armed = false }

// Hold is called after an Enter that sent, finished or warned.
func (g *Guard) Hold(now time.Time) { g.hold = now.Add(AfterSend) }

// Admit reports whether a key may act. While the guard is armed every key starts the silence anew. Silence is from the
// moment the last key was worked off until this one came: keys that came together have none between them, however
// slowly they are worked off.
func (g *Guard) Admit(s Stroke, enter bool) bool {
	if g.armed {
		quiet := s.Came.Sub(g.last) >= Quiet && !s.Behind && !s.Waiting && !g.more
		g.last, g.more = s.Now, s.Waiting
		if !quiet {
			return false
		}
		g.armed = false
	}
	return !enter || g.Enter(s.Now)
}

// Enter reports whether an Enter may act, wherever the keyboard is by now.
func (g *Guard) Enter(now time.Time) bool {
	if now.Before(g.hold) {
		g.Hold(now) // a key that is held down repeats faster than this
		return false
	}
	return true
}
