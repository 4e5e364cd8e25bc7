package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/gate"
	"example.com/kitsoki/host/trace"
)

// Session is a local session. It implements Client.
type Session struct {
	m       *Manager
	id      string
	opt     Options
	feed    *feed
	started time.Time

	trace      *trace.File
	transcript *trace.Transcript
	incomplete sync.Once // says once that the trace is
	recall     recall
	gate       *gate.Gate // nil: there is none
	dir        string     // where the session is kept
	keeper     *keeper
	saving     sync.Mutex     // held while the desk is written
	watches    sync.WaitGroup // the goroutines of open asks
	then       time.Time      // the time of what is replayed; zero: it happens now

	mu           sync.Mutex // guards all below
	closing      bool
	turn         int
	running      *turn // nil between turns
	failed       bool  // the last turn
	held         bool
	access       agent.Access // of the next turn
	queue        []string
	conversation string
	model        string
	title        string
	named        bool // by the operator
	branch       string
	costUSD      float64
	tokens       int64
	asks         map[string]host.QuestionAsked // the open ones
	watched      map[string]*watchedAsk        // likewise
	reopen       []keptAsk                     // to be asked again when an operator is there
	lost         int                           // of those, being asked
	sent         map[string]keptAsk            // of the running turn, answered and not yet taken; by id
	owed         []keptAsk                     // what the operator said to lost calls, for the next turn
	wordless     int                           // asks of which nothing can be shown any more
	takenUp      bool                          // from an earlier process, and no operator was there yet
	desk         Desk
}

var _ Client = (*Session)(nil)

// turn is one that is running.
type turn struct {
	number int
	access agent.Access
	gate   *gate.Turn // of the access ask
	alone  bool       // nothing follows it: it was started by Run
	cancel context.CancelCauseFunc
	done   chan struct{}

	carries []keptAsk // what was owed, until the agent works on it; guarded by Session.mu
	held    bool      // the queue stays held after it; likewise

	result Result // once done is closed
	err    error  // likewise
}

func newSession(m *Manager, id string, opt Options, dir string) *Session {
	s := &Session{
		m: m, id: id, opt: opt, access: opt.Access, feed: newFeed(), started: m.opt.Clock.Now(), asks: map[string]host.QuestionAsked{}, dir: dir,
		watched: map[string]*watchedAsk{}, sent: map[string]keptAsk{}, keeper: newKeeper(),
		trace: trace.NewFile(filepath.Join(dir, trace.FileName), m.trace),
	}
	s.transcript = trace.NewTranscript(filepath.Join(dir, trace.TranscriptName), m.trace, func(err error) {
		s.sayIncomplete("the transcript", err)
	})
	s.gate = s.newGate()
	go s.keepDesk()
	return s
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// TracePath is the file that the session's trace is in.
func (s *Session) TracePath() string { return s.trace.Path() }

// Snapshot implements Client.
func (s *Session) Snapshot(context.Context) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := Snapshot{
		ID: s.id, Title: s.title, Agent: s.opt.Command.Name, Model: s.model, Dir: s.opt.Dir, Branch: s.branch, State: s.stateLocked(), Asks: len(s.asks), Turn: s.turn, Queue: slices.Clone(s.queue), Held: s.held && s.running == nil,
		CostUSD: s.costUSD, Tokens: s.tokens, Last: s.feed.newest(), Started: s.started,
		Continue: s.continueLineLocked(),
	}
	snap.Access, snap.Next = s.accessLocked()
	if s.gate != nil && snap.Access == string(agent.Gated) {
		snap.Wall, snap.Grants = wallWords(s.gate.Level()), s.gate.Grants()
	}
	if snap.Model == "" {
		snap.Model = s.opt.Model
	}
	return snap, nil
}

func (s *Session) stateLocked() State {
	switch {
	case s.closing:
		return Closing
	case len(s.asks) > 0: // asks of an earlier process are open without a turn
		return Asking
	case s.running != nil:
		return Working
	case s.failed:
		return Failed
	}
	return Idle
}

// Events implements Client.
func (s *Session) Events(ctx context.Context, after uint64) (Batch, error) {
	return s.feed.read(ctx, after)
}

// Attach implements Client.
func (s *Session) Attach(name string, p host.OperatorPrompter) (func(), error) {
	detach, err := s.attach(name, p)
	if err != nil {
		return nil, err
	}
	if ofGuests(s.id) {
		return detach, nil // it has them already
	}
	dismiss := s.m.guests.receive(s.m.board, name, p) // not under the session's lock
	return func() { detach(); dismiss() }, nil
}

func (s *Session) attach(name string, p host.OperatorPrompter) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, ErrClosed
	}
	release := s.presentLocked()
	detach := s.m.board.Attach(name, p, host.OnlySession(s.id))
	return func() { detach(); release() }, nil
}

// Present declares that an operator can be reached for the session, whose surface is in another process or comes later.
func (s *Session) Present() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.presentLocked()
}

