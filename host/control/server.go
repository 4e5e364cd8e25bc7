package control

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// Options of a server.
type Options struct {
	Runtime string // the directory of askbridge.RuntimeDir; the socket is in it
	Manager *session.Manager
	Feed    *Feed
	Version string

	// Detached reports whether the process has no terminal, and Stop ends it in an orderly way; nil: it has one, and cannot be
	// ended from elsewhere.
	Detached func() bool
	Stop     func()

	now func() time.Time // nil: the machine's
}

// Server offers the API of one process.
type Server struct {
	opt     Options
	rpc     *rpc.Server
	path    string
	started time.Time
	subs    atomic.Int64
	guests  guests

	ends sync.WaitGroup // who waits for the end of a connection

	mu       sync.Mutex
	attached map[*rpc.Conn]map[string]*attachment // surfaces of other processes, by connection and session
}

// prefix is how the name of a control socket begins in the runtime directory; the process's id and some letters follow.
const prefix = "control-"

// Serve offers the API on a socket of this process's own. Close it before the manager is closed, so that nobody is
// told of sessions that end.
func Serve(ctx context.Context, opt Options) (*Server, error) {
	if opt.now == nil {
		opt.now = time.Now
	}
	s := &Server{opt: opt, started: opt.now(), attached: map[*rpc.Conn]map[string]*attachment{}}
	opt.Feed.mu.Lock()
	opt.Feed.title = titles(opt.Manager)
	opt.Feed.mu.Unlock()
	s.path = filepath.Join(opt.Runtime, fmt.Sprintf("%s%d-%s.sock", prefix, os.Getpid(), host.NewID()[:6]))
	var err error
	if s.rpc, err = rpc.Listen(ctx, s.path, s.methods(), rpc.Options{}); err != nil {
		return nil, err
	}
	return s, nil
}

// Path is the socket's.
func (s *Server) Path() string { return s.path }

// Close ends every connection and removes the socket.
func (s *Server) Close(ctx context.Context) error {
	err := s.rpc.Close(ctx)
	s.guests.work.Wait() // their connections have ended
	s.ends.Wait()
	s.opt.Feed.close()
	return err
}

func (s *Server) methods() rpc.Methods {
	return rpc.Methods{
		methodInfo:        quick(s.info),
		methodStop:        quick(s.stop),
		methodWork:        quick(s.work),
		methodSubscribe:   s.subscribe,
		methodUnsubscribe: s.unsubscribe,
		methodList:        quick(s.list),

		methodAnswer:  slow(s.answer),
		methodDecline: slow(s.decline),
		methodExtend:  slow(s.extend),
		methodDraft:   slow(s.putDraft),
		methodTouch:   slow(s.touch),

		methodGuest:          s.guestAsk,
		methodGuestDelivered: quick(s.guestDelivered),

		methodSessions: quick(s.sessions),
		methodGet:      slow(s.get),
		methodEvents:   slow(s.events),
		methodAttach:   s.attach,
		methodDetach:   s.detach,
		methodTurn:     slow(s.turn),
		methodUnqueue:  slow(s.unqueue),
		methodRelease:  slow(s.release),
		methodPeek:     slow(s.peek),
		methodAccess:   slow(s.access),
		methodRevoke:   slow(s.revoke),
		methodRename:   slow(s.rename),
		methodDesk:     slow(s.desk),
		methodSetDesk:  slow(s.setDesk),
		methodCancel:   slow(s.cancel),
		methodClose:    slow(s.closeSession),
	}
}

// slow is a method that is done on a goroutine of its own.
func slow(do func(ctx context.Context, raw json.RawMessage) (any, error)) rpc.Handler {
	return func(ctx context.Context, r *rpc.Request) rpc.Work {
		return func() (any, error) { return do(ctx, r.Params) }
	}
}

// quick is one that is done at once, in the order of the requests.
func quick(do func(raw json.RawMessage) (any, error)) rpc.Handler {
	return func(_ context.Context, r *rpc.Request) rpc.Work {
		out, err := do(r.Params)
		return func() (any, error) { return out, err }
	}
}

func (s *Server) info(raw json.RawMessage) (any, error) {
	if err := rpc.Params(raw).Err(); err != nil {
		return nil, err
	}
	return Info{
		PID: os.Getpid(), Version: s.opt.Version, Started: s.started, Detached: s.opt.Detached != nil && s.opt.Detached(),
		Attached: s.Attached(), Operator: s.opt.Manager.GuestsPresent(),
	}, nil
}

