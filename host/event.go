package host

import (
	"context"
	"time"
)

// Event is one typed record of a session's trace. Its exported fields, with their json tags, are the record.
type Event interface {
	Name() string    // such as "operator.question.asked"
	Session() string // the session whose trace it belongs to
}

// Recorder keeps events. Record is called from several goroutines; an error means that the event is not kept.
type Recorder interface {
	Record(ctx context.Context, e Event) error
}

// NoRecorder keeps nothing.
type NoRecorder struct{}

// Record does nothing.
func (NoRecorder) Record(context.Context, Event) error { return nil }

// QuestionAsked says that an ask was opened. It is recorded before any surface sees the ask.
type QuestionAsked struct {
	QuestionID string           `json:"question_id"`
	SessionID  string           `json:"session_id"`
	ToolUseID  string           `json:"tool_use_id,omitempty"`
	Kind       Kind             `json:"kind"`
	Asker      Asker            `json:"asker"`
	Questions  []TracedQuestion `json:"questions"`
	Deadline   time.Time        `json:"deadline"`
	Reopens    string           `json:"reopens,omitempty"`
}

// TracedQuestion is a question as the trace keeps it: safe texts, headers uncut.
type TracedQuestion struct {
	Question    string   `json:"question"`
	Header      string   `json:"header,omitempty"`
	Labels      []string `json:"labels,omitempty"`
	MultiSelect bool     `json:"multi_select,omitempty"`
}

// TracedAnswer is one answer as the trace keeps it.
type TracedAnswer struct {
	Indexes []int    `json:"indexes"`
	Labels  []string `json:"labels,omitempty"`
	Text    string   `json:"text,omitempty"`
	Note    string   `json:"note,omitempty"`
	Skipped bool     `json:"skipped,omitempty"`
	None    bool     `json:"none,omitempty"` // explicitly none of the rows
}

// QuestionAnswered says that an answer was accepted. It is recorded before the answer leaves for the agent, so
// that an answer is known even when the process dies on the way; QuestionDelivered says whether it arrived.
type QuestionAnswered struct {
	QuestionID string         `json:"question_id"`
	SessionID  string         `json:"session_id"`
	ToolUseID  string         `json:"tool_use_id,omitempty"`
	Answers    []TracedAnswer `json:"answers"`
	Surface    string         `json:"surface"`
	DurationMS int64          `json:"duration_ms"`
	Outcome    Outcome        `json:"outcome"`
}

// QuestionUnanswered says that an ask ended without an answer.
type QuestionUnanswered struct {
	QuestionID string         `json:"question_id"`
	SessionID  string         `json:"session_id"`
	ToolUseID  string         `json:"tool_use_id,omitempty"`
	Partial    []TracedAnswer `json:"partial,omitempty"`
	Surface    string         `json:"surface,omitempty"`
	DurationMS int64          `json:"duration_ms"`
	Outcome    Outcome        `json:"outcome"`
	Reason     string         `json:"reason,omitempty"`
}

// QuestionDelivered says whether an accepted answer was written to the agent: as the result of the call that asked or,
// where that is lost, as a message. Of an ask that was asked again it can be a decline.
type QuestionDelivered struct {
	QuestionID string `json:"question_id"`
	SessionID  string `json:"session_id"`
	Delivered  bool   `json:"delivered"`
}

// QuestionTooLate says that an answer or a decline came after the deadline. It ended nothing; what was typed stays
// with whoever typed it.
type QuestionTooLate struct {
	QuestionID string `json:"question_id"`
	SessionID  string `json:"session_id"`
	Surface    string `json:"surface,omitempty"`
}

func (QuestionAsked) Name() string      { return "operator.question.asked" }
func (QuestionAnswered) Name() string   { return "operator.question.answered" }
func (QuestionUnanswered) Name() string { return "operator.question.unanswered" }
func (QuestionDelivered) Name() string  { return "operator.question.delivered" }
func (QuestionTooLate) Name() string    { return "operator.question.too_late" }

func (e QuestionAsked) Session() string      { return e.SessionID }
func (e QuestionAnswered) Session() string   { return e.SessionID }
func (e QuestionUnanswered) Session() string { return e.SessionID }
func (e QuestionDelivered) Session() string  { return e.SessionID }
func (e QuestionTooLate) Session() string    { return e.SessionID }

func traceQuestions(qs []OperatorQuestion) []TracedQuestion {
	out := make([]TracedQuestion, len(qs))
	for i, q := range qs {
		out[i] = TracedQuestion{Question: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			out[i].Labels = append(out[i].Labels, o.Label)
		}
	}
	return out
}

func traceAnswers(qs []OperatorQuestion, as []Answer) []TracedAnswer {
	var out []TracedAnswer
	for i, a := range as {
		if i >= len(qs) {
			break
		}
		t := TracedAnswer{Indexes: append([]int{}, a.Picked...), Text: a.Text, Note: a.Note, Skipped: a.Skipped, None: a.None}
		for _, p := range a.Picked {
			if p >= 0 && p < len(qs[i].Options) {
				t.Labels = append(t.Labels, qs[i].Options[p].Label)
			}
		}
		out = append(out, t)
	}
	return out
}
