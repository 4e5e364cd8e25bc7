package host

import (
	"context"
	"fmt"
	"time"
)

// handle is one surface's (or, unnamed, the asking side's) view of an entry.
type handle struct {
	*entry
	surface string
}

var _ OpenedAsk = (*handle)(nil)

func (h *handle) Info() AskInfo {
	h.mu.Lock()
	defer h.mu.Unlock()
	return AskInfo{
		ID: h.id, SessionID: h.session, Kind: h.req.Kind, Proposal: h.req.Proposal, Asker: h.asker, ToolUseID: h.req.ToolUseID,
		Questions: h.questions, Opened: h.opened, Deadline: h.deadline, Wait: h.req.Wait, Reopens: h.req.Reopens,
	}
}

func (h *handle) Answer(_ context.Context, as []Answer) error { return h.answer(h.surface, as) }

func (h *handle) Decline(_ context.Context, reason string, partial []Answer) error {
	return h.decline(h.surface, reason, partial)
}

func (h *handle) Extend(_ context.Context, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("an ask can be given more time, not %s", d)
	}
	return h.extend(d)
}

func (h *handle) Touch() {
	now := h.board.opt.Clock.Now()
	for _, e := range h.board.siblings(h.session) {
		e.active(now)
	}
}

func (h *handle) Draft(question int) Draft {
	h.mu.Lock()
	defer h.mu.Unlock()
	if question < 0 || question >= len(h.drafts) {
		return Draft{}
	}
	d := h.drafts[question]
	d.Picked = append([]int(nil), d.Picked...)
	return d
}

func (h *handle) SetDraft(_ context.Context, question int, d Draft) error {
	if err := h.over(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if question < 0 || question >= len(h.drafts) {
		return fmt.Errorf("the ask has no question %d", question+1)
	}
	if d.Rev != h.drafts[question].Rev {
		return ErrStaleDraft
	}
	d.Picked = append([]int(nil), d.Picked...)
	d.Rev++
	h.drafts[question] = d
	h.changedLocked()
	return nil
}

func (h *handle) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

func (h *handle) Result() ([]Answer, bool) {
	end := h.end.Load()
	if end == nil || end.Outcome != Answered {
		return nil, false
	}
	return cloneAnswers(end.answers), true
}

func (h *handle) Identify(a Asker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asker = safeAsker(a)
	h.changedLocked()
}

func (h *handle) Delivered(ok bool) {
	h.board.record(QuestionDelivered{QuestionID: h.id, SessionID: h.session, Delivered: ok})
}
