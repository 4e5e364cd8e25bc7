package question

import (
	"testing"
	"time"
)

func TestGuardWantsSilenceAfterAnAskOpens(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	var g Guard
	g.Arm(t0)
	for _, ms := range []int{60, 120, 180, 240, 600} { // 600 is 360 ms after the last key
		if g.Admit(Pressed(at(ms)), false) {
			t.Fatalf("a key at %d ms was let through", ms)
		}
	}
	if !g.Admit(Pressed(at(1000)), false) {
		t.Fatal("a key after 400 ms of silence was kept away")
	}
	if !g.Admit(Pressed(at(1010)), true) {
		t.Fatal("the guard is still up")
	}
}

func TestGuardDropsTheSecondOfTwoQuickEnters(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var g Guard
	g.Hold(t0)
	for i := range 40 { // a held key
		if g.Admit(Pressed(t0.Add(time.Duration(i*30)*time.Millisecond)), true) {
			t.Fatalf("repeat %d was let through", i)
		}
	}
	if !g.Admit(Pressed(t0.Add(40*30*time.Millisecond)), false) {
		t.Fatal("another key was dropped")
	}
	if !g.Admit(Pressed(t0.Add((39*30+300)*time.Millisecond)), true) {
		t.Fatal("Enter after a rest was dropped")
	}
}

// A burst is worked off with pauses on a busy machine. Keys that were read together, or behind which more waits, have
// no silence between them, and a key that was read long ago did not come after the silence that followed.
func TestGuardGoesByWhenKeysCame(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	for name, s := range map[string]Stroke{
		"read together":         {Came: at(900), Now: at(900), Behind: true},
		"more waits":            {Came: at(900), Now: at(900), Waiting: true},
		"worked off much later": {Came: at(200), Now: at(900)},
	} {
		var g Guard
		g.Arm(t0)
		if g.Admit(s, false) {
			t.Errorf("%s: let through", name)
		}
	}
	var g Guard
	g.Arm(t0)
	if g.Admit(Stroke{Came: at(100), Now: at(150), Waiting: true}, false) || g.Admit(Pressed(at(900)), false) {
		t.Error("what waited behind a key was let through")
	}
	if !g.Admit(Pressed(at(1400)), false) {
		t.Error("a key after a silence was kept away")
	}
}
