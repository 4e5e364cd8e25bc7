package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"time"
)

// Access is what an agent may do to the operator's machine.
type Access string

// The access levels.
const (
	Read  Access = "read" // no tool that changes anything
	Gated Access = "ask"  // everything, but each step that changes something is the operator's to allow
	Edit  Access = "edit" // changes inside the working directory
	Full  Access = "full" // everything the operator may do
)

// Accesses are all of them, the least first.
func Accesses() []Access { return []Access{Read, Gated, Edit, Full} }

// ParseAccess reads an access level as a person gives it.
func ParseAccess(s string) (Access, error) {
	if slices.Contains(Accesses(), Access(s)) {
		return Access(s), nil
	}
	return "", fmt.Errorf("access %q is not known; use read, ask, edit or full", s)
}

// Command is how an agent is started: Path with Args before the flags of the contract, and Env (KEY=value) over
// the inherited environment.
type Command struct {
	Name string // as the screen and the trace call it, such as "claude"
	Path string
	Args []string
	Env  []string

	Inherits bool // it reads the set-up of the Claude Code CLI: settings files, MCP servers, instructions

	Resume []string // what continues a conversation in the agent's own terminal, before its id; nil: nothing does
}

// Request is one dispatch.
type Request struct {
	Verb         Verb
	Prompt       string
	SessionID    string        // the kitsoki session that asks belong to
	Conversation string        // the agent's own id of a conversation to continue; empty starts one
	Model        string        // empty: the agent's default
	Dir          string        // working directory; empty: ours
	Access       Access        // empty: Edit; Ask and Decide never change anything, whatever it says
	Gate         Gate          // of Gated alone, which needs one
	AskWait      time.Duration // how long each ask waits; 0: the switchboard's default

	Effort       string          // one of Efforts; empty: the agent's default
	SystemPrompt string          // appended to the agent's own
	Tools        []string        // the agent's own tools, by name, that it keeps; it gets none that it would not have. nil: all
	BudgetUSD    float64         // what the whole call may cost; 0: no limit
	MaxTurns     int             // how often the whole call may call the model, sub-agents aside; 0: no limit
	Limit        time.Duration   // of the agent's time: it stands still while an ask is open. 0: DefaultLimit, below 0: none
	Schema       json.RawMessage // what the value of Decide has to fit; no other verb has one
	Retries      int             // of Decide, after a value that does not fit; 0: DefaultRetries, below 0: none
}

// Defaults of a Request.
const (
	DefaultLimit   = 30 * time.Minute
	DefaultRetries = 2
)

// Usage counts the tokens of a dispatch, as the agent reports them.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

// Total is every token that went in or came out.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Result is what a dispatch ended with. It is meaningful beside an error too, as far as the agent came. Counts are
// of all attempts together.
type Result struct {
	Text         string // the agent's last words
	Conversation string // to continue with
	Model        string
	CostUSD      float64 // of this call alone, whatever its conversation has cost before
	Usage        Usage
	Turns        int
	Denials      int             // tool calls that the agent was not permitted
	Structured   json.RawMessage // the value of Decide, which fits its schema; nil beside an error
	Files        []string        // that the agent says it changed, in the order of their first change; absolute, as it wrote them
	Attempts     int             // runs of the agent; more than one only of Decide
}

// Failure is a dispatch that did not end well, in one sentence for the operator. Stopped ones have the context's
// cause as their Err.
type Failure struct {
	Sentence string
	Err      error
}

func (f *Failure) Error() string { return f.Sentence }
func (f *Failure) Unwrap() error { return f.Err }

// What a Failure can wrap.
var (
	ErrNotFound = errors.New("the agent is not on this machine")
	ErrBudget   = errors.New("the agent's budget is used up")
	ErrTurns    = errors.New("the agent's turns are used up")
	ErrTime     = errors.New("the agent's time is used up")
	ErrSchema   = errors.New("the agent returned no value that fits the schema")
	ErrRequest  = errors.New("the request cannot be dispatched") // nothing was started

	ErrForgotten = errors.New("the agent does not have the conversation any more")
)

func failf(err error, format string, args ...any) *Failure {
	return &Failure{Sentence: fmt.Sprintf(format, args...), Err: err}
}

// Find reports, with ErrNotFound, an agent that is not on this machine.
func (c Command) Find() error {
	if _, err := exec.LookPath(c.Path); err != nil {
		return fmt.Errorf("%w: there is no program %q on PATH", ErrNotFound, c.Path)
	}
	return nil
}
