package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

// ErrInUse means that another process works on the session.
var ErrInUse = errors.New("the session is open in another kitsoki")

// Resume takes a session up again that an earlier process left: its log, its conversation, what was queued and what
// was being typed. An ask that was open when that process was killed has its end in the trace (asker_gone), and is
// asked again, under a new id, as soon as an operator is there; the answer then goes to the agent as the next message,
// because the call that asked is lost. name is an id, the beginning of one, or last. Of spec, the agent, model and
// access stand over what the session had, where they are given.
func (m *Manager) Resume(_ context.Context, name string, spec Spec) (*Session, error) {
	stored, err := trace.Find(m.opt.State, name)
	if err != nil {
		return nil, err
	}
	if trace.Live(stored.Path) {
		return nil, fmt.Errorf("session %s: %w; end it there first", stored.ID, ErrInUse)
	}
	p, err := readPast(stored.Path)
	if err != nil {
		return nil, fmt.Errorf("session %s cannot be taken up again: %w", stored.ID, err)
	}
	dir := filepath.Dir(stored.Path)
	desk, deskErr := readDesk(dir)
	opt, err := m.optionsOf(p, desk, spec)
	if err != nil {
		return nil, fmt.Errorf("session %s cannot be taken up again: %w", stored.ID, err)
	}
	s := newSession(m, stored.ID, opt, dir)
	s.title, s.named = m.titleFor(opt.Title, opt.Dir, s), opt.Title != ""
	replayErr := s.replay(filepath.Join(dir, trace.TranscriptName))
	s.take(p, desk)
	m.mu.Lock()
	m.sessions[s.id] = s
	m.mu.Unlock()
	s.mend(p)
	s.record(trace.SessionOpened{SessionID: s.id, Agent: opt.Command.Name, Dir: opt.Dir, Access: string(opt.Access)})
	s.announce(errors.Join(deskErr, replayErr))
	return s, nil
}

// optionsOf are the options of a session that is taken up again.
func (m *Manager) optionsOf(p past, desk deskFile, spec Spec) (Options, error) {
	first := func(words ...string) string {
		for _, w := range words {
			if w != "" {
				return w
			}
		}
		return ""
	}
	opt := Options{Title: desk.Title, Model: first(spec.Model, desk.Model)}
	if m.opt.Agent == nil {
		return opt, errors.New("this kitsoki opens no sessions")
	}
	var err error
	if opt.Command, err = m.opt.Agent(first(spec.Agent, p.opened.Agent)); err != nil {
		return opt, err
	}
	if opt.Access, err = agent.ParseAccess(first(spec.Access, desk.Access, p.opened.Access, string(m.access()))); err != nil {
		return opt, err
	}
	opt.Dir, err = directory(p.opened.Dir)
	return opt, err
}

// take takes over what the files say.
func (s *Session) take(p past, desk deskFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn, s.costUSD, s.tokens = p.turns, p.costUSD, p.tokens
	if s.conversation == "" { // the transcript did not say
		s.conversation = desk.Conversation
		if s.conversation == "" {
			s.conversation = p.conversation
		}
	}
	s.queue, s.held, s.desk = desk.Queue, len(desk.Queue) > 0, desk.Desk
	clear(s.asks)
	open := map[string]host.QuestionAsked{}
	for _, a := range p.asks {
		open[a.QuestionID] = a
	}
	for _, k := range desk.Asks {
		if _, killed := open[k.ID]; killed || k.Lost {
			delete(open, k.ID)
			k.Lost = true
			s.reopen = append(s.reopen, k)
		}
	}
	for _, a := range p.asks { // those that the desk does not know, by what the trace knows
		if _, left := open[a.QuestionID]; left {
			s.reopen = append(s.reopen, keptOf(a))
		}
	}
}

