package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Verb is one of the four ways a turn dispatches an agent.
type Verb string

// The verbs.
const (
	Ask      Verb = "ask"      // reads and answers in prose
	Decide   Verb = "decide"   // returns a value that fits a JSON schema
	Task     Verb = "task"     // may change files
	Converse Verb = "converse" // continues a conversation
)

// Access is what an agent may do to the operator's machine.
type Access string

// The access levels.
const (
	Read Access = "read" // no tool that changes anything
	Edit Access = "edit" // changes inside the working directory
	Full Access = "full" // everything the operator may do
)

// ParseAccess reads an access level as a person gives it.
func ParseAccess(s string) (Access, error) {
	switch a := Access(s); a {
	case Read, Edit, Full:
		return a, nil
	}
	return "", fmt.Errorf("access %q is not known; use read, edit or full", s)
}

// Command is how an agent is started: Path with Args before the flags of the contract, and Env (KEY=value) over
// the inherited environment.
type Command struct {
	Name string // as the screen and the trace call it, such as "claude"
	Path string
	Args []string
	Env  []string

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
	Access       Access        // empty: Edit
	AskWait      time.Duration // how long each ask waits; 0: the switchboard's default
}

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

// Result is what a dispatch ended with. It is meaningful beside an error too, as far as the agent came.
type Result struct {
	Text         string // the agent's last words
	Conversation string // to continue with
	Model        string
	CostUSD      float64
	Usage        Usage
	Turns        int
	Denials      int             // tool calls that the agent was not permitted
	Structured   json.RawMessage // the value of a run with a schema
}

// Failure is a dispatch that did not end well, in one sentence for the operator. Stopped ones have the context's
// cause as their Err.
type Failure struct {
	Sentence string
	Err      error
}

func (f *Failure) Error() string { return f.Sentence }
func (f *Failure) Unwrap() error { return f.Err }

// ErrNotFound means that the agent's program is not on this machine.
var ErrNotFound = errors.New("the agent is not on this machine")

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