func (s *Server) stop(raw json.RawMessage) (any, error) {
	if err := rpc.Params(raw).Err(); err != nil {
		return nil, err
	}
	if s.opt.Stop == nil || (s.opt.Detached != nil && !s.opt.Detached()) {
		return nil, rpc.Errorf(codeFailed, "this kitsoki has a terminal of its own; end it there")
	}
	s.opt.Stop()
	return nil, nil
}

// subscribe answers with what is open, and tells of what follows until the request is cancelled or its connection is
// gone. The answer is the snapshot; the subscription goes on beside it.
func (s *Server) subscribe(_ context.Context, r *rpc.Request) rpc.Work {
	var sessionID string
	var replaces int64
	if err := rpc.Params(r.Params,
		rpc.Field{Name: "session_id", Want: "a string; left out: all", Into: &sessionID},
		rpc.Field{Name: "replaces", Want: "the number of a subscription", Into: &replaces},
	).Err(); err != nil {
		return rpc.Fail(err)
	}
	w := &watcher{id: s.subs.Add(1), conn: r.Conn, gone: make(chan struct{}), send: func(e questionEvent, must bool) error { return r.Conn.Notify(methodQuestions, e, must) }}
	if sessionID != "" {
		w.filter = func(id string) bool { return id == sessionID }
	}
	open, ended, err := s.opt.Feed.subscribe(w, replaces)
	if err != nil {
		return rpc.Fail(err)
	}
	s.ends.Go(func() {
		select {
		case <-r.Conn.Gone():
			s.opt.Feed.unsubscribe(w.conn, w.id)
		case <-w.gone:
		}
	})
	return func() (any, error) {
		return struct {
			Subscription int64       `json:"subscription"`
			Questions    []*Question `json:"questions"`
			Ended        []Ended     `json:"ended,omitempty"` // lately, where one subscription replaces another
		}{w.id, open, ended}, nil
	}
}

// unsubscribe ends a subscription. No notification of it follows the answer.
func (s *Server) unsubscribe(_ context.Context, r *rpc.Request) rpc.Work {
	var id int64
	if err := rpc.Params(r.Params, rpc.Field{Name: "subscription", Want: "the number of a subscription", Into: &id}).Err(); err != nil {
		return rpc.Fail(err)
	}
	s.opt.Feed.unsubscribe(r.Conn, id)
	return nil
}

func (s *Server) work(raw json.RawMessage) (any, error) {
	if err := rpc.Params(raw).Err(); err != nil {
		return nil, err
	}
	return s.rows(), nil
}

// rows are the work of this process: questions first, what runs out soonest at the top.
func (s *Server) rows() []Row {
	now := s.opt.now()
	rows := []Row{}
	snaps := map[string]session.Snapshot{}
	for _, snap := range s.snapshots() {
		snaps[snap.ID] = snap
	}
	for _, q := range s.opt.Feed.questions(nil) {
		snap := snaps[q.SessionID]
		row := q.Row(now)
		row.Dir, row.CostUSD = cmp.Or(row.Dir, snap.Dir), snap.CostUSD
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return a.Deadline.Compare(*b.Deadline) })
	for i := range rows {
		rows[i].Priority = i + 1
	}
	for _, snap := range s.snapshots() {
		if session.IsOfGuests(snap.ID) {
			continue // nothing runs in it
		}
		kind := RowIdle
		switch snap.State {
		case session.Working, session.Asking:
			kind = RowRunning
		case session.Failed:
			kind = RowFailed
		}
		rows = append(rows, Row{
			Kind: kind, SessionID: snap.ID, Title: snap.Title, Who: snap.Agent, Dir: snap.Dir, PID: os.Getpid(),
			AgeMS: now.Sub(snap.Started).Milliseconds(), CostUSD: snap.CostUSD, Priority: len(rows) + 1,
		})
	}
	return rows
}

func who(a host.Asker) string { return strings.Join(append([]string{a.Agent}, a.Path...), " › ") }

func (s *Server) snapshots() []session.Snapshot {
	var out []session.Snapshot
	for _, one := range s.opt.Manager.Sessions() {
		if snap, err := one.Snapshot(context.Background()); err == nil && snap.State != session.Closing {
			out = append(out, snap)
		}
	}
	return out
}

func (s *Server) sessions(raw json.RawMessage) (any, error) {
	if err := rpc.Params(raw).Err(); err != nil {
		return nil, err
	}
	return s.snapshots(), nil
}

func sortByAge(qs []*Question) {
	slices.SortFunc(qs, func(a, b *Question) int { return a.Opened.Compare(b.Opened) })
}
