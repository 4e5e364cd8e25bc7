package session

import (
	"context"
	"errors"
	"fmt"
	"os"
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
// because the call that asked is lost. An answer that was given and did not reach the agent goes to it in the same way.
// name is an id, the beginning of one, or last. Of spec, the agent, model and access stand over what the session had,
// where they are given; a directory can only be the session's own.
func (m *Manager) Resume(_ context.Context, name string, spec Spec) (*Session, error) {
	stored, err := trace.Find(m.opt.State, name)
	if err != nil {
		return nil, err
	}
	if ofGuests(stored.ID) {
		return nil, fmt.Errorf("session %s holds the asks of guests, who work elsewhere: there is nothing to take up again; kitsoki trace %s shows it", stored.ID, stored.ID)
	}
	// Opened first: two processes that come at once would both find that nobody writes it.
	file := trace.NewFile(stored.Path, m.trace)
	openErr := file.Open()
	// A trace that was put in place of another, by an editor or from a backup, has lost its lock; the transcript has not.
	if errors.Is(openErr, trace.ErrLocked) || trace.Live(filepath.Join(filepath.Dir(stored.Path), trace.TranscriptName)) {
		return nil, errors.Join(fmt.Errorf("session %s: %w; end it there first", stored.ID, ErrInUse), file.Close())
	}
	s, p, err := m.again(stored, file, spec)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("session %s cannot be taken up again: %w", stored.ID, err), file.Close())
	}
	m.mu.Lock()
	m.sessions[s.id] = s
	m.mu.Unlock()
	s.mend(p)
	s.record(trace.SessionOpened{SessionID: s.id, Agent: s.opt.Command.Name, Dir: s.opt.Dir, Access: string(s.opt.Access)})
	s.announce()
	return s, nil
}

// again puts a session together from what is kept of it. Nobody else knows of it yet.
func (m *Manager) again(stored trace.Stored, file *trace.File, spec Spec) (*Session, past, error) {
	p, err := readPast(stored.Path)
	if err != nil {
		return nil, p, err
	}
	dir := filepath.Dir(stored.Path)
	desk, deskErr := readDesk(dir)
	opt, err := m.optionsOf(p, desk, spec)
	if err != nil {
		return nil, p, err
	}
	if deskErr != nil {
		deskErr = errors.Join(deskErr, setAside(dir))
	}
	s := newSession(m, stored.ID, opt, dir)
	s.trace = file
	s.title, s.named = m.titleFor(opt.Title, opt.Dir, s), opt.Title != ""
	err = s.replay(filepath.Join(dir, trace.TranscriptName))
	s.take(p, desk)
	if err = errors.Join(deskErr, err); err != nil {
		s.emit(Event{Kind: Notice, Failed: true, Text: askbridge.Safe(fmt.Sprintf("not all of this session came back: %v", err))})
	}
	return s, p, nil
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
	if opt.Dir, err = directory(p.opened.Dir); err != nil || spec.Dir == "" {
		return opt, err
	}
	asked, err := directory(spec.Dir)
	if err == nil && !sameDirectory(asked, opt.Dir) {
		err = fmt.Errorf("it works in %s; leave --cwd away, or start a new one there", opt.Dir)
	}
	return opt, err
}

