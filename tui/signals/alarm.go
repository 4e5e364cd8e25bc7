package signals

import (
	"slices"
	"time"
)

// IdleAfter is how long the operator has to be without a key to count as away while the terminal has the focus.
const IdleAfter = 10 * time.Second

// oneBell is how long after a bell no other one is rung.
const oneBell = time.Second

// AlarmSettings say what the operator wants.
type AlarmSettings struct {
	Bell  bool
	OSC   OSC
	OnAsk bool          // there is a program to run
	After time.Duration // how long an ask is open before the program runs
}

// Emit says what to do now, each thing once.
type Emit struct {
	Bell   bool
	Notify []string // ids of asks to show a notification of
	OnAsk  []string // ids of asks to run the program for
}

// Nothing reports whether there is nothing to do.
func (e Emit) Nothing() bool { return !e.Bell && len(e.Notify) == 0 && len(e.OnAsk) == 0 }

// Alarm decides when an operator who looks elsewhere is told of asks. It does nothing itself and has no clock: each
// call says when it is, and Next says when to call Due. The operator is away while the terminal has lost the focus,
// and after IdleAfter without a key. A terminal that never tells of its focus counts as having it.
//
// An ask that opens while the operator is away rings the bell, one for all that open within a second, and shows a
// notification. The program runs for an ask that has been open for After, at the first moment from then on at which
// the operator is away. An ask that was settled does nothing any more. Alarm is not for several goroutines.
type Alarm struct {
	want     AlarmSettings
	blurred  bool
	lastSign time.Time // of the operator
	lastBell time.Time
	open     []openAsk       // whose program has not run, in the order of opening
	known    map[string]bool // every ask that was ever told of, so that none is told of twice
}

type openAsk struct {
	id  string
	due time.Time // not earlier
}

// NewAlarm starts with an operator who is here: somebody started the program.
func NewAlarm(want AlarmSettings, now time.Time) *Alarm {
	return &Alarm{want: want, lastSign: now, known: map[string]bool{}}
}

// Key tells of a key that the operator pressed.
func (a *Alarm) Key(now time.Time) { a.lastSign = now }

// Focus tells that the terminal got the focus, which is a sign of the operator.
func (a *Alarm) Focus(now time.Time) { a.blurred, a.lastSign = false, now }

// Blur tells that the terminal lost the focus.
func (a *Alarm) Blur() { a.blurred = true }

// Opened tells of an ask that was opened at the given time, which may be a while ago.
func (a *Alarm) Opened(id string, opened, now time.Time) Emit {
	if a.known[id] {
		return Emit{}
	}
	a.known[id] = true
	if a.want.OnAsk {
		a.open = append(a.open, openAsk{id, opened.Add(a.want.After)})
	}
	var e Emit
	if a.away(now) {
		if a.want.Bell && (a.lastBell.IsZero() || now.Sub(a.lastBell) >= oneBell) {
			e.Bell, a.lastBell = true, now
		}
		if a.want.OSC != OSCOff {
			e.Notify = []string{id}
		}
	}
	e.OnAsk = a.takeDue(now)
	return e
}

// Settled tells that an ask has its end, whatever it is.
func (a *Alarm) Settled(id string) {
	a.known[id] = true // its opening may come later, or never
	a.open = slices.DeleteFunc(a.open, func(ask openAsk) bool { return ask.id == id })
}

// Due says what became due by now.
func (a *Alarm) Due(now time.Time) Emit { return Emit{OnAsk: a.takeDue(now)} }

// Next is the earliest time at which Due will have something, if nothing else happens before; false when never.
// It changes with every call of the others.
func (a *Alarm) Next() (time.Time, bool) {
	if len(a.open) == 0 {
		return time.Time{}, false
	}
	next := slices.MinFunc(a.open, func(x, y openAsk) int { return x.due.Compare(y.due) }).due
	if idle := a.lastSign.Add(IdleAfter); !a.blurred && idle.After(next) {
		next = idle
	}
	return next, true
}

func (a *Alarm) away(now time.Time) bool { return a.blurred || now.Sub(a.lastSign) >= IdleAfter }

func (a *Alarm) takeDue(now time.Time) []string {
	if !a.away(now) {
		return nil
	}
	var due []string
	a.open = slices.DeleteFunc(a.open, func(ask openAsk) bool {
		if now.Before(ask.due) {
			return false
		}
		due = append(due, ask.id)
		return true
	})
	return due
}
