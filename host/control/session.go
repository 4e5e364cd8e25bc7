package control

import (
	"context"
	"errors"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
)

// closeWithin bounds what has to be said to a process that may hang.
const closeWithin = 5 * time.Second

// Session is a session of another process as a session.Client. Closing it closes it there.
func (c *Client) Session(id string) session.Client { return &remoteSession{c: c, id: id} }

// PID is the process that the session belongs to, and Gone is closed when the connection to it is.
func (s *remoteSession) PID() int              { return s.c.PID() }
func (s *remoteSession) Gone() <-chan struct{} { return s.c.Gone() }

type remoteSession struct {
	c  *Client
	id string
}

var _ session.Client = (*remoteSession)(nil)

// sessionParams are those of a method of a session.
type sessionParams struct {
	Session string        `json:"session_id"`
	After   *uint64       `json:"after,omitempty"`
	Prompt  *string       `json:"prompt,omitempty"`
	Queue   bool          `json:"queue,omitempty"`
	N       *int          `json:"n,omitempty"`
	Path    []string      `json:"path,omitempty"`
	Access  *string       `json:"access,omitempty"`
	Grant   *string       `json:"grant,omitempty"`
	Title   *string       `json:"title,omitempty"`
	Desk    *session.Desk `json:"desk,omitempty"`
	Why     host.Outcome  `json:"why,omitempty"`
}

func (s *remoteSession) call(ctx context.Context, method string, p sessionParams, result any) error {
	p.Session = s.id
	err := s.c.call(ctx, method, p, result)
	if errors.Is(err, ErrNoProcess) {
		return session.ErrClosed
	}
	select {
	case <-s.c.Gone():
		if err != nil {
			return session.ErrClosed
		}
	default:
	}
	return err
}

// Snapshot implements session.Client.
func (s *remoteSession) Snapshot(ctx context.Context) (session.Snapshot, error) {
	var snap session.Snapshot
	return snap, s.call(ctx, methodGet, sessionParams{}, &snap)
}

// Events implements session.Client.
func (s *remoteSession) Events(ctx context.Context, after uint64) (session.Batch, error) {
	var b batch
	err := s.call(ctx, methodEvents, sessionParams{After: &after}, &b)
	return session.Batch{Events: b.Events, Resync: b.Resync}, err
}

// Attach implements session.Client: presence there, and its asks here.
func (s *remoteSession) Attach(name string, p host.OperatorPrompter) (func(), error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err := s.call(ctx, methodAttach, sessionParams{}, nil); err != nil {
		return nil, err
	}
	watch, err := s.c.Watch(ctx, s.id, name, func(ctx context.Context, a host.Ask, _ Question) { show(ctx, s.id, p, a) })
	if err != nil {
		return nil, errors.Join(err, s.detach())
	}
	return func() {
		watch.Close()
		_ = s.detach() // a connection that is gone has detached
	}, nil
}

func (s *remoteSession) detach() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return s.call(ctx, methodDetach, sessionParams{}, nil)
}

// show lets a prompter work on an ask. What one that does not use the handle returns is its answer.
func show(ctx context.Context, sessionID string, p host.OperatorPrompter, a host.Ask) {
	given, err := p.Ask(ctx, sessionID, a.Info().Questions)
	if ctx.Err() != nil {
		return // it is over
	}
	var u *host.Unanswered
	switch {
	case err == nil:
		if as, err := host.ResolveAnswers(a.Info().Questions, given); err == nil {
			_ = a.Answer(ctx, as) // who came first has won
		}
	case errors.As(err, &u) && u.Outcome == host.Declined:
		_ = a.Decline(ctx, u.Reason, u.Partial) // likewise
	}
}

// StartTurn implements session.Client.
func (s *remoteSession) StartTurn(ctx context.Context, prompt string) error {
	return s.call(ctx, methodTurn, sessionParams{Prompt: &prompt}, nil)
}

// Queue implements session.Client.
func (s *remoteSession) Queue(ctx context.Context, prompt string) error {
	return s.call(ctx, methodTurn, sessionParams{Prompt: &prompt, Queue: true}, nil)
}

// Unqueue implements session.Client.
func (s *remoteSession) Unqueue(ctx context.Context, n int) (string, bool, error) {
	var got unqueued
	err := s.call(ctx, methodUnqueue, sessionParams{N: &n}, &got)
	return got.Prompt, got.OK, err
}

// ReleaseQueue implements session.Client.
func (s *remoteSession) ReleaseQueue(ctx context.Context) error {
	return s.call(ctx, methodRelease, sessionParams{}, nil)
}

// Peek implements session.Client.
func (s *remoteSession) Peek(ctx context.Context, path []string) (session.Peek, error) {
	var got peeked
	if err := s.call(ctx, methodPeek, sessionParams{Path: path}, &got); err != nil {
		return session.Peek{}, err
	}
	switch got.Error {
	case "":
	case session.ErrNoRepository.Error():
		return got.Peek, session.ErrNoRepository
	default:
		return got.Peek, errors.New(got.Error)
	}
	return got.Peek, nil
}

// SetAccess implements session.Client.
func (s *remoteSession) SetAccess(ctx context.Context, level string) error {
	return s.call(ctx, methodAccess, sessionParams{Access: &level}, nil)
}

// Revoke implements session.Client.
func (s *remoteSession) Revoke(ctx context.Context, grant string) error {
	return s.call(ctx, methodRevoke, sessionParams{Grant: &grant}, nil)
}

// Rename implements session.Client.
func (s *remoteSession) Rename(ctx context.Context, title string) error {
	return s.call(ctx, methodRename, sessionParams{Title: &title}, nil)
}

// Desk implements session.Client.
func (s *remoteSession) Desk(ctx context.Context) (session.Desk, error) {
	var d session.Desk
	return d, s.call(ctx, methodDesk, sessionParams{}, &d)
}

// SetDesk implements session.Client.
func (s *remoteSession) SetDesk(ctx context.Context, d session.Desk) error {
	return s.call(ctx, methodSetDesk, sessionParams{Desk: &d}, nil)
}

// CancelTurn implements session.Client.
func (s *remoteSession) CancelTurn(ctx context.Context) error {
	return s.call(ctx, methodCancel, sessionParams{}, nil)
}

// Close implements session.Client.
func (s *remoteSession) Close(ctx context.Context, why host.Outcome) error {
	return s.call(ctx, methodClose, sessionParams{Why: why}, nil)
}
