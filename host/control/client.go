package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// ErrNoProcess means that no running kitsoki has what was asked for.
var ErrNoProcess = errors.New("no running kitsoki has it")

// Client is a connection to one running kitsoki. It is safe for concurrent use. Close it.
type Client struct {
	conn *rpc.Conn
	path string
	pid  int

	lost sync.WaitGroup // who waits for the end of the connection

	mu    sync.Mutex // guards all below
	subs  map[int64]*Watch
	early map[int64][]questionEvent // of subscriptions whose answer is still on its way
	past  map[int64]bool            // subscriptions that were closed here

	deadlines map[string]func(time.Time) // of asks of guests, by id
}

// Find returns the sockets of all running kitsoki of this user. Among them can be one that a killed process left; the
// next one that starts removes it.
func Find(runtime string) ([]string, error) {
	entries, err := os.ReadDir(runtime)
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return bound(a).Compare(bound(b)) })
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && strings.HasSuffix(e.Name(), ".sock") {
			out = append(out, filepath.Join(runtime, e.Name()))
		}
	}
	return out, nil
}

// bound is when a socket was made; the zero time when it is gone by now.
func bound(e os.DirEntry) time.Time {
	info, err := e.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// All connects to every running kitsoki but this process. One that goes away meanwhile is left out.
func All(ctx context.Context, runtime string) ([]*Client, error) {
	paths, err := Find(runtime)
	if err != nil {
		return nil, err
	}
	var out []*Client
	for _, path := range paths {
		if pidOf(path) == os.Getpid() {
			continue
		}
		c, err := Dial(ctx, path)
		if err != nil {
			sweep(path)
			continue
		}
		out = append(out, c)
	}
	return out, nil
}

// Sweep removes the sockets that killed processes left.
func Sweep(runtime string) error {
	paths, err := Find(runtime)
	for _, path := range paths {
		sweep(path)
	}
	return err
}

// sweep removes what a killed process left, and nothing of one that lives.
func sweep(path string) {
	pid := pidOf(path)
	if pid <= 0 {
		return
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); errors.Is(err, os.ErrNotExist) {
		_ = os.Remove(path)
		_ = os.Remove(path + ".lock")
	}
}

// pidOf is the process that a socket belongs to, by its name.
func pidOf(path string) int {
	name, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "-")
	pid, _ := strconv.Atoi(name)
	return pid
}

func newClient(path string) *Client {
	return &Client{path: path, pid: pidOf(path), subs: map[int64]*Watch{}, early: map[int64][]questionEvent{}, past: map[int64]bool{}, deadlines: map[string]func(time.Time){}}
}

func (c *Client) methods() rpc.Methods {
	return rpc.Methods{methodQuestions: c.questionEvent, methodGuestNews: c.guestNews}
}

// Dial connects to one.
func Dial(ctx context.Context, path string) (*Client, error) {
	c := newClient(path)
	conn, err := rpc.Dial(ctx, path, c.methods())
	if err != nil {
		return nil, err
	}
	c.start(conn)
	return c, nil
}

// start lets the client's watches go when its connection ends.
func (c *Client) start(conn *rpc.Conn) {
	c.conn = conn
	c.lost.Go(func() {
		<-conn.Gone()
		c.mu.Lock()
		watches := slices.Collect(maps.Values(c.subs))
		c.mu.Unlock()
		for _, w := range watches {
			w.lose()
		}
	})
}

// Path is the socket's; of a process of another machine, its name there.
func (c *Client) Path() string { return c.path }

// PID is the process at the other end.
func (c *Client) PID() int { return c.pid }

// Gone is closed when the other end is.
func (c *Client) Gone() <-chan struct{} { return c.conn.Gone() }

// Close ends the connection, and with it every attachment and subscription.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err := c.conn.Close(ctx)
	c.lost.Wait()
	return err
}

func (c *Client) call(ctx context.Context, method string, params, result any) error {
	return translate(c.conn.Call(ctx, method, params, result))
}

