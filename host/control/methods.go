package control

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// remote is what a surface of another process is called where it did not say.
const remote = "another process"

// target are the params that name an ask, with who works on it.
type target struct {
	session, question, surface string
	settles                    bool // it is to end the ask
}

func (t *target) fields(more ...rpc.Field) []rpc.Field {
	t.surface = remote
	return append([]rpc.Field{
		{Name: "session_id", Want: "a string", Into: &t.session},
		{Name: "question_id", Want: "a string", Into: &t.question},
		{Name: "surface", Want: "a string, who answers", Into: &t.surface},
	}, more...)
}

// find finds the ask. One of another session is not found: whoever asks for it means something else.
func (s *Server) find(t target) (host.Ask, error) {
	a, ok := s.opt.Manager.Board().Find(t.question, askbridge.Safe(t.surface))
	if end, was := s.opt.Feed.ended(t.question); !ok && was && (t.session == "" || t.session == end.SessionID) {
		if end.Outcome == host.TimedOut && t.settles {
			_ = s.opt.Manager.Record(context.Background(), host.QuestionTooLate{QuestionID: t.question, SessionID: end.SessionID, Surface: askbridge.Safe(t.surface)}) // a session that is closed has no trace
		}
		return nil, askError(nil, &host.Resolution{Outcome: end.Outcome, Surface: end.Surface, Reason: end.Reason})
	}
	if !ok {
		return nil, rpc.Errorf(codeUnknown, "there is no open ask %q", askbridge.Safe(t.question))
	}
	if id := a.Info().SessionID; t.session != "" && id != t.session {
		return nil, rpc.Errorf(codeUnknown, "the ask %q is not one of session %q", askbridge.Safe(t.question), askbridge.Safe(t.session))
	}
	return a, nil
}

