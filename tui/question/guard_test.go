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
		if g.Admit(at(ms), false) {
			t.Fatalf("a key at %d ms was let through", ms)
		}
	}
	if !g.Admit(at(1000), false) {
		t.Fatal("a key after 400 ms of silence was kept away")
	}
	if !g.Admit(at(1010), true) {
		t.Fatal("the guard is still up")
	}
}

func TestGuardDropsTheSecondOfTwoQuickEnters(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var g Guard
	g.Hold(t0)
	for i := range 40 { // a held key
		if g.Admit(t0.Add(time.Duration(i*30)*time.Millisecond), true) {
			t.Fatalf("repeat %d was let through", i)
		}
	}
	if !g.Admit(t0.Add(40*30*time.Millisecond), false) {
		t.Fatal("another key was dropped")
	}
	if !g.Admit(t0.Add((39*30+300)*time.Millisecond), true) {
		t.Fatal("Enter after a rest was dropped")
	}
}
