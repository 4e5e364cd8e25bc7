package control

import (
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
)

// Methods. Those of questions and of work have the names that a web page uses too.
const (
	methodWork        = "runstatus.work.list"
	methodAnswer      = "runstatus.session.answer_question"
	methodDecline     = "runstatus.session.decline"
	methodExtend      = "runstatus.session.extend"
	methodDraft       = "runstatus.session.put_draft"
	methodTouch       = "runstatus.session.touch"
	methodSubscribe   = "runstatus.questions.subscribe"
	methodUnsubscribe = "runstatus.questions.unsubscribe"
	methodList        = "runstatus.questions.list"
	methodQuestions   = "runstatus.questions.event" // a notification

	methodSessions = "runstatus.session.list"
	methodGet      = "runstatus.session.get"
	methodEvents   = "runstatus.session.events"
	methodAttach   = "runstatus.session.attach"
	methodDetach   = "runstatus.session.detach"
	methodTurn     = "runstatus.session.turn"
	methodUnqueue  = "runstatus.session.unqueue"
	methodRelease  = "runstatus.session.release_queue"
	methodPeek     = "runstatus.session.peek"
	methodAccess   = "runstatus.session.set_access"
	methodRevoke   = "runstatus.session.revoke"
	methodRename   = "runstatus.session.rename"
	methodDesk     = "runstatus.session.desk"
	methodSetDesk  = "runstatus.session.set_desk"
	methodCancel   = "runstatus.session.cancel"
	methodClose    = "runstatus.session.close"

	methodInfo = "runstatus.process.info"
	methodStop = "runstatus.process.stop"

	methodGuest          = "runstatus.guest.ask"
	methodGuestNews      = "runstatus.guest.event" // a notification
	methodGuestDelivered = "runstatus.guest.delivered"
)

// Codes of errors, beside those of JSON-RPC. A wrong answer is InvalidParams, with the fields and the expected keys.
const (
	codeUnknown  = 1 // no such session or ask
	codeResolved = 2 // the ask is settled; data says how and by whom
	codeTooLate  = 3 // its time had run out
	codeStale    = 4 // the draft was changed elsewhere
	codeBusy     = 5 // a turn is running
	codeClosed   = 6 // the session is closed
	codeNoTurn   = 7 // no turn is running
	codeFailed   = 8 // whatever else went wrong, in words

	codeNotAnswered = 9  // a guest's ask ended without an answer; data says how
	codeInvalid     = 10 // a guest's question cannot be shown
	codeLimit       = 11 // guests ask too much
)

// Question is one open ask as it goes over the wire. Texts are safe for display.
type Question struct {
	ID        string         `json:"question_id"`
	SessionID string         `json:"session_id"`
	Title     string         `json:"title"` // of the session
	Kind      host.Kind      `json:"kind"`
	Proposal  *host.Proposal `json:"proposal,omitempty"`
	Asker     host.Asker     `json:"asker"`
	ToolUseID string         `json:"tool_use_id,omitempty"`
	Questions []question     `json:"questions"`
	Drafts    []draft        `json:"drafts"`
	Opened    time.Time      `json:"opened"`
	Deadline  time.Time      `json:"deadline"`
	WaitMS    int64          `json:"wait_ms"`
	Reopens   string         `json:"reopens,omitempty"`
	Guest     bool           `json:"guest,omitempty"` // not started by a kitsoki
	PID       int            `json:"pid"`             // of the process that it belongs to
}

// info is the ask as surfaces know it.
func (q Question) info() host.AskInfo {
	return host.AskInfo{
		ID: q.ID, SessionID: q.SessionID, Kind: q.Kind, Proposal: q.Proposal, Asker: q.Asker, ToolUseID: q.ToolUseID, Questions: operatorQuestions(q.Questions),
		Opened: q.Opened, Deadline: q.Deadline, Wait: time.Duration(q.WaitMS) * time.Millisecond, Reopens: q.Reopens,
	}
}