// answer settles an ask, by the texts of its questions or by index. What does not fit leaves it open.
func (s *Server) answer(ctx context.Context, raw json.RawMessage) (any, error) {
	t := target{settles: true}
	var byText map[string]any
	var byIndex []pick
	var hash string
	f := rpc.Params(raw, t.fields(
		rpc.Field{Name: "hash", Want: "of a proposal: the beginning of its hash", Into: &hash},
		rpc.Field{Name: "answers", Want: `an object, {"<question>": "<label or own words>"}`, Into: &byText},
		rpc.Field{Name: "picks", Want: "a list with an answer for each question", Into: &byIndex},
	)...)
	if (byText == nil) == (byIndex == nil) && f.Err() == nil {
		f.Add("answers", "expected either answers or picks")
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	a, err := s.find(t)
	if err != nil {
		return nil, err
	}
	as := answers(byIndex)
	if byText != nil {
		if as, err = host.ResolveAnswers(a.Info().Questions, byText); err != nil {
			return nil, askError(a, err)
		}
	}
	if err := allows(a.Info(), as, hash); err != nil {
		return nil, err
	}
	return nil, askError(a, a.Answer(ctx, as))
}

// MinHash is how much of a proposal's hash an allow from elsewhere has to name: whoever names it had the proposal at
// hand, and not another one that took its place.
const MinHash = 12

// allows holds an allow of a proposal to the proposal. A denial needs no hash.
func allows(info host.AskInfo, as []host.Answer, hash string) error {
	if info.Kind != host.KindProposal || len(as) != 1 || len(as[0].Picked) != 1 {
		return nil // and what is no row is refused
	}
	row, rows := as[0].Picked[0], info.Questions[0].Options
	if row < 0 || row >= len(rows) || rows[row].Label == host.Deny {
		return nil
	}
	if len(hash) < MinHash || info.Proposal == nil || !strings.HasPrefix(info.Proposal.Hash, hash) {
		f := &rpc.Faults{}
		f.Add("hash", "expected the first %d characters or more of the hash of this proposal, as it is shown with its whole text", MinHash)
		return f.Err()
	}
	return nil
}

func (s *Server) decline(ctx context.Context, raw json.RawMessage) (any, error) {
	t := target{settles: true}
	var reason string
	var partial []pick
	if err := rpc.Params(raw, t.fields(
		rpc.Field{Name: "reason", Want: "a string", Into: &reason}, rpc.Field{Name: "partial", Want: "a list of answers", Into: &partial},
	)...).Err(); err != nil {
		return nil, err
	}
	a, err := s.find(t)
	if err != nil {
		return nil, err
	}
	return nil, askError(a, a.Decline(ctx, reason, answers(partial)))
}

// longest is how far an ask can be moved at once.
const longest = 24 * time.Hour

func (s *Server) extend(ctx context.Context, raw json.RawMessage) (any, error) {
	var t target
	var seconds float64
	f := rpc.Params(raw, t.fields(rpc.Field{Name: "seconds", Want: "a number above 0", Into: &seconds})...)
	if !(seconds > 0 && seconds <= longest.Seconds()) && f.Err() == nil {
		f.Add("seconds", "expected a number above 0, at most %v", longest.Seconds())
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	a, err := s.find(t)
	if err != nil {
		return nil, err
	}
	return nil, askError(a, a.Extend(ctx, time.Duration(seconds*float64(time.Second))))
}

func (s *Server) putDraft(ctx context.Context, raw json.RawMessage) (any, error) {
	var t target
	var n int
	var d draft
	if err := rpc.Params(raw, t.fields(
		rpc.Field{Name: "index", Want: "the index of a question", Into: &n}, rpc.Field{Name: "draft", Want: "a draft with its rev", Into: &d},
	)...).Err(); err != nil {
		return nil, err
	}
	a, err := s.find(t)
	if err != nil {
		return nil, err
	}
	return nil, askError(a, a.SetDraft(ctx, n, host.Draft{Answer: host.Answer(d.pick), Taken: d.Taken, Rev: d.Rev}))
}

func (s *Server) touch(_ context.Context, raw json.RawMessage) (any, error) {
	var t target
	if err := rpc.Params(raw, t.fields()...).Err(); err != nil {
		return nil, err
	}
	a, err := s.find(t)
	if err != nil {
		return nil, err
	}
	a.Touch()
	return nil, nil
}

// settled is the data of an error about an ask that is over.
type settled struct {
	Outcome host.Outcome `json:"outcome"`
	Surface string       `json:"surface,omitempty"`
	Reason  string       `json:"reason,omitempty"`
}

// invalid is the data of an answer that does not fit: what is wrong, by question, and the keys that are expected.
type invalid struct {
	Fields   map[string]string `json:"fields"`
	Expected []string          `json:"expected"`
}

// askError is an error of an ask with its code.
func askError(a host.Ask, err error) error {
	var fields *host.FieldErrors
	var end *host.Resolution
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fields):
		data := invalid{Fields: map[string]string{}}
		qs := a.Info().Questions
		for _, q := range qs {
			data.Expected = append(data.Expected, q.Question)
		}
		for _, f := range fields.Fields {
			name := "answers"
			if f.Question >= 0 && f.Question < len(qs) {
				name = qs[f.Question].Question
			}
			data.Fields[name] = f.Problem
		}
		return rpc.Errorf(rpc.InvalidParams, "%v", err).With(data)
	case errors.Is(err, host.ErrStaleDraft):
		return rpc.Errorf(codeStale, "%v", err)
	}
	code := codeFailed
	switch {
	case errors.Is(err, host.ErrTooLate):
		code = codeTooLate
	case errors.Is(err, host.ErrResolved):
		code = codeResolved
	}
	out := rpc.Errorf(code, "%v", err)
	if errors.As(err, &end) {
		out = out.With(settled{end.Outcome, surface(end.Surface), end.Reason})
	}
	return out
}

// sessionParams read the params of a method of a session, and find it.
func (s *Server) sessionParams(raw json.RawMessage, more ...rpc.Field) (*session.Session, error) {
	var id string
	if err := rpc.Params(raw, append([]rpc.Field{{Name: "session_id", Want: "a string", Into: &id}}, more...)...).Err(); err != nil {
		return nil, err
	}
	one, ok := s.opt.Manager.Session(id)
	if !ok {
		return nil, rpc.Errorf(codeUnknown, "there is no open session %q", askbridge.Safe(id))
	}
	return one, nil
}

// sessionError is an error of a session with its code.
func sessionError(err error) error {
	if err == nil {
		return nil
	}
	code := codeFailed
	switch {
	case errors.Is(err, session.ErrBusy):
		code = codeBusy
	case errors.Is(err, session.ErrClosed):
		code = codeClosed
	case errors.Is(err, session.ErrNoTurn):
		code = codeNoTurn
	}
	return rpc.Errorf(code, "%s", askbridge.SafeText(err.Error()))
}

func (s *Server) get(ctx context.Context, raw json.RawMessage) (any, error) {
	one, err := s.sessionParams(raw)
	if err != nil {
		return nil, err
	}
	snap, err := one.Snapshot(ctx)
	return snap, sessionError(err)
}

// events waits for events after the given one, as session.Client does; a client asks again and again.
func (s *Server) events(ctx context.Context, raw json.RawMessage) (any, error) {
	var after uint64
	one, err := s.sessionParams(raw, rpc.Field{Name: "after", Want: "the number of an event", Into: &after})
	if err != nil {
		return nil, err
	}
	b, err := one.Events(ctx, after)
	if err != nil {
		return nil, sessionError(err)
	}
	snap, err := one.Snapshot(ctx)
	return batch{Events: elsewhere(b.Events), Resync: b.Resync, Snap: snap}, sessionError(err)
}

