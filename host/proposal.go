package host

import "example.com/kitsoki/askbridge"

// Effect is what an action does beyond reading.
type Effect string

// The effects, the least first.
const (
	EffectRead     Effect = "read"
	EffectWrite    Effect = "write"    // changes something on this machine
	EffectExternal Effect = "external" // leaves this machine, or could
)

// Scope is how far an operator's yes reaches.
type Scope string

// The scopes of a grant.
const (
	ScopeAction  Scope = "action"  // this action alone
	ScopeTurn    Scope = "turn"    // actions of the same effect until the turn ends
	ScopeSession Scope = "session" // actions of the same effect until the session ends
)

// Deny is the row of a proposal that refuses.
const Deny = "deny"

// Proposal is an action of an agent that waits for the operator's yes. The write-mode gate alone makes one, from the
// tool's real input; what an agent asks is always a question. It has one question, whose rows are scopes and Deny, in
// that order, and is answered by one of them and nothing else.
type Proposal struct {
	Tool   string `json:"tool"` // as the agent calls it
	Effect Effect `json:"effect"`
	Title  string `json:"title"`  // what would happen, in a few words
	Text   string `json:"text"`   // what would happen, whole: a command, or the change of a file as a diff
	Diff   bool   `json:"diff"`   // Text is one
	Dir    string `json:"dir"`    // where
	Reason string `json:"reason"` // why it is not simply done
	Held   string `json:"held"`   // what holds the agent to the answer, in a sentence
	Hash   string `json:"hash"`   // of tool, input and directory, hexadecimal: what is allowed is this and nothing else
}

// safe is the proposal with texts that can be shown. Safe text is injective, so what is shown can be read back to what
// would run.
func (p *Proposal) safe() *Proposal {
	if p == nil {
		return nil
	}
	return &Proposal{
		Tool: askbridge.Safe(p.Tool), Effect: p.Effect, Title: askbridge.Safe(p.Title), Text: askbridge.SafeText(p.Text), Diff: p.Diff,
		Dir: askbridge.Safe(p.Dir), Reason: askbridge.Safe(p.Reason), Held: askbridge.Safe(p.Held), Hash: p.Hash,
	}
}

// onlyRows says that a proposal is answered by exactly one of its rows: words allow nothing.
func onlyRows(as []Answer) error {
	errs := &FieldErrors{}
	if len(as) != 1 || len(as[0].Picked) != 1 || as[0].Text != "" || as[0].Skipped || as[0].None {
		errs.add(0, "a proposal is answered by one of its rows; decline it to say more")
	}
	return errs.orNil()
}

// WriteModeGranted is a verdict of the write-mode gate about one action of an agent: that the operator allowed it, that
// an earlier yes covered it, or that it was denied.
type WriteModeGranted struct {
	SessionID string `json:"session_id"`
	Turn      int    `json:"turn"`
	ToolUseID string `json:"tool_use_id,omitempty"`
	State     string `json:"state"`  // the room; the built-in one is "main"
	Action    string `json:"action"` // the proposal's title
	Effect    Effect `json:"effect"`
	Scope     Scope  `json:"scope,omitempty"` // of what was granted
	By        string `json:"by"`              // the surface, or what decided without asking
	Granted   bool   `json:"granted"`
	Reason    string `json:"reason,omitempty"` // of a denial
	Hash      string `json:"hash"`
	Question  string `json:"question_id,omitempty"`
}

// Name is the event's.
func (WriteModeGranted) Name() string { return "machine.write_mode_granted" }

// Session is whose gate it was.
func (e WriteModeGranted) Session() string { return e.SessionID }
