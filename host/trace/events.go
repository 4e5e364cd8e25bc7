package trace

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
}

// AgentStarted says that an agent is dispatched.
type AgentStarted struct {
	SessionID    string `json:"session_id"`
	Turn         int    `json:"turn"`
	Agent        string `json:"agent"`
	Verb         string `json:"verb"`
	Conversation string `json:"conversation,omitempty"` // the one that is continued
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

func (SessionOpened) Name() string { return "session.opened" }
func (SessionClosed) Name() string { return "session.closed" }
func (TurnStarted) Name() string   { return "turn.started" }
func (TurnEnded) Name() string     { return "turn.ended" }
func (AgentStarted) Name() string  { return "agent.started" }
func (AgentEnded) Name() string    { return "agent.ended" }
func (AgentTool) Name() string     { return "agent.tool" }

func (e SessionOpened) Session() string { return e.SessionID }
func (e SessionClosed) Session() string { return e.SessionID }
func (e TurnStarted) Session() string   { return e.SessionID }
func (e TurnEnded) Session() string     { return e.SessionID }
func (e AgentStarted) Session() string  { return e.SessionID }
func (e AgentEnded) Session() string    { return e.SessionID }
func (e AgentTool) Session() string     { return e.SessionID }