func keptOf(a host.QuestionAsked) keptAsk {
	k := keptAsk{ID: a.QuestionID, Asker: a.Asker, Lost: true}
	for _, q := range a.Questions {
		out := host.OperatorQuestion{Question: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, l := range q.Labels {
			out.Options = append(out.Options, host.OperatorOption{Label: l})
		}
		k.Questions = append(k.Questions, out)
	}
	return k
}

// announce says what came back.
func (s *Session) announce(err error) {
	if err != nil {
		s.emit(Event{Kind: Notice, Failed: true, Text: askbridge.Safe(fmt.Sprintf("not all of this session came back: %v", err))})
	}
	s.mu.Lock()
	n, queued := len(s.reopen), len(s.queue)
	s.mu.Unlock()
	text := "taken up again"
	if queued > 0 {
		text += fmt.Sprintf("; %d queued, held", queued)
	}
	if n > 0 {
		text += fmt.Sprintf("; %d open when kitsoki ended: asked again, and the answer goes to the agent as the next message", n)
	}
	s.emit(Event{Kind: Notice, Text: text})
}

// askAgain asks what was open when an earlier process ended. It is called when an operator is there.
func (s *Session) askAgain() {
	s.mu.Lock()
	lost := s.reopen
	s.reopen = nil
	s.mu.Unlock()
	for _, k := range lost {
		s.watches.Go(func() { s.askOne(k) })
	}
}

// askOne asks a lost question again and hands the answer over. It ends with the ask, which ends with the session at
// the latest.
func (s *Session) askOne(k keptAsk) {
	sent := make([]host.OperatorQuestion, len(k.Questions))
	for i, q := range k.Questions {
		sent[i] = unsafeQuestion(q) // the switchboard makes it safe again
	}
	ctx := host.WithAskRequest(context.Background(), host.AskRequest{
		Asker: k.Asker, Wait: k.Wait, Reopens: k.ID,
		Opened: func(a host.OpenedAsk) {
			for i, d := range k.Drafts {
				d.Rev = 0
				_ = a.SetDraft(context.Background(), i, d) // an ask that is over already needs none
			}
		},
	})
	answers, err := s.m.board.Ask(ctx, s.id, sent)
	var u *host.Unanswered
	switch {
	case err == nil:
		s.deliverLate(answers)
	case errors.As(err, &u) && (u.Outcome == host.HostClosing || u.Outcome == host.NoOperator):
		s.mu.Lock()
		s.reopen = append(s.reopen, k) // for the next process
		s.mu.Unlock()
		s.touch()
	case errors.As(err, &u) && u.Outcome == host.Declined:
		s.deliverLate(map[string]any{"declined": u.Reason})
	}
}

// deliverLate hands an answer to the agent as the next message: the call that asked is gone.
func (s *Session) deliverLate(answers map[string]any) {
	data, err := json.Marshal(map[string]any{"answers": answers})
	if err != nil {
		return // answers are strings
	}
	text := "You asked the operator with " + agent.AskTool + " before this conversation was interrupted. The answer comes now, " +
		"as a message: " + string(data)
	if reason, declined := answers["declined"].(string); declined {
		text = "You asked the operator with " + agent.AskTool + " before this conversation was interrupted. The operator declined to answer"
		if reason != "" {
			text += ": " + reason
		}
		text += ". Go on without this input where that is safe, and say what you assumed."
	}
	s.emit(Event{Kind: Notice, Text: "the answer goes to the agent as the next message, because the call that asked is lost"})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return
	}
	s.queue = slices.Insert(s.queue, 0, text)
	s.held = false
	if err := s.nextLocked(); err != nil {
		s.emit(Event{Kind: Notice, Failed: true, Text: askbridge.Safe(err.Error())})
	}
	s.emit(Event{Kind: Changed})
}

// unsafeQuestion reads the safe texts of a question back to what the agent sent, as far as that can be done.
func unsafeQuestion(q host.OperatorQuestion) host.OperatorQuestion {
	back := func(s string) string {
		if sent, err := askbridge.Unsafe(s); err == nil {
			return sent
		}
		return strings.ReplaceAll(s, "‹", "<")
	}
	out := host.OperatorQuestion{Question: back(q.Question), Header: back(q.Header), MultiSelect: q.MultiSelect}
	for _, o := range q.Options {
		out.Options = append(out.Options, host.OperatorOption{Label: back(o.Label), Description: back(o.Description), Preview: back(o.Preview)})
	}
	return out
}
