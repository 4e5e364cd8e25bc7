package host

import "time"

// Clock is the time that deadlines and guards are measured with; tests inject their own.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d. stop reports whether it prevented the call.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now returns the present time.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc calls f after d, see time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
