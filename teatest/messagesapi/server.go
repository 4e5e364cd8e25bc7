package messagesapi

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// FakeKey is the API key that tests give the CLI. A request with any other
// credential fails the test: the environment was not built from nothing.
const FakeKey = "sk-ant-fake"

const (
	waitLimit  = 60 * time.Second // for a request of a real CLI on a busy machine
	closeLimit = 5 * time.Second
	bodyLimit  = 64 << 20
)

// Server is a running API. Its methods may be called from any goroutine,
// except the Wait ones, which end the test and so belong to its own.
type Server struct {
	t    testing.TB
	url  string
	done chan struct{} // closed when the test ends: nothing is held any longer

	handlers sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	steps   []Step
	used    []int // how often each step answered
	loop    []Request
	side    []Request
	replies int
	changed chan struct{} // closed and replaced when a request arrives
}

// Start serves the script until the test ends. The cleanup fails the test when
// a step was left over, unless the test failed or was skipped anyway.
func Start(t testing.TB, script ...Step) *Server {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("scripted API: %v", err)
	}
	s := &Server{
		t: t, url: "http://" + ln.Addr().String(), done: make(chan struct{}),
		steps: slices.Clone(script), used: make([]int, len(script)), changed: make(chan struct{}),
	}
	hs := &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: closeLimit, WriteTimeout: 10 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	t.Cleanup(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		close(s.done)
		_ = hs.Close() // cuts what is still open; there is nobody left to tell
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("scripted API: %v", err)
		}
		s.waitHandlers()
		if left := s.Unused(); len(left) > 0 && !t.Failed() && !t.Skipped() {
			t.Errorf("scripted API: steps never used: %s\nthe CLI sent %s", strings.Join(left, ", "), s.summary())
		}
	})
	return s
}

func (s *Server) waitHandlers() {
	ended := make(chan struct{})
	go func() { s.handlers.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(closeLimit):
		s.t.Errorf("scripted API: a handler did not end within %v", closeLimit)
	}
}

// URL is the base address, for ANTHROPIC_BASE_URL.
func (s *Server) URL() string { return s.url }

// Requests are the requests of the conversation and of its sub-agents so far,
// in the order they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.loop)
}

// SideRequests are the requests beside the conversation so far.
func (s *Server) SideRequests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.side)
}

// ToolResults maps tool_use ids to the results that reached the model so far.
func (s *Server) ToolResults() map[string]ToolResult {
	out := map[string]ToolResult{}
	for _, r := range s.Requests() {
		for id, res := range r.ToolResults() {
			out[id] = res
		}
	}
	return out
}

// Unused names the steps that still have to be used.
func (s *Server) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for i, step := range s.steps {
		if s.used[i] == 0 && !step.Repeat && !step.Optional {
			out = append(out, step.name(i))
		}
	}
	return out
}

// WaitRequest waits for the n-th request of the conversation, counting from 1,
// and ends the test when it does not come within a minute.
func (s *Server) WaitRequest(n int) Request {
	s.t.Helper()
	return s.WaitFor(fmt.Sprintf("request %d", n), func(r Request) bool { return r.N == n })
}

// WaitFor waits for a request of the conversation that fulfils the condition,
// those that came already included, and ends the test when none comes within a
// minute. What names it in the failure.
func (s *Server) WaitFor(what string, c Condition) Request {
	s.t.Helper()
	limit := time.NewTimer(waitLimit)
	defer limit.Stop()
	for {
		s.mu.Lock()
		i, changed := slices.IndexFunc(s.loop, c), s.changed
		var r Request
		if i >= 0 {
			r = s.loop[i]
		}
		s.mu.Unlock()
		if i >= 0 {
			return r
		}
		select {
		case <-changed:
		case <-limit.C:
			s.t.Fatalf("scripted API: %s did not come within %v; the CLI sent %s", what, waitLimit, s.summary())
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, req *http.Request) {
	if !s.enter() {
		return
	}
	defer s.handlers.Done()
	if req.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	messages := req.URL.Path == "/v1/messages" || strings.HasPrefix(req.URL.Path, "/v1/messages/")
	if !messages || req.Method != http.MethodPost {
		writeError(w, http.StatusNotFound, "the scripted API does not have "+req.Method+" "+req.URL.Path)
		return
	}
	if req.Header.Get("X-Api-Key") != FakeKey || req.Header.Get("Authorization") != "" {
		s.t.Errorf("scripted API: a request came with a credential that is not the fake key")
		writeError(w, http.StatusUnauthorized, "not the fake key")
		return
	}
	if strings.HasSuffix(req.URL.Path, "/count_tokens") {
		writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 10})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, bodyLimit))
	if err != nil {
		return // the client left in the middle of its request
	}
	r, err := decodeRequest(req.Header.Clone(), body)
	if err != nil {
		s.t.Errorf("scripted API: %v", err)
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	s.answer(w, req, r)
}

// enter admits a request, so that the cleanup can wait for its handler.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers.Add(1)
	return true
}

func (s *Server) answer(w http.ResponseWriter, req *http.Request, r Request) {
	step, id, ok := s.take(&r)
	if !ok {
		why := fmt.Sprintf("no step for request %d (%s, prompt %q, last results %v)", r.N, r.Kind, r.Prompt(), r.lastUser().results())
		s.t.Errorf("scripted API: %s; left: %v", why, s.Unused())
		writeError(w, http.StatusBadRequest, why)
		return
	}
	if step.Hold != nil {
		select {
		case <-step.Hold:
		case <-req.Context().Done():
			return
		case <-s.done:
			return
		}
	}
	if step.Reply.Status != 0 && step.Reply.Status != http.StatusOK {
		writeError(w, step.Reply.Status, step.Reply.Message)
		return
	}
	m, err := message(id, r.Model, step.Reply)
	switch {
	case err != nil:
		s.t.Errorf("scripted API: %v", err)
		writeError(w, http.StatusInternalServerError, err.Error())
	case r.Stream:
		writeStream(w, m)
	default:
		writeJSON(w, http.StatusOK, m)
	}
}

// take records the request and picks its step in one go, so that two requests
// at once never take the same one.
func (s *Server) take(r *Request) (Step, int, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &s.loop
	if r.Kind == Side {
		list = &s.side
	}
	r.N = len(*list) + 1
	*list = append(*list, *r)
	close(s.changed)
	s.changed = make(chan struct{})
	s.replies++
	for i, step := range s.steps {
		if step.Side == (r.Kind == Side) && (step.Repeat || s.used[i] == 0) && (step.When == nil || step.When(*r)) {
			s.used[i]++
			return step, s.replies, true
		}
	}
	return Step{Reply: Say("ok")}, s.replies, r.Kind == Side
}

func (s Step) name(i int) string {
	if s.Name != "" {
		return s.Name
	}
	return fmt.Sprintf("step %d", i+1)
}

// summary says what came, for failures.
func (s *Server) summary() string {
	rs := s.Requests()
	if len(rs) == 0 {
		return "nothing"
	}
	lines := make([]string, len(rs))
	for i, r := range rs {
		lines[i] = fmt.Sprintf("%d: %s, prompt %q, %d tools, last results %v", r.N, r.Kind, r.Prompt(), len(r.Tools), r.lastUser().results())
	}
	return strings.Join(lines, "\n")
}