// What a notification of methodQuestions tells.
const (
	opened   = "opened"
	updated  = "updated"
	resolved = "resolved"
	resync   = "resync" // something was left out: subscribe again
)

// questionEvent is one notification. Subscription tells several of one connection apart.
type questionEvent struct {
	Subscription int64        `json:"subscription"`
	What         string       `json:"what"`
	Question     *Question    `json:"question,omitempty"`    // opened and updated
	ID           string       `json:"question_id,omitempty"` // resolved
	Outcome      host.Outcome `json:"outcome,omitempty"`
	Surface      string       `json:"surface,omitempty"`
	Reason       string       `json:"reason,omitempty"`
}

// Row is one piece of work: a question that waits for the operator, a turn that runs, or one that failed.
type Row struct {
	Kind      string     `json:"kind"` // operator_question, running, failed or idle
	SessionID string     `json:"session_id"`
	Title     string     `json:"title"`
	Who       string     `json:"who"` // the agent, and the sub-agents down to the one that asks
	Dir       string     `json:"dir"`
	PID       int        `json:"pid"`
	ID        string     `json:"question_id,omitempty"`
	Ask       host.Kind  `json:"ask_kind,omitempty"`
	Headers   []string   `json:"headers,omitempty"`
	Questions []string   `json:"questions,omitempty"`
	AgeMS     int64      `json:"age_ms"`
	Deadline  *time.Time `json:"deadline,omitempty"`
	Priority  int        `json:"priority"` // the lower, the sooner: what runs out first
	Guest     bool       `json:"guest,omitempty"`
	CostUSD   float64    `json:"cost_usd"`
}

// The kinds of rows.
const (
	RowQuestion = "operator_question"
	RowRunning  = "running"
	RowFailed   = "failed"
	RowIdle     = "idle"
)

// Info is what a process says of itself.
type Info struct {
	PID      int       `json:"pid"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Detached bool      `json:"detached"` // it has no terminal
	Attached int       `json:"attached"` // processes that have a terminal on one of its sessions
	Operator bool      `json:"operator"` // somebody is there who takes the asks of guests
}

// pick is an answer to one question, by index.
type pick struct {
	Picked  []int  `json:"picked,omitempty"`
	Text    string `json:"text,omitempty"`
	Note    string `json:"note,omitempty"`
	Skipped bool   `json:"skipped,omitempty"`
	None    bool   `json:"none,omitempty"`
}

func picks(as []host.Answer) []pick {
	out := make([]pick, len(as))
	for i, a := range as {
		out[i] = pick(a)
	}
	return out
}

func answers(ps []pick) []host.Answer {
	out := make([]host.Answer, len(ps))
	for i, p := range ps {
		out[i] = host.Answer(p)
	}
	return out
}

// batch is session.Batch on its way.
type batch struct {
	Events []session.Event  `json:"events"`
	Resync bool             `json:"resync,omitempty"`
	Snap   session.Snapshot `json:"snapshot"`
}

// question is a host.OperatorQuestion on its way.
type question struct {
	Question    string   `json:"question"`
	Header      string   `json:"header,omitempty"`
	Options     []option `json:"options,omitempty"`
	MultiSelect bool     `json:"multi_select,omitempty"`
}

type option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"`
}

// draft is a host.Draft on its way.
type draft struct {
	pick
	Taken bool `json:"taken,omitempty"`
	Rev   int  `json:"rev"`
}

func wireQuestions(qs []host.OperatorQuestion) []question {
	out := make([]question, len(qs))
	for i, q := range qs {
		out[i] = question{Question: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			out[i].Options = append(out[i].Options, option(o))
		}
	}
	return out
}

func operatorQuestions(qs []question) []host.OperatorQuestion {
	out := make([]host.OperatorQuestion, len(qs))
	for i, q := range qs {
		out[i] = host.OperatorQuestion{Question: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			out[i].Options = append(out[i].Options, host.OperatorOption(o))
		}
	}
	return out
}