func sameDirectory(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
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
	if before := p.opened.Agent; before != s.opt.Command.Name && s.conversation != "" {
		s.conversation = "" // which the agent does not know
		s.emit(Event{Kind: Notice, Text: askbridge.Safe(fmt.Sprintf(
			"the agent was %s and is %s now, which begins a conversation of its own", before, s.opt.Command.Name))})
	}
	s.queue, s.held, s.desk, s.takenUp = desk.Queue, len(desk.Queue) > 0, desk.Desk, true
	clear(s.asks)
	open := map[string]host.QuestionAsked{}
	for _, a := range p.asks {
		open[a.QuestionID] = a
	}
	for _, k := range desk.Asks {
		_, killed := open[k.ID]
		delete(open, k.ID)
		switch {
		case killed, k.Lost && p.lost(k.ID):
			s.reopenLocked(k)
		case p.ends[k.ID] != host.Answered && p.ends[k.ID] != host.Declined: // it ended, and the desk did not come to say so
			s.desk.Kept = append(slices.Clone(s.desk.Kept), k.unsent()...)
		}
	}
	for _, a := range p.asks { // those that the desk does not know, by what the trace knows
		if _, left := open[a.QuestionID]; left {
			s.reopenLocked(keptOf(a))
		}
	}
	s.oweLocked(p, desk)
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
func (s *Session) announce() {
	s.mu.Lock()
	n, queued, owed, wordless := len(s.reopen), len(s.queue), len(s.owed), s.wordless
	s.mu.Unlock()
	text := "taken up again"
	if queued > 0 {
		text += fmt.Sprintf("; %d queued, held", queued)
	}
	if n > 0 {
		text += fmt.Sprintf("; %d open when kitsoki ended: asked again, and the answer goes to the agent as the next message", n)
	}
	if owed > 0 {
		text += fmt.Sprintf("; %d answered and not taken when kitsoki ended", owed)
	}
	s.emit(Event{Kind: Notice, Text: text})
	if wordless > 0 {
		s.emit(Event{Kind: Notice, Failed: true, Text: fmt.Sprintf(
			"%d open when kitsoki ended, of which no words were kept; send a prompt, and the agent can ask again", wordless)})
	}
}

// takeUp asks what was open when an earlier process ended, and hands over what was answered by then. It is called
// when an operator is there.
func (s *Session) takeUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := s.reopen
	s.reopen = nil
	s.lost += len(lost)
	for _, k := range lost {
		s.watches.Go(func() { s.askOne(k) })
	}
	if err := s.handOverLocked(); err != nil {
		s.emit(Event{Kind: Notice, Failed: true, Text: askbridge.Safe(err.Error())})
	}
}

// askOne asks a lost question again. It ends with the ask, which ends with the session at the latest.
func (s *Session) askOne(k keptAsk) {
	opened, err := s.askAgain(k)
	for u := (*host.Unanswered)(nil); opened != nil && errors.As(err, &u) && u.Outcome == host.Cancelled && u.Reason == stopReason; {
		k.Drafts = make([]host.Draft, len(k.Questions)) // the operator stopped a turn, and this is not of it
		for i := range k.Drafts {
			k.Drafts[i] = opened.Draft(i)
		}
		opened, err = s.askAgain(k)
	}
	var u *host.Unanswered
	known := errors.As(err, &u)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost--
	switch {
	case opened == nil:
		s.reopen = append(s.reopen, k)
		if !known {
			s.emit(Event{Kind: Notice, Failed: true, Text: askbridge.Safe(fmt.Sprintf("what was open could not be asked again: %v", err))})
		}
	case known && (u.Outcome == host.TimedOut || u.Outcome == host.Cancelled):
		s.emit(Event{Kind: Notice, Text: "nobody answered, and the agent waits for nothing: send a prompt to go on"})
	}
	s.touch()
	if s.lost == 0 && len(s.owed) > 0 {
		s.held = false
	}
	if err := s.nextLocked(); err != nil && !s.closing {
		s.emit(Event{Kind: Notice, Failed: true, Text: askbridge.Safe(err.Error())})
	}
	s.emit(Event{Kind: Changed})
}

// askAgain opens a lost ask with its drafts and waits for its end. opened is nil when it was refused.
func (s *Session) askAgain(k keptAsk) (opened host.OpenedAsk, err error) {
	sent := make([]host.OperatorQuestion, len(k.Questions))
	for i, q := range k.Questions {
		sent[i] = unsafeQuestion(q) // the switchboard makes it safe again
	}
	ctx := host.WithAskRequest(context.Background(), host.AskRequest{
		Asker: k.Asker, Wait: k.Wait, Reopens: k.ID,
		Opened: func(a host.OpenedAsk) {
			opened = a
			for i, d := range k.Drafts {
				d.Rev = 0
				_ = a.SetDraft(context.Background(), i, d) // an ask that is over already needs none
			}
		},
	})
	_, err = s.m.board.Ask(ctx, s.id, sent)
	return opened, err
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