func (s *Server) turn(ctx context.Context, raw json.RawMessage) (any, error) {
	var prompt string
	var queue bool
	one, err := s.sessionParams(raw, rpc.Field{Name: "prompt", Want: "a string", Into: &prompt}, rpc.Field{Name: "queue", Want: "true or false", Into: &queue})
	if err != nil {
		return nil, err
	}
	if queue {
		return nil, sessionError(one.Queue(ctx, prompt))
	}
	return nil, sessionError(one.StartTurn(ctx, prompt))
}

// unqueued is a prompt that was taken back.
type unqueued struct {
	Prompt string `json:"prompt"`
	OK     bool   `json:"ok"`
}

func (s *Server) unqueue(ctx context.Context, raw json.RawMessage) (any, error) {
	n := -1
	one, err := s.sessionParams(raw, rpc.Field{Name: "n", Want: "which one, from 0", Into: &n})
	if err != nil {
		return nil, err
	}
	prompt, ok, err := one.Unqueue(ctx, n)
	return unqueued{prompt, ok}, sessionError(err)
}

func (s *Server) release(ctx context.Context, raw json.RawMessage) (any, error) {
	one, err := s.sessionParams(raw)
	if err != nil {
		return nil, err
	}
	return nil, sessionError(one.ReleaseQueue(ctx))
}

// peeked is a peek with what is missing in it.
type peeked struct {
	Peek  session.Peek `json:"peek"`
	Error string       `json:"error,omitempty"`
}

func (s *Server) peek(ctx context.Context, raw json.RawMessage) (any, error) {
	var path []string
	one, err := s.sessionParams(raw, rpc.Field{Name: "path", Want: "a list of sub-agents", Into: &path})
	if err != nil {
		return nil, err
	}
	p, err := one.Peek(ctx, path)
	out := peeked{Peek: p}
	if err != nil {
		out.Error = err.Error()
	}
	return out, nil
}

func (s *Server) access(ctx context.Context, raw json.RawMessage) (any, error) {
	var level string
	one, err := s.sessionParams(raw, rpc.Field{Name: "access", Want: "a level of access", Into: &level})
	if err != nil {
		return nil, err
	}
	return nil, sessionError(one.SetAccess(ctx, level))
}

func (s *Server) revoke(ctx context.Context, raw json.RawMessage) (any, error) {
	var grant string
	one, err := s.sessionParams(raw, rpc.Field{Name: "grant", Want: "the id of a grant", Into: &grant})
	if err != nil {
		return nil, err
	}
	return nil, sessionError(one.Revoke(ctx, grant))
}

func (s *Server) rename(ctx context.Context, raw json.RawMessage) (any, error) {
	var title string
	one, err := s.sessionParams(raw, rpc.Field{Name: "title", Want: "a string", Into: &title})
	if err != nil {
		return nil, err
	}
	return nil, sessionError(one.Rename(ctx, title))
}

func (s *Server) desk(ctx context.Context, raw json.RawMessage) (any, error) {
	one, err := s.sessionParams(raw)
	if err != nil {
		return nil, err
	}
	d, err := one.Desk(ctx)
	return d, sessionError(err)
}

func (s *Server) setDesk(ctx context.Context, raw json.RawMessage) (any, error) {
	var d session.Desk
	one, err := s.sessionParams(raw, rpc.Field{Name: "desk", Want: "a desk", Into: &d})
	if err != nil {
		return nil, err
	}
	return nil, sessionError(one.SetDesk(ctx, d))
}

func (s *Server) cancel(ctx context.Context, raw json.RawMessage) (any, error) {
	one, err := s.sessionParams(raw)
	if err != nil {
		return nil, err
	}
	return nil, sessionError(one.CancelTurn(ctx))
}

// sessionEndsWithin bounds the end of a session: its agent may be deaf.
const sessionEndsWithin = 8 * time.Second

func (s *Server) closeSession(ctx context.Context, raw json.RawMessage) (any, error) {
	var why string
	one, err := s.sessionParams(raw, rpc.Field{Name: "why", Want: "host_closing or no_operator", Into: &why})
	if err != nil {
		return nil, err
	}
	outcome := host.HostClosing
	if host.Outcome(why) == host.NoOperator {
		outcome = host.NoOperator
	}
	// A process that ends with its last session cancels what is in hand, and a session that is half closed is not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sessionEndsWithin)
	defer cancel()
	return nil, sessionError(one.Close(ctx, outcome))
}
