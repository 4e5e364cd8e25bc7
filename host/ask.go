package host

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind says what an ask is about.
type Kind string

// The kinds of asks.
const (
	KindQuestion Kind = "question" // an agent or a story asks; the answer is only words
	KindProposal Kind = "proposal" // the host itself proposes an action of an agent; an agent can never make one
)

// Asker says who asks.
type Asker struct {
	Agent string   `json:"agent"`           // the agent's name, such as "claude"
	Path  []string `json:"path,omitempty"`  // sub-agents from the outermost in; empty for the agent itself
	Dir   string   `json:"dir,omitempty"`   // working directory of the agent
	Guest bool     `json:"guest,omitempty"` // no kitsoki started it; Path is then the program that it runs under
}

// AskRequest is what the starter of an ask gives along, in the context: the bridge, a story's host call, the
// gate. The zero value is a question with an id and a wait of the switchboard's choosing.
type AskRequest struct {
	ID        string        // the question_id, one from wire to trace; empty: the switchboard makes one
	Kind      Kind          // empty: KindQuestion
	Proposal  *Proposal     // of KindProposal
	Asker     Asker         //
	ToolUseID string        // the agent's id of the tool call, when there is one
	Wait      time.Duration // how long the operator has; zero: the switchboard's default
	Reopens   string        // the id of the ask of an earlier process that this one shows again

	// Opened, when set, is called once, before any surface sees the ask, with the asking side's view of it.
	Opened func(OpenedAsk)
}

// AskInfo is what surfaces show of an ask. Its texts are safe for display, see askbridge.Safe.
type AskInfo struct {
	ID        string
	SessionID string
	Kind      Kind
	Proposal  *Proposal // of KindProposal, else nil; not to be changed
	Asker     Asker
	ToolUseID string
	Questions []OperatorQuestion
	Opened    time.Time
	Deadline  time.Time
	Wait      time.Duration // the wait it was opened with; Deadline may have moved beyond it
	Reopens   string
}

// Answer is the operator's answer to one question, by index. The zero Answer says nothing and settles nothing.
type Answer struct {
	Picked  []int  // rows, ascending; at most one in a single select
	Text    string // the own answer, exactly as typed
	Note    string // goes along beside the answer
	Skipped bool   // left out on purpose
	None    bool   // multi-select: explicitly none of the rows
}

// Empty reports whether the answer says nothing at all, a note aside.
func (a Answer) Empty() bool {
	return len(a.Picked) == 0 && a.Text == "" && !a.Skipped && !a.None
}

// Draft is an answer that was not sent yet. Taken means that the operator finished with the question; Rev
// counts the changes, so that of two surfaces the slower one is told instead of wiping the other's text.
type Draft struct {
	Answer
	Taken bool
	Rev   int
}

// Ask is the handle through which a surface works on one open ask. It is safe for concurrent use.
type Ask interface {
	// Info returns the ask as it stands now.
	Info() AskInfo
	// Answer settles the ask with an answer for each question. nil means that this call settled it. ErrResolved
	// and ErrTooLate mean that it was over already; *FieldErrors that something must be mended first, in which
	// case the ask stays open.
	Answer(ctx context.Context, as []Answer) error
	// Decline settles the ask as declined, with the operator's reason and what had been answered so far.
	Decline(ctx context.Context, reason string, partial []Answer) error
	// Extend moves the deadline by d, from where it is now.
	Extend(ctx context.Context, d time.Duration) error
	// Touch says that the operator is working on the ask, which keeps its session's deadlines at a distance.
	Touch()
	// Draft returns the draft of a question; the zero Draft when there is none.
	Draft(question int) Draft
	// SetDraft replaces the draft of a question. It is refused with ErrStaleDraft when d.Rev is not the present
	// revision; afterwards the revision is one higher.
	SetDraft(ctx context.Context, question int, d Draft) error
	// Changed is closed at the next change of deadline, asker or draft. Call it again after each.
	Changed() <-chan struct{}
}

// OpenedAsk is the asking side's view of its ask, see [AskRequest].
type OpenedAsk interface {
	Ask
	// Result returns the answers by index once the ask is settled as answered.
	Result() ([]Answer, bool)
	// Identify says better who asks, when that is learned only after the ask was opened.
	Identify(Asker)
	// Delivered records whether the result reached the agent. Call it once, after the ask was answered.
	Delivered(ok bool)
}

var (
	// ErrResolved means that the ask was settled before; the error that wraps it says how and by whom.
	ErrResolved = errors.New("the ask is already settled")
	// ErrTooLate means that the deadline passed first.
	ErrTooLate = errors.New("too late: the time to answer had run out")
	// ErrStaleDraft means that another surface changed the draft in the meantime.
	ErrStaleDraft = errors.New("the draft was changed elsewhere")
	// ErrDuplicateID means that an open ask has this id already.
	ErrDuplicateID = errors.New("an open ask has this id already")
	// ErrUnaskable means that the questions could be shown, but no answer to them brought back.
	ErrUnaskable = errors.New("the question cannot be asked like this")
	// ErrTooManyAsks means that the process has as many open asks as it takes.
	ErrTooManyAsks = errors.New("too many open asks")
)

// Resolution says how an ask ended, and on which surface. It is the cause of the context that a surface was
// called with, and the error of an answer that came after another.
type Resolution struct {
	Outcome Outcome
	Surface string // the surface that settled it; empty when none did
	Reason  string
}

func (r *Resolution) Error() string {
	if r.Surface != "" {
		return fmt.Sprintf("%s on %s", r.Outcome, r.Surface)
	}
	return string(r.Outcome)
}

// Is reports ErrTooLate for an ask that timed out and ErrResolved for every other end.
func (r *Resolution) Is(target error) bool {
	if r.Outcome == TimedOut {
		return target == ErrTooLate
	}
	return target == ErrResolved
}
