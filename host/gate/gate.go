package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/gate/wall"
)

// Options are what a gate needs of its session and of the machine.
type Options struct {
	SessionID string
	Self      []string // how to start kitsoki itself, for what runs behind the wall
	Home      string   // the operator's home directory, whose secrets are asked for; empty: there is none
	Level     wall.Level

	// Record keeps a verdict in the trace. What it cannot keep is not granted.
	Record func(ctx context.Context, e host.Event) error
	// Exec runs an approved command on the host's side of the wall.
	Exec func(ctx context.Context, c Execution) (exit int, err error)
	// Notice is told of what the wall kept from happening, in words that are safe to show; nil: nobody is. It must not
	// block.
	Notice func(sentence string)
}

// Execution is a command that was approved, as it is to be run: by the operator's shell, with an empty standard input, in
// a process group of its own, of which nothing is left afterwards.
type Execution struct {
	Command string
	Dir     string
	Stdout  io.Writer
	Stderr  io.Writer
}

// Gate is that of one session. It is safe for concurrent use.
type Gate struct {
	opt    Options
	grants *grants
}

// New makes a session's gate.
func New(opt Options) *Gate {
	if opt.Notice == nil {
		opt.Notice = func(string) {}
	}
	return &Gate{opt: opt, grants: newGrants()}
}

// Level is how much of a wall the session's agents have around them.
func (g *Gate) Level() wall.Level { return g.opt.Level }

// Grants are what is granted now, and Revoke takes one away: from the next action on.
func (g *Gate) Grants() []Grant { return g.grants.all() }

// Revoke is an error when there is no such grant.
func (g *Gate) Revoke(id string) error {
	if !g.grants.revoke(id) {
		return fmt.Errorf("there is no grant %q; it may have ended", id)
	}
	return nil
}

// Turn begins the gate of one turn, whose agent works in dir. End it.
func (g *Gate) Turn(number int, dir string) *Turn {
	return &Turn{gate: g, number: number, dir: dir, tokens: map[string]approved{}}
}

// Turn is the gate of one turn.
type Turn struct {
	gate   *Gate
	number int
	dir    string

	mu      sync.Mutex // guards all below
	socket  string     // of the run that goes on
	scratch string     // of that run: the agent may write there
	kept    []string   // where that run's agent keeps its conversations
	tokens  map[string]approved
	denials int
	ended   bool
}

// End takes away what was granted for the turn; nothing is allowed in it any more.
func (t *Turn) End() {
	t.mu.Lock()
	t.ended = true
	clear(t.tokens)
	t.mu.Unlock()
	t.gate.grants.endTurn(t.number)
}

// Denials counts the calls that were denied.
func (t *Turn) Denials() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.denials
}

var errEnded = errors.New("the turn has ended")
