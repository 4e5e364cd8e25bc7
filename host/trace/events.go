package trace

import (
	"encoding/json"
	"time"
)

// Guests is what the agent of a session is called that holds the asks of guests: it has no turns, and no agent.
const Guests = "guests"

// SessionOpened and SessionClosed are the first and last event of a session in one process.
type SessionOpened struct {
	SessionID string `json:"session_id"`
	Agent     string `json:"agent"`
	Dir       string `json:"dir"`
	Access    string `json:"access"`
}

// SessionClosed ends what SessionOpened began.
type SessionClosed struct {
	SessionID string `json:"session_id"`
	Reason    string `json:"reason,omitempty"`
}

// TurnStarted says that an input is being worked off. Operator tells whether one could be asked.
type TurnStarted struct {
	SessionID string `json:"session_id"`
	Turn      int    `json:"turn"`
	Verb      string `json:"verb,omitempty"`
	Access    string `json:"access,omitempty"`
	Prompt    string `json:"prompt"`
	Operator  bool   `json:"operator"`
}

// TurnEnded ends what TurnStarted began, with what the turn cost.
type TurnEnded struct {
	SessionID  string  `json:"session_id"`
	Turn       int     `json:"turn"`
	Outcome    string  `json:"outcome"` // done, failed or stopped
	Error      string  `json:"error,omitempty"`
	CostUSD    float64 `json:"cost_usd"`
	Tokens     int64   `json:"tokens"`
	DurationMS int64   `json:"duration_ms"`

	Value json.RawMessage `json:"value,omitempty"` // of a decide
	Files []ChangedFile   `json:"files,omitempty"` // what a task changed in its directory

	Denials int `json:"denials,omitempty"` // calls of tools that were not permitted
}

// ChangedFile is a file that a turn changed, with the lines that were added and deleted; both are 0 where they were
// not counted.
type ChangedFile struct {
	Path    string `json:"path"` // from the session's directory
	Added   int    `json:"added"`
	Deleted int    `json:"deleted"`
}

// AccessChanged says that the operator changed what the agent may do, from the next turn on.
type AccessChanged struct {
	SessionID string `json:"session_id"`
	Access    string `json:"access"`
	Was       string `json:"was"`
}

// AgentStarted says that an agent is dispatched. Argv is how, without what it was told; see [Argv].
type AgentStarted struct {
	SessionID    string   `json:"session_id"`
	Turn         int      `json:"turn"`
	Agent        string   `json:"agent"`
	Verb         string   `json:"verb"`
	Conversation string   `json:"conversation,omitempty"` // the one that is continued
	Argv         []string `json:"argv,omitempty"`
}

// AgentEnded ends what AgentStarted began.
type AgentEnded struct {
	SessionID    string `json:"session_id"`
	Turn         int    `json:"turn"`
	Agent        string `json:"agent"`
	Conversation string `json:"conversation,omitempty"`
	Outcome      string `json:"outcome"`
}

// AgentTool is one call of a tool by the agent.
type AgentTool struct {
	SessionID string `json:"session_id"`
	Turn      int    `json:"turn"`
	ToolUseID string `json:"tool_use_id"`
	Parent    string `json:"parent_tool_use_id,omitempty"`
	Tool      string `json:"tool"`
}

// AskNormalised says what had to be mended in the arguments of an ask before it could be shown. It comes before
// the ask's operator.question.asked, or alone when the ask is refused on arrival.
type AskNormalised struct {
	SessionID  string `json:"session_id"`
	Turn       int    `json:"turn"`
	QuestionID string `json:"question_id"`
	Notes      []Note `json:"notes"`
}

// Note is one thing that was mended.
type Note struct {
	Where string `json:"where"` // such as questions[0].options
	Text  string `json:"text"`
}

// AskRecalled says that questions of an ask, letter for letter those of an earlier attempt of the same call, were
// answered from memory. Whole tells whether these were all of it; then the operator was not asked.
type AskRecalled struct {
	SessionID  string   `json:"session_id"`
	Turn       int      `json:"turn"`
	QuestionID string   `json:"question_id"`
	ToolUseID  string   `json:"tool_use_id,omitempty"`
	Attempt    int      `json:"attempt"`
	Whole      bool     `json:"whole"`
	Questions  []string `json:"questions"`
}

// AskRefused says that the ask socket turned a connection away: a stranger's, or one that made no sense. PID and
// UID are the peer's, as far as the kernel knew them.
type AskRefused struct {
	SessionID string `json:"session_id"`
	Turn      int    `json:"turn"`
	Reason    string `json:"reason"`
	PID       int    `json:"pid,omitempty"`
	UID       int    `json:"uid"`
}

// Repaired says that the file ended in the middle of a line, because the process that wrote it was killed or the
// machine lost power, and how many bytes of it were cut.
type Repaired struct {
	SessionID string `json:"session_id"`
	Bytes     int64  `json:"bytes"`
}

// Gap says that events are missing from the trace at this place, because they could not be written.
type Gap struct {
	SessionID string    `json:"session_id"`
	Lost      uint64    `json:"lost"`
	Since     time.Time `json:"since"` // the first of them
	Error     string    `json:"error"` // why that one could not be written
}

func (SessionOpened) Name() string { return "session.opened" }
func (SessionClosed) Name() string { return "session.closed" }
func (AccessChanged) Name() string { return "session.access" }
func (TurnStarted) Name() string   { return "turn.started" }
func (TurnEnded) Name() string     { return "turn.ended" }
func (AgentStarted) Name() string  { return "agent.started" }
func (AgentEnded) Name() string    { return "agent.ended" }
func (AgentTool) Name() string     { return "agent.tool" }
func (AskNormalised) Name() string { return "ask.normalised" }
func (AskRecalled) Name() string   { return "ask.recalled" }
func (AskRefused) Name() string    { return "ask.refused" }
func (Repaired) Name() string      { return "trace.repaired" }
func (Gap) Name() string           { return "trace.gap" }

func (e SessionOpened) Session() string { return e.SessionID }
func (e SessionClosed) Session() string { return e.SessionID }
func (e AccessChanged) Session() string { return e.SessionID }
func (e TurnStarted) Session() string   { return e.SessionID }
func (e TurnEnded) Session() string     { return e.SessionID }
func (e AgentStarted) Session() string  { return e.SessionID }
func (e AgentEnded) Session() string    { return e.SessionID }
func (e AgentTool) Session() string     { return e.SessionID }
func (e AskNormalised) Session() string { return e.SessionID }
func (e AskRecalled) Session() string   { return e.SessionID }
func (e AskRefused) Session() string    { return e.SessionID }
func (e Repaired) Session() string      { return e.SessionID }
func (e Gap) Session() string           { return e.SessionID }
