package session

import (
	"context"
	"errors"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/gate"
)

// State is what a session is doing.
type State string

// The states of a session.
const (
	Idle    State = "idle"
	Working State = "working"
	Asking  State = "asking" // working, and at least one ask is open
	Failed  State = "failed" // idle, and the last turn failed
	Closing State = "closing"
)

// Snapshot is a session at one moment.
type Snapshot struct {
	ID      string
	Title   string // no two open sessions of a process have the same
	Agent   string
	Model   string // as the agent last said
	Dir     string
	Branch  string       // of the directory, as it was when the last turn ended; empty outside of a repository
	Access  string       // of the running turn, or of the next one when none runs
	Next    string       // the access of the next turn, where it differs
	Wall    string       // of the access ask: what holds the agent to it, in a few words
	Grants  []gate.Grant // what the operator has allowed, beyond single actions
	State   State
	Asks    int // open
	Turn    int // the last one started, from 1; 0 before the first
	Queue   []string
	Held    bool // the queue waits for ReleaseQueue, because the last turn did not end well
	CostUSD float64
	Tokens  int64
	Last    uint64 // the newest event
	Started time.Time

	Continue string // a shell command that continues the conversation without kitsoki; empty: there is none
}

// Kind is what an event is about.
type Kind string

// The kinds of events, with the fields that each sets.
const (
	TurnStarted Kind = "turn_started" // Text: the prompt
	Delta       Kind = "delta"        // Text: more of the message Key
	Said        Kind = "said"         // Text: the whole message Key, in place of its deltas
	Tool        Kind = "tool"         // Key: the call; Tool: its name; Text: what it was called with, in short
	ToolDone    Kind = "tool_done"    // Key: the call; Failed; Text: what came back, in short
	AskOpened   Kind = "ask_opened"   // Key: the ask; Text: the questions, in short
	AskSettled  Kind = "ask_settled"  // Key: the ask; Outcome; Question: the questions, in short; Text: the answers or the reason
	AskDelivery Kind = "ask_delivery" // Key: the ask; Failed: the answer did not reach the agent
	Notice      Kind = "notice"       // Text: something the operator should know
	TurnEnded   Kind = "turn_ended"   // Failed, Stopped; Text: why, or what came of it
	Changed     Kind = "changed"      // something else in the snapshot changed
)

// Event is one thing that happened in a session. Its texts are safe for display.
type Event struct {
	Seq      uint64
	Time     time.Time
	Kind     Kind
	Turn     int
	Key      string
	Text     string
	Tool     string
	Question string   // in short
	Path     []string // the sub-agent that it comes from, outermost first
	Outcome  host.Outcome
	Surface  string // the surface that settled the ask
	Failed   bool
	Stopped  bool // by the operator
}

// Batch is what Events returns. Resync means that older events are gone already: events starts later than was
// asked for.
type Batch struct {
	Events []Event
	Resync bool
}

var (
	// ErrBusy means that a turn is running already; queue the prompt instead.
	ErrBusy = errors.New("a turn is running already")
	// ErrClosed means that the session is closing or closed.
	ErrClosed = errors.New("the session is closed")
	// ErrNoTurn means that there is no turn to stop.
	ErrNoTurn = errors.New("no turn is running")
)

// Client is a session as every surface sees it. It is safe for concurrent use.
type Client interface {
	// Snapshot returns the session as it is now.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Events waits until there are events after the given one and returns them, at most a few hundred at once,
	// oldest first. A reader that falls behind loses the oldest, and is told so. ErrClosed means that there
	// will be no more.
	Events(ctx context.Context, after uint64) (Batch, error)
	// Attach makes the prompter a surface of the session and declares presence: its Ask is called for every ask
	// that is open and that comes, with the Ask handle in the context. detach ends both and leaves asks open.
	Attach(name string, p host.OperatorPrompter) (detach func(), err error)
	// StartTurn starts a turn with the prompt; ErrBusy when one is running.
	StartTurn(ctx context.Context, prompt string) error
	// Queue starts a turn with the prompt, or lets it wait until those before it have ended well.
	Queue(ctx context.Context, prompt string) error
	// Unqueue takes the nth waiting prompt back, from 0, or the last one for a negative n; false when it does not
	// wait any more.
	Unqueue(ctx context.Context, n int) (prompt string, ok bool, err error)
	// ReleaseQueue lets the queue go on after a turn that did not end well.
	ReleaseQueue(ctx context.Context) error
	// Peek returns what an asker last said and did, and what has changed in the working directory. path is the
	// sub-agent, outermost first; empty is the agent itself. An error beside a Peek says what is missing in it.
	Peek(ctx context.Context, path []string) (Peek, error)
	// SetAccess says what the agent may do from the next turn on: read, ask, edit or full.
	SetAccess(ctx context.Context, level string) error
	// Revoke takes a grant away, by its id: from the next action on. Without an id it tells what is granted.
	Revoke(ctx context.Context, grant string) error
	// Rename gives the session another title.
	Rename(ctx context.Context, title string) error
	// Desk returns what was written in the session and not sent, and the history; SetDesk replaces it. It is kept, and
	// is there when the session is taken up again.
	Desk(ctx context.Context) (Desk, error)
	SetDesk(ctx context.Context, d Desk) error
	// CancelTurn stops the running turn; its asks end as cancelled.
	CancelTurn(ctx context.Context) error
	// Close settles open asks with the outcome (host_closing or no_operator), stops the turn, and waits.
	Close(ctx context.Context, why host.Outcome) error
}