// translate gives an error of the other end the meaning that it has at home.
func translate(err error) error {
	var e *rpc.Error
	switch {
	case errors.Is(err, rpc.ErrGone):
		return host.ErrLost
	case !errors.As(err, &e):
		return err
	}
	known := map[int]error{
		codeStale: host.ErrStaleDraft, codeBusy: session.ErrBusy, codeClosed: session.ErrClosed, codeNoTurn: session.ErrNoTurn,
		codeUnknown: ErrNoProcess,
	}[e.Code]
	switch {
	case e.Code == codeResolved || e.Code == codeTooLate:
		var end settled
		_ = json.Unmarshal(e.Data, &end) // what is missing is unknown
		if e.Code == codeTooLate {
			end.Outcome = host.TimedOut
		}
		return &host.Resolution{Outcome: end.Outcome, Surface: end.Surface, Reason: end.Reason}
	case known != nil:
		return &remoteError{words: e.Message, is: known}
	}
	return e
}

// remoteError is an error in the other end's words.
type remoteError struct {
	words string
	is    error
}

func (e *remoteError) Error() string { return e.words }
func (e *remoteError) Unwrap() error { return e.is }

// Info is what the other end says of itself.
func (c *Client) Info(ctx context.Context) (Info, error) {
	var info Info
	return info, c.call(ctx, methodInfo, nil, &info)
}

// Stop ends the other process in an orderly way, if it has no terminal of its own.
func (c *Client) Stop(ctx context.Context) error { return c.call(ctx, methodStop, nil, nil) }

// Work lists what goes on there: open questions first.
func (c *Client) Work(ctx context.Context) ([]Row, error) {
	var rows []Row
	return rows, c.call(ctx, methodWork, nil, &rows)
}

// Sessions lists the open sessions.
func (c *Client) Sessions(ctx context.Context) ([]session.Snapshot, error) {
	var snaps []session.Snapshot
	return snaps, c.call(ctx, methodSessions, nil, &snaps)
}

