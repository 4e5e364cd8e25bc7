package session

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/hosttest"
)

// The session of guests is there as long as one of them asks, is closed some time after the last, and opened anew.
func TestSessionOfGuestsComesAndGoes(t *testing.T) {
	clock := hosttest.NewClock()
	m := NewManager(ManagerOptions{State: t.TempDir(), Clock: clock})
	first, done, err := m.Guests()
	if err != nil {
		t.Fatal(err)
	}
	second, done2, err := m.Guests()
	if err != nil || second != first || !IsOfGuests(first.ID()) {
		t.Errorf("two guests have %s and %s, %v", first.ID(), second.ID(), err)
	}
	done()
	done()
	clock.Advance(2 * guestsIdle)
	if first.isClosing() {
		t.Error("it was closed while a guest was there")
	}
	done2()
	clock.Advance(guestsIdle / 2)
	_, done, err = m.Guests()
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * guestsIdle)
	if first.isClosing() {
		t.Error("it was closed while another guest was there")
	}
	done()
	clock.Advance(guestsIdle)
	if !first.isClosing() {
		t.Error("it is open though nobody was there for long")
	}
	third, done, err := m.Guests()
	if err != nil || third == first {
		t.Errorf("a guest got a closed session, %v", err)
	}
	done()
	if _, err := m.Resume(t.Context(), third.ID(), Spec{}); err == nil || !strings.Contains(err.Error(), "guests") {
		t.Errorf("it was taken up again: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := m.Close(ctx, host.HostClosing); err != nil {
		t.Error(err)
	}
	if _, _, err := m.Guests(); !errors.Is(err, ErrClosed) {
		t.Errorf("a guest was let in after the end: %v", err)
	}
}
