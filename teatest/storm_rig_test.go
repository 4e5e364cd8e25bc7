package teatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/styles"
)

// storm is the real program with real sessions, driven a message at a time. All of it lives in one bubble of
// testing/synctest, so that "everything that follows from this has happened" is a moment that can be waited for.
type storm struct {
	dir      string
	lossless bool
	script   []string // what was done
	steps    int      // how many, with each key
	fault    string   // what is wrong; empty: nothing
	kind     string   // of the fault

	ctx     context.Context //nolint:containedctx // the storm is a test's whole world, and ends with it
	cancel  context.CancelFunc
	manager *session.Manager
	model   *tui.Model
	width   int
	height  int
	view    string

	watch
	guard guardModel

	mu       sync.Mutex // guards all below, which commands, agents and surfaces write too
	inbox    []tea.Msg
	sessions []*watched
	turns    map[string]*agentTurn // the running ones, by session
	asks     []*stormAsk           // all that ever were
	ends     []sentEnd             // what the program sent since the last look
	out      map[rune]int          // the characters that went out
	stop     bool                  // agents end their turns at once
}

// sentEnd is an end of an ask that the program sent through its handle.
type sentEnd struct {
	id      string
	answers []host.Answer
	reason  string
	decline bool
	err     error
}

func newStorm(dir string, lossless bool) *storm {
	return &storm{
		dir: dir, lossless: lossless, turns: map[string]*agentTurn{}, out: map[rune]int{},
		watch: watch{
			typed: map[rune]string{}, since: map[string]time.Time{}, next: firstFresh, nextWide: firstWide,
			gate: gateWatch{ended: map[string]bool{}, may: map[string]string{}},
		},
	}
}

func (s *storm) failf(format string, args ...any) {
	if s.fault == "" {
		s.fault, s.kind = fmt.Sprintf(format, args...), format
	}
}

// guarded turns a panic of the program into a fault.
func (s *storm) guarded(do func()) {
	defer func() {
		if p := recover(); p != nil {
			s.failf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	do()
}

func (s *storm) begin() {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := os.MkdirAll(s.dir+"/p", 0o700); err != nil {
		s.failf("%v", err)
		return
	}
	s.manager = session.NewManager(session.ManagerOptions{
		Runner: s, State: s.dir, Agents: []string{"scripted"}, Environ: []string{},
		Agent: func(name string) (agent.Command, error) { return agent.Command{Name: name}, nil },
	})
	s.model = tui.NewModel(s.ctx, tui.Options{
		Opener: s, Styles: styles.New(lipgloss.NewRenderer(io.Discard, termenv.WithProfile(termenv.Ascii))), Keys: keys.Default(),
		Hint: "Type what the agent should do and press Enter.", Getenv: func(string) string { return "" },
	}, s.send)
	client, err := s.Open(s.ctx, session.Spec{Dir: s.dir + "/p", Agent: "scripted"})
	if err == nil {
		err = s.model.Adopt(s.ctx, client)
	}
	if err != nil {
		s.failf("%v", err)
		return
	}
	s.run(s.model.Init())
	s.resize(80, 24)
	s.settle()
}

// end lets go of everything. The timers of the program's last commands run out.
func (s *storm) end() {
	s.guarded(s.model.Detach)
	s.setStop()
	closing, done := context.WithTimeout(context.Background(), time.Minute)
	defer done()
	if err := s.manager.Close(closing, host.HostClosing); err != nil {
		s.failf("close: %v", err)
	}
	s.cancel()
	<-time.After(time.Minute)
	synctest.Wait()
}

func (s *storm) setStop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = true
	for _, t := range s.turns {
		t.finish(nil)
	}
}

// send is how surfaces and commands give the program a message.
func (s *storm) send(msg tea.Msg) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox = append(s.inbox, msg)
}

func (s *storm) received() []tea.Msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	msgs := s.inbox
	s.inbox = nil
	return msgs
}

// settle waits until everything that follows from what was done has happened.
func (s *storm) settle() {
	for {
		synctest.Wait()
		msgs := s.received()
		if len(msgs) == 0 {
			break
		}
		for _, msg := range msgs {
			s.update(msg)
		}
		s.look()
	}
	s.checkEnds()
}

// update gives the program one message.
func (s *storm) update(msg tea.Msg) {
	if s.fault != "" {
		return
	}
	_, cmd := s.model.Update(msg)
	s.run(cmd)
}

