package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

// ledger is a Recorder that holds every event against the rule of the trace: an ask is opened once, ends once,
// and never ends before it was opened. What breaks the rule is kept as a problem.
type ledger struct {
	refuse error // what Record says although it kept the event; nil: nothing

	mu       sync.Mutex // guards all below
	accounts map[string][]*account
	count    int
	problems []string
}

// account is what the trace has of one ask. An id that was free again may have several, one after another.
type account struct {
	asked     host.QuestionAsked
	ends      []host.Event
	delivered []bool
	late      int // answers and declines that came after the deadline
}

func newLedger() *ledger { return &ledger{accounts: map[string][]*account{}} }

// Record implements host.Recorder.
func (l *ledger) Record(_ context.Context, e host.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	switch e := e.(type) {
	case host.QuestionAsked:
		if last := l.lastLocked(e.QuestionID); last != nil && len(last.ends) == 0 {
			l.problemLocked("%s was opened twice", e.QuestionID)
		}
		l.accounts[e.QuestionID] = append(l.accounts[e.QuestionID], &account{asked: e})
	case host.QuestionAnswered:
		l.endLocked(e.QuestionID, e)
	case host.QuestionUnanswered:
		l.endLocked(e.QuestionID, e)
	case host.QuestionDelivered:
		if last := l.lastLocked(e.QuestionID); last == nil {
			l.problemLocked("%s was delivered and never opened", e.QuestionID)
		} else {
			last.delivered = append(last.delivered, e.Delivered)
		}
	case host.QuestionTooLate:
		if last := l.lastLocked(e.QuestionID); last == nil || len(last.ends) == 0 {
			l.problemLocked("%s was too late for before its end", e.QuestionID)
		} else {
			last.late++
		}
	default:
		l.problemLocked("an event of type %T", e)
	}
	return l.refuse
}

func (l *ledger) endLocked(id string, e host.Event) {
	last := l.lastLocked(id)
	if last == nil {
		l.problemLocked("%s ended before it was opened", id)
		return
	}
	if last.ends = append(last.ends, e); len(last.ends) > 1 {
		l.problemLocked("%s ended again: %+v after %+v", id, e, last.ends[0])
	}
}

func (l *ledger) lastLocked(id string) *account {
	if n := len(l.accounts[id]); n > 0 {
		return l.accounts[id][n-1]
	}
	return nil
}

func (l *ledger) problemLocked(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// last returns what the trace has of the latest ask with this id.
func (l *ledger) last(id string) (account, bool) {
	l.mu.Lock()
	n := len(l.accounts[id])
	l.mu.Unlock()
	if n == 0 {
		return account{}, false
	}
	return l.nth(id, n-1), true
}

// nth returns what the trace has of one of the asks with this id, counted from 0.
func (l *ledger) nth(id string, n int) account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[id][n]
	return account{asked: a.asked, ends: slices.Clone(a.ends), delivered: slices.Clone(a.delivered), late: a.late}
}

// sums returns how many asks were opened, how many of them ended, and every breach of the rule.
func (l *ledger) sums() (opened, ended int, problems []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, as := range l.accounts {
		for _, a := range as {
			opened++
			if len(a.ends) > 0 {
				ended++
			}
		}
	}
	return opened, ended, slices.Clone(l.problems)
}

// events is how many events were recorded.
func (l *ledger) events() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

var errDiskFull = errors.New("the disk is full")

// patience bounds every wait of these tests for another goroutine.
const patience = 10 * time.Second

// failer is what *testing.T and *rapid.T have in common here.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// within receives one value, or fails after a while.
func within[T any](t failer, what string, ch <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-ch:
	case <-timer.C:
		t.Fatalf("%s: nothing within %s", what, patience)
	}
	return v
}

// closed closes a switchboard, which has to be possible within a while.
func closed(t failer, board *host.Switchboard) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := board.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
}

// eventually waits for a condition that another goroutine is about to bring about, or fails after a while.
func eventually(t failer, what string, met func() bool) {
	t.Helper()
	again, late := time.NewTicker(50*time.Microsecond), time.NewTimer(patience)
	defer again.Stop()
	defer late.Stop()
	for !met() {
		select {
		case <-again.C:
		case <-late.C:
			t.Fatalf("%s: not within %s", what, patience)
		}
	}
}
