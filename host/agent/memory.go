package agent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

// Recall is an ask, or a part of one, that was answered from memory. Its texts are as the agent and the operator
// wrote them.
type Recall struct {
	QuestionID string
	ToolUseID  string
	Attempt    int // in which the agent asked again, from 2
	Questions  []host.OperatorQuestion
	Answers    []host.Answer // one a question
	Whole      bool          // the operator was not asked at all
}

// memory keeps what the operator answered in the attempts of one verb call, and stands between the bridge and the
// prompter: a question that comes again, letter for letter, in a later attempt is answered from it, once in each.
// Asked again within one attempt, it is the operator's again, whose last word counts.
type memory struct {
	next host.OperatorPrompter
	told func(Recall)

	mu      sync.Mutex // guards all below
	attempt int
	known   map[string]*remembered
}

// remembered is an answer, and the attempt in which it was last given to the agent.
type remembered struct {
	answer host.Answer
	given  int
}

var _ host.OperatorPrompter = (*memory)(nil)

func newMemory(next host.OperatorPrompter, told func(Recall)) *memory {
	return &memory{next: next, told: told, known: map[string]*remembered{}}
}

// begin says which attempt runs from now on.
func (m *memory) begin(attempt int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attempt = attempt
}

// letters are a question as the agent wrote it, options and all.
func letters(q host.OperatorQuestion) string {
	raw, _ := json.Marshal(q) // texts always encode
	return string(raw)
}

// Ask answers from memory what it can, and asks the operator the rest.
func (m *memory) Ask(ctx context.Context, sessionID string, qs []host.OperatorQuestion) (map[string]any, error) {
	b := m.batch(ctx, qs)
	if len(b.rest) < len(qs) {
		m.told(b.recall())
	}
	answers := map[string]any{}
	if len(b.rest) == 0 {
		if b.req.Opened != nil {
			b.req.Opened(&recalled{batch: b, session: sessionID})
		}
	} else {
		var err error
		if answers, err = m.next.Ask(b.asking(ctx), sessionID, b.rest); err != nil {
			return nil, b.unanswered(err)
		}
		answers = maps.Clone(answers)
		m.learn(b, answers)
	}
	for i, a := range b.known {
		if a != nil {
			value, _, _ := host.EncodeAnswers(qs[i:i+1], []host.Answer{*a}) // it went home like this before
			maps.Copy(answers, value)
		}
	}
	return answers, nil
}

// batch splits the questions of an ask into the known ones and the rest.
func (m *memory) batch(ctx context.Context, qs []host.OperatorQuestion) *batch {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &batch{req: host.AskRequestFrom(ctx), attempt: m.attempt, qs: qs, known: make([]*host.Answer, len(qs))}
	for i, q := range qs {
		key := letters(q)
		if k := m.known[key]; k != nil && k.given < m.attempt {
			k.given = m.attempt
			b.known[i] = &k.answer
			continue
		}
		delete(m.known, key)
		b.rest = append(b.rest, q)
	}
	return b
}

// learn remembers what the operator answered. Of a question that was skipped there is nothing to remember.
func (m *memory) learn(b *batch, answers map[string]any) {
	as, ok := b.operators(answers)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, a := range as {
		if !a.Empty() && !a.Skipped {
			m.known[letters(b.rest[i])] = &remembered{answer: a, given: b.attempt}
		}
	}
}

// batch is one ask on its way.
type batch struct {
	req     host.AskRequest
	attempt int
	qs      []host.OperatorQuestion
	known   []*host.Answer          // by index of qs; nil for what the operator is asked
	rest    []host.OperatorQuestion // what the operator is asked

	opened host.OpenedAsk // set before the operator's surfaces see the ask; nil for plain prompters
}

// asking is the context to ask the rest under. The bridge sees the whole ask behind it.
func (b *batch) asking(ctx context.Context) context.Context {
	req := b.req
	req.Opened = func(a host.OpenedAsk) {
		b.opened = a
		if b.req.Opened == nil {
			return
		}
		if len(b.rest) < len(b.qs) {
			a = &partly{OpenedAsk: a, batch: b}
		}
		b.req.Opened(a)
	}
	return host.WithAskRequest(ctx, req)
}

// operators are the operator's answers to the rest, by index.
func (b *batch) operators(answers map[string]any) ([]host.Answer, bool) {
	if b.opened != nil {
		return b.opened.Result()
	}
	as, err := host.ResolveAnswers(b.rest, answers)
	return as, err == nil
}

// whole puts the answers to the rest where their questions are, and the known ones beside them.
func (b *batch) whole(rest []host.Answer) []host.Answer {
	out := make([]host.Answer, len(b.qs))
	for i, a := range b.known {
		switch {
		case a != nil:
			out[i] = *a
		case len(rest) > 0:
			out[i], rest = rest[0], rest[1:]
		}
	}
	return out
}

// unanswered is why the rest has no answer. What had been answered goes home by the place of its question.
func (b *batch) unanswered(err error) error {
	var u *host.Unanswered
	if len(b.rest) == len(b.qs) || !errors.As(err, &u) || u.Outcome != host.Declined {
		return err
	}
	return &host.Unanswered{Outcome: u.Outcome, Reason: u.Reason, Partial: b.whole(u.Partial)}
}

func (b *batch) recall() Recall {
	r := Recall{QuestionID: b.req.ID, ToolUseID: b.req.ToolUseID, Attempt: b.attempt, Whole: len(b.rest) == 0}
	for i, a := range b.known {
		if a != nil {
			r.Questions, r.Answers = append(r.Questions, b.qs[i]), append(r.Answers, *a)
		}
	}
	return r
}

// partly is an ask whose other part was answered from memory.
type partly struct {
	host.OpenedAsk
	batch *batch
}

func (p *partly) Result() ([]host.Answer, bool) {
	rest, ok := p.OpenedAsk.Result()
	if !ok {
		return nil, false
	}
	return p.batch.whole(rest), true
}

// recalled is an ask that nobody sees, because all of it was answered from memory: it is over as it begins.
type recalled struct {
	batch   *batch
	session string
}

var _ host.OpenedAsk = (*recalled)(nil)

func (r *recalled) Info() host.AskInfo {
	return host.AskInfo{ID: r.batch.req.ID, SessionID: r.session, Kind: r.batch.req.Kind, Asker: r.batch.req.Asker, ToolUseID: r.batch.req.ToolUseID}
}

func (r *recalled) Result() ([]host.Answer, bool)                        { return r.batch.whole(nil), true }
func (r *recalled) Answer(context.Context, []host.Answer) error          { return host.ErrResolved }
func (r *recalled) Decline(context.Context, string, []host.Answer) error { return host.ErrResolved }
func (r *recalled) Extend(context.Context, time.Duration) error          { return host.ErrResolved }
func (r *recalled) Touch()                                               {}
func (r *recalled) Draft(int) host.Draft                                 { return host.Draft{} }
func (r *recalled) SetDraft(context.Context, int, host.Draft) error      { return host.ErrResolved }
func (r *recalled) Changed() <-chan struct{}                             { return nil }
func (r *recalled) Identify(host.Asker)                                  {}
func (r *recalled) Delivered(bool)                                       {}