// run runs a command as the runtime of bubbletea does.
func (s *storm) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil, tea.QuitMsg: // the storm goes on where the program would end
		case tea.BatchMsg:
			for _, c := range msg {
				s.run(c)
			}
		default:
			s.send(msg)
		}
	}()
}

func (s *storm) resize(width, height int) {
	if width != s.width || height != s.height {
		s.armed()
	}
	s.width, s.height = width, height
	s.update(tea.WindowSizeMsg{Width: width, Height: height})
	s.look()
}

// Titles are short, so that there is room for who asks at every width; and there are few sessions.
const maxStormSessions, maxStormTitle = 4, 4

func shortTitle(title string) string {
	r := []rune(title)
	return string(r[:min(len(r), maxStormTitle)])
}

// Open implements session.Opener.
func (s *storm) Open(ctx context.Context, spec session.Spec) (session.Client, error) {
	if len(s.openSessions()) >= maxStormSessions {
		return nil, errors.New("there are sessions enough")
	}
	spec.Title = shortTitle(spec.Title)
	own, err := s.manager.OpenSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	w := &watched{Session: own, s: s}
	if _, err := own.Attach("elsewhere", s.otherSurface()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = append(s.sessions, w)
	return w, nil
}

// Agents implements session.Opener.
func (s *storm) Agents() []string { return []string{"scripted"} }

func (s *storm) openSessions() []*watched {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*watched
	for _, w := range s.sessions {
		if !w.closed {
			out = append(out, w)
		}
	}
	return out
}

// watched is a session whose surface is watched.
type watched struct {
	*session.Session
	s      *storm
	closed bool // guarded by storm.mu
}

func (w *watched) StartTurn(ctx context.Context, prompt string) error {
	return w.s.promptSent(prompt, w.Session.StartTurn(ctx, prompt))
}

func (w *watched) Queue(ctx context.Context, prompt string) error {
	return w.s.promptSent(prompt, w.Session.Queue(ctx, prompt))
}

func (w *watched) Unqueue(ctx context.Context, n int) (string, bool, error) {
	prompt, ok, err := w.Session.Unqueue(ctx, n)
	if ok {
		w.s.count(-1, prompt)
	}
	return prompt, ok, err
}

func (w *watched) Rename(ctx context.Context, title string) error {
	return w.Session.Rename(ctx, shortTitle(title))
}

func (w *watched) Close(ctx context.Context, why host.Outcome) error {
	w.s.mu.Lock()
	w.closed = true
	w.s.mu.Unlock()
	return w.Session.Close(ctx, why)
}

// Attach gives the program handles that remember what it did with them.
func (w *watched) Attach(name string, p host.OperatorPrompter) (func(), error) {
	return w.Session.Attach(name, host.PrompterFunc(func(ctx context.Context, id string, qs []host.OperatorQuestion) (map[string]any, error) {
		if ask, ok := host.AskFrom(ctx); ok {
			ctx = host.WithAsk(ctx, &watchedAsk{Ask: ask, s: w.s})
		}
		return p.Ask(ctx, id, qs)
	}))
}

// watchedAsk is the handle that the program has of an ask.
type watchedAsk struct {
	host.Ask
	s *storm
}

func (a *watchedAsk) Answer(ctx context.Context, as []host.Answer) error {
	err := a.Ask.Answer(ctx, as)
	a.s.endSent(sentEnd{id: a.Info().ID, answers: as, err: err})
	return err
}

func (a *watchedAsk) Decline(ctx context.Context, reason string, partial []host.Answer) error {
	err := a.Ask.Decline(ctx, reason, partial)
	a.s.endSent(sentEnd{id: a.Info().ID, answers: partial, reason: reason, decline: true, err: err})
	return err
}

// endSent notes an end that the program sent. What it took along has gone out.
func (s *storm) endSent(e sentEnd) {
	if e.err == nil {
		s.count(1, e.reason)
		for _, a := range e.answers {
			s.count(1, a.Text+a.Note)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends = append(s.ends, e)
}

// promptSent notes a prompt that a session took.
func (s *storm) promptSent(prompt string, err error) error {
	if err == nil {
		s.count(1, prompt)
	}
	return err
}

// count notes that a text went out, or came back.
func (s *storm) count(n int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range text {
		if r >= firstFresh {
			s.out[r] += n
		}
	}
}
