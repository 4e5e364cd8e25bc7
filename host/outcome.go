package host

import (
	"context"
	"errors"
	"fmt"
)

// Outcome is how an ask ended. Each ask has exactly one.
type Outcome string

// The outcomes.
const (
	Answered    Outcome = "answered"     // an answer was accepted
	Declined    Outcome = "declined"     // the operator declined, or skipped every question
	Cancelled   Outcome = "cancelled"    // the client cancelled the call, the turn was stopped, or the last prompter returned nothing usable
	TimedOut    Outcome = "timed_out"    // the deadline passed
	NoOperator  Outcome = "no_operator"  // nobody present on arrival, or the terminal was lost
	AskerGone   Outcome = "asker_gone"   // the connection closed; the agent or its grandchild died
	HostClosing Outcome = "host_closing" // the operator quit, or the session was closed
)

// Unanswered is the error of an ask that did not end in an answer.
type Unanswered struct {
	Outcome Outcome
	Reason  string   // in words, empty when there is nothing to add
	Partial []Answer // by index: what had been answered when the operator declined
}

func (u *Unanswered) Error() string {
	if u.Reason == "" {
		return fmt.Sprintf("operator did not answer (%s)", u.Outcome)
	}
	return fmt.Sprintf("operator did not answer (%s): %s", u.Outcome, u.Reason)
}

// withdrawal turns the cause of an asker's context into the outcome of its ask. A cause that is an *Unanswered
// speaks for itself; anything else is a cancelled call.
func withdrawal(ctx context.Context) *Unanswered {
	cause := context.Cause(ctx)
	var u *Unanswered
	if errors.As(cause, &u) && u.Outcome != Answered {
		return &Unanswered{Outcome: u.Outcome, Reason: u.Reason}
	}
	if errors.Is(cause, context.DeadlineExceeded) {
		return &Unanswered{Outcome: TimedOut, Reason: "the time of the whole turn ran out"}
	}
	return &Unanswered{Outcome: Cancelled, Reason: "the call was cancelled"}
}