// askParams name an ask.
type askParams struct {
	Session  string `json:"session_id"`
	Question string `json:"question_id"`
	Surface  string `json:"surface,omitempty"`

	Hash    string         `json:"hash,omitempty"` // of a proposal
	Answers map[string]any `json:"answers,omitempty"`
	Picks   []pick         `json:"picks,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Partial []pick         `json:"partial,omitempty"`
	Seconds float64        `json:"seconds,omitempty"`
	Index   int            `json:"index,omitempty"`
	Draft   *draft         `json:"draft,omitempty"`
}

// Watch is a subscription to asks: those that are open, and those that come.
type Watch struct {
	c       *Client
	id      int64
	session string
	surface string
	show    func(ctx context.Context, a host.Ask, q Question)

	mu    sync.Mutex // guards all below
	asks  map[string]*remoteAsk
	shown sync.WaitGroup
	syncs sync.WaitGroup
	over  bool
}

// Watch calls show, on a goroutine of its own, for each ask that is open or opens, with a handle to work on it; ctx ends
// when the ask is settled, with the *host.Resolution as its cause, or when the connection is lost. session narrows it to
// one; empty: all. surface is what the others are told who answered.
func (c *Client) Watch(ctx context.Context, sessionID, surface string, show func(ctx context.Context, a host.Ask, q Question)) (*Watch, error) {
	w := &Watch{c: c, session: sessionID, surface: surface, show: show, asks: map[string]*remoteAsk{}}
	return w, c.subscribe(ctx, w)
}

func (c *Client) subscribe(ctx context.Context, w *Watch) error {
	var got struct {
		Subscription int64      `json:"subscription"`
		Questions    []Question `json:"questions"`
		Ended        []Ended    `json:"ended"`
	}
	params := struct {
		Session  string `json:"session_id,omitempty"`
		Replaces int64  `json:"replaces,omitempty"`
	}{w.session, w.subscription()}
	if err := c.call(ctx, methodSubscribe, params, &got); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.mu.Lock()
	delete(c.subs, w.id) // nothing of it comes after the answer
	w.id = got.Subscription
	c.subs[w.id] = w
	early := c.early[w.id]
	delete(c.early, w.id)
	c.mu.Unlock()
	w.snapshotLocked(got.Questions, got.Ended)
	for _, e := range early {
		w.takeLocked(e)
	}
	select {
	case <-c.conn.Gone(): // nobody else tells of it
		w.loseLocked()
	default:
	}
	return nil
}

// maxEarly bounds what comes of a subscription whose answer never does.
const maxEarly = 4096

// questionEvent takes a notification.
func (c *Client) questionEvent(_ context.Context, r *rpc.Request) rpc.Work {
	var e questionEvent
	if json.Unmarshal(r.Params, &e) != nil {
		return nil
	}
	c.mu.Lock()
	w := c.subs[e.Subscription]
	if w == nil && !c.past[e.Subscription] && len(c.early[e.Subscription]) < maxEarly {
		c.early[e.Subscription] = append(c.early[e.Subscription], e)
	}
	c.mu.Unlock()
	if w != nil {
		w.mu.Lock()
		w.takeLocked(e)
		w.mu.Unlock()
	}
	return nil
}

func (w *Watch) subscription() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.id
}

// snapshotLocked takes over what is open: asks that are not there any more have ended meanwhile.
func (w *Watch) snapshotLocked(qs []Question, ended []Ended) {
	for id, a := range w.asks {
		if slices.ContainsFunc(qs, func(q Question) bool { return q.ID == id }) {
			continue
		}
		end := &host.Resolution{Outcome: host.Cancelled, Reason: "it ended while the connection was behind, nobody knows how"}
		if i := slices.IndexFunc(ended, func(e Ended) bool { return e.ID == id }); i >= 0 {
			end = &host.Resolution{Outcome: ended[i].Outcome, Surface: ended[i].Surface, Reason: ended[i].Reason}
		}
		a.end(end)
		delete(w.asks, id)
	}
	for _, q := range qs {
		w.takeLocked(questionEvent{What: opened, Question: &q})
	}
}

func (w *Watch) takeLocked(e questionEvent) {
	switch e.What {
	case opened, updated:
		if e.Question == nil || w.over {
			return
		}
		if a := w.asks[e.Question.ID]; a != nil {
			a.update(*e.Question)
			return
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		a := newRemoteAsk(w.c, *e.Question, w.surface, cancel)
		w.asks[e.Question.ID] = a
		w.shown.Go(func() {
			defer cancel(nil)
			w.show(host.WithAsk(ctx, a), a, *e.Question)
		})
	case resolved:
		if a := w.asks[e.ID]; a != nil {
			delete(w.asks, e.ID)
			a.end(&host.Resolution{Outcome: e.Outcome, Surface: e.Surface, Reason: e.Reason})
		}
	case resync:
		if w.over {
			return
		}
		w.syncs.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), syncWithin)
			defer cancel()
			_ = w.c.subscribe(ctx, w) // a lost connection ends it all anyway
		})
	}
}

// syncWithin bounds a subscription in place of one that is behind.
const syncWithin = 30 * time.Second

// lose lets go of every ask because the connection is gone; each may be open still.
func (w *Watch) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loseLocked()
}

func (w *Watch) loseLocked() {
	w.over = true
	for id, a := range w.asks {
		delete(w.asks, id)
		a.end(host.ErrLost)
	}
}

// Close lets go of every ask, without touching it, and waits for those who show them.
func (w *Watch) Close() {
	w.lose()
	w.syncs.Wait()
	c := w.c
	c.mu.Lock()
	id := w.id
	if id != 0 {
		delete(c.subs, id)
		c.past[id] = true
	}
	c.mu.Unlock()
	w.shown.Wait()
	if id == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if c.call(ctx, methodUnsubscribe, struct {
		Subscription int64 `json:"subscription"`
	}{id}, nil) == nil { // one that hangs may still tell of it
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.past, id)
	}
}