func (s *Session) presentLocked() (release func()) {
	release = s.m.board.Declare(host.OnlySession(s.id))
	if !s.closing && (s.takenUp || len(s.reopen) > 0) {
		s.takenUp = false
		s.watches.Go(s.takeUp)
	}
	return release
}

// StartTurn implements Client.
func (s *Session) StartTurn(_ context.Context, prompt string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return ErrBusy
	}
	return s.sendLocked(prompt)
}

// Queue implements Client.
func (s *Session) Queue(_ context.Context, prompt string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return ErrClosed
	}
	if s.running == nil && len(s.queue) == 0 {
		return s.sendLocked(prompt)
	}
	if _, err := inputOf(prompt); err != nil {
		return err
	}
	s.queue = append(s.queue, prompt)
	s.touch()
	s.emit(Event{Kind: Changed})
	return nil
}

// Unqueue implements Client.
func (s *Session) Unqueue(_ context.Context, n int) (string, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 {
		n = len(s.queue) - 1
	}
	if n < 0 || n >= len(s.queue) {
		return "", false, nil
	}
	prompt := s.queue[n]
	s.queue = slices.Delete(slices.Clone(s.queue), n, n+1)
	s.held = s.held && len(s.queue) > 0
	s.touch()
	s.emit(Event{Kind: Changed})
	return prompt, true, nil
}

// ReleaseQueue implements Client.
func (s *Session) ReleaseQueue(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	return s.nextLocked()
}

// CancelTurn implements Client.
func (s *Session) CancelTurn(context.Context) error {
	s.mu.Lock()
	t := s.running
	s.mu.Unlock()
	if t == nil {
		return ErrNoTurn
	}
	// The asks end first, so that they end as what this is: the agent's own end would make them asker_gone.
	s.m.board.End(host.OnlySession(s.id), host.Unanswered{Outcome: host.Cancelled, Reason: stopReason})
	t.cancel(errStopped)
	return nil
}

// Close implements Client. The order matters: asks end first, so that the agent hears why; then the agent; the
// trace is closed when nothing can happen any more.
func (s *Session) Close(ctx context.Context, why host.Outcome) error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	t := s.running
	s.mu.Unlock()
	if first {
		s.m.board.End(host.OnlySession(s.id), host.Unanswered{Outcome: why, Reason: closeReason(why)})
	}
	if t != nil {
		t.cancel(&host.Unanswered{Outcome: why, Reason: closeReason(why)})
		select {
		case <-t.done:
		case <-ctx.Done():
			return fmt.Errorf("the turn did not end in time: %w", context.Cause(ctx))
		}
	}
	if !first {
		return nil
	}
	s.watches.Wait() // their asks have ended
	s.record(trace.SessionClosed{SessionID: s.id, Reason: string(why)})
	s.touch()
	close(s.keeper.stop)
	<-s.keeper.done
	s.feed.close()
	return errors.Join(s.transcript.Close(), s.trace.Close())
}

func closeReason(why host.Outcome) string {
	if why == host.NoOperator {
		return "the operator's terminal is gone"
	}
	return "the operator closed the session"
}

func checkPrompt(prompt string) error {
	if strings.TrimSpace(prompt) == "" {
		return fmt.Errorf("the prompt is empty; type what the agent should do")
	}
	return nil
}

// record writes an event of our own into the trace. An error was said on the screen.
func (s *Session) record(e host.Event) { _ = s.keep(context.Background(), e) }

// keep writes an event into the trace and, under the same name, into the log; the events of asks go into the
// transcript too. What cannot be kept is said on the screen, once, and the session goes on.
func (s *Session) keep(ctx context.Context, e host.Event) error {
	s.log(ctx, e)
	err := s.trace.Record(ctx, e)
	if strings.HasPrefix(e.Name(), "operator.question.") || strings.HasPrefix(e.Name(), "turn.") {
		err = errors.Join(err, s.transcript.Event(e))
	}
	if err != nil {
		s.sayIncomplete("the trace", err)
	}
	return err
}

func (s *Session) log(ctx context.Context, e host.Event) {
	if !s.m.opt.Log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	data, err := s.m.trace.Data(e)
	if err != nil {
		return // which Record says too
	}
	s.m.opt.Log.InfoContext(ctx, e.Name(), "session", s.id, "data", askbridge.Safe(string(data)))
}

// sayIncomplete says on the screen, the first time, that the session's record has gaps.
func (s *Session) sayIncomplete(what string, err error) {
	s.incomplete.Do(func() {
		s.emit(Event{Kind: Notice, Failed: true, Text: askbridge.Safe(fmt.Sprintf(
			"%s of this session is incomplete, and the session goes on without: %v; look at the disk", what, err))})
	})
}

func (s *Session) emit(e Event) {
	now := s.then
	if now.IsZero() {
		now = s.m.opt.Clock.Now()
	}
	s.feed.add(e, now)
}

func (s *Session) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// Attended reports whether an operator can be reached for the session.
func (s *Session) Attended() bool { return s.m.board.Present(s.id) }
