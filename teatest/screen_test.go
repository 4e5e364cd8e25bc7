package teatest

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/exp/golden"
	xteatest "github.com/charmbracelet/x/exp/teatest"
	"github.com/muesli/termenv"
	"go.uber.org/goleak"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/hosttest"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/signals"
	"example.com/kitsoki/tui/styles"
)

// The libraries leave two goroutines to themselves: the test model's, which waits for a signal that never comes,
// and a tick that was asked for and ends within its second.
func TestMain(m *testing.M) {
	time.Local = time.UTC // times of day are on some screens
	if os.Getenv(panicEnv) != "" {
		os.Exit(panickingScreen())
	}
	if state := os.Getenv(proposalsEnv); state != "" {
		os.Exit(proposingScreen(state))
	}
	dir, err := os.MkdirTemp("", "kitsoki-test")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv(builtEnv, filepath.Join(dir, "kitsoki")); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/charmbracelet/x/exp/teatest.NewTestModel.func2"),
		goleak.IgnoreTopFunction("github.com/charmbracelet/bubbletea.Tick.func1"),
		goleak.IgnoreAnyFunction("github.com/charmbracelet/bubbletea.(*Program).execBatchMsg"), // waits for such a tick
		goleak.Cleanup(func(code int) { _ = os.RemoveAll(dir); os.Exit(code) }))
}

// play is an agent of a few lines of Go. It can ask as often and as parallel as it likes.
type play func(ctx context.Context, ask func(who host.Asker, qs ...host.OperatorQuestion) (map[string]any, error), say func(string)) error

// Run implements session.Runner.
func (p play) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	var mu sync.Mutex // the observer is called one at a time
	emit := func(e agent.StreamEvent) {
		mu.Lock()
		defer mu.Unlock()
		obs.Event(e, nil)
	}
	emit(agent.Init{Conversation: "conversation-1", Model: "scripted"})
	ask := func(who host.Asker, qs ...host.OperatorQuestion) (map[string]any, error) {
		board, ok := host.OperatorPrompterFrom(ctx)
		if !ok {
			return nil, &host.Unanswered{Outcome: host.NoOperator}
		}
		return board.Ask(host.WithAskRequest(ctx, host.AskRequest{Asker: who}), req.SessionID, qs)
	}
	ctx = context.WithValue(context.WithValue(ctx, sessionKey{}, req.SessionID), promptKey{}, req.Prompt)
	n := 0
	say := func(text string) {
		n++
		emit(agent.Text{MessageID: "m" + string(rune('0'+n)), Text: text})
	}
	err := p(ctx, ask, say)
	return agent.Result{Conversation: "conversation-1", CostUSD: 0.0123, Usage: agent.Usage{Input: 1200, Output: 34}}, err
}

type (
	sessionKey struct{}
	promptKey  struct{}
	clockKey   struct{}
	shownKey   struct{}
	judgedKey  struct{} // of what writes a verdict of the gate
)

// clockOf is the clock of the test.
func clockOf(ctx context.Context) *hosttest.Clock {
	c, _ := ctx.Value(clockKey{}).(*hosttest.Clock)
	return c
}

// promptOf is what the turn of a test's agent was started with.
func promptOf(ctx context.Context) string {
	text, _ := ctx.Value(promptKey{}).(string)
	return text
}

// sessionID is the session that an agent of a test runs for.
func sessionID(ctx context.Context) string {
	id, _ := ctx.Value(sessionKey{}).(string)
	return id
}

// gated is an agent that is let go once the operator's hands are off the keyboard.
type gated struct {
	play
	gate  <-chan struct{}
	clock *hosttest.Clock
	shown func() int // asks that have been on the screen at once

	judged func(proposal, row string) error // writes a gate's verdict
}

func (g gated) Run(ctx context.Context, cmd agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	select {
	case <-g.gate:
	case <-ctx.Done():
		return agent.Result{}, context.Cause(ctx)
	}
	ctx = context.WithValue(context.WithValue(ctx, clockKey{}, g.clock), shownKey{}, g.shown)
	return g.play.Run(context.WithValue(ctx, judgedKey{}, g.judged), cmd, req, obs)
}

// screen is the real program with a session, on a terminal that is only a size.
type screen struct {
	t     *testing.T
	clock *hosttest.Clock
	sess  *session.Session
	tm    *xteatest.TestModel
	probe *probe
	gate  chan struct{} // agents ask once it is closed

	mu      sync.Mutex
	written string              // beside the screen; guarded by mu
	notices []signals.AskNotice // that the operator's program was told; guarded by mu
}

func (s *screen) emit(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written += text
	return nil
}

func (s *screen) told(_ context.Context, n signals.AskNotice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, n)
	return nil
}

// probe remembers what the program drew last.
type probe struct {
	*tui.Model
	mu   *sync.Mutex
	last *string
	asks *int // that were open on the screen, at the most
}

// mark is a message that says that all before it have been taken in.
type mark chan struct{}

func (p probe) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if m, ok := msg.(mark); ok {
		close(m)
		return p, nil
	}
	_, cmd := p.Model.Update(msg)
	view := p.View()
	p.mu.Lock()
	defer p.mu.Unlock()
	*p.last, *p.asks = view, max(*p.asks, p.Waiting())
	return p, cmd
}

func open(t *testing.T, width, height int, agentPlay play) *screen {
	t.Helper()
	s := &screen{t: t, clock: hosttest.NewClock(), gate: make(chan struct{})}
	state := t.TempDir()
	var manager *session.Manager
	judged := func(proposal, row string) error {
		snap, err := s.sess.Snapshot(context.Background())
		if err != nil {
			return err
		}
		e := host.WriteModeGranted{
			SessionID: snap.ID, Turn: snap.Turn, Action: proposal, Effect: host.EffectWrite, By: "operator", Hash: proposal, Question: proposal,
		}
		if row != "" && row != host.Deny {
			e.Granted, e.Scope = true, host.Scope(row)
		}
		return manager.Record(context.Background(), e)
	}
	manager = session.NewManager(session.ManagerOptions{
		Runner: gated{agentPlay, s.gate, s.clock, s.shown, judged}, State: state, Clock: s.clock, Agents: []string{"scripted"},
		Agent: func(name string) (agent.Command, error) { return agent.Command{Name: name}, nil },
	})
	var err error
	s.sess, err = manager.New(session.Options{Command: agent.Command{Name: "scripted", Path: "scripted", Resume: []string{"--resume"}}, Dir: "/project", Access: agent.Edit})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	renderer := lipgloss.NewRenderer(io.Discard, termenv.WithProfile(termenv.Ascii))
	m := tui.NewModel(ctx, tui.Options{
		Opener: manager, Clock: s.clock, Styles: styles.New(renderer), Keys: keys.Default(),
		Hint: "Type what the agent should do and press Enter.", Emit: s.emit, Copy: true,
		Signals: tui.Signals{
			AlarmSettings: signals.AlarmSettings{Bell: true, OSC: signals.OSC9, OnAsk: true, After: 20 * time.Second}, Run: s.told,
		},
	}, func(msg tea.Msg) { s.tm.Send(msg) })
	if err := m.Adopt(ctx, s.sess); err != nil {
		t.Fatal(err)
	}
	s.probe = &probe{Model: m, mu: &sync.Mutex{}, last: new(string), asks: new(int)}
	s.tm = xteatest.NewTestModel(t, *s.probe, xteatest.WithInitialTermSize(width, height))
	t.Cleanup(func() {
		m.Detach()
		closing, done := context.WithTimeout(context.Background(), 10*time.Second)
		defer done()
		if err := manager.Close(closing, host.HostClosing); err != nil {
			t.Errorf("close: %v", err)
		}
		checkTraces(t, state)
		cancel()
		_ = s.tm.Quit()
		s.tm.WaitFinished(t, xteatest.WithFinalTimeout(10*time.Second))
	})
	return s
}

// shown is how many asks have been on the screen at once.
func (s *screen) shown() int {
	s.probe.mu.Lock()
	defer s.probe.mu.Unlock()
	return *s.probe.asks
}

// see waits until the screen shows all of the texts.
func (s *screen) see(texts ...string) {
	s.t.Helper()
	s.until("shows "+strings.Join(texts, " and "), func(view string) bool {
		for _, text := range texts {
			if !strings.Contains(view, text) {
				return false
			}
		}
		return true
	})
}

// gone waits until the screen shows the text no more.
func (s *screen) gone(text string) {
	s.t.Helper()
	s.until("loses "+text, func(view string) bool { return !strings.Contains(view, text) })
}

func (s *screen) until(what string, ok func(string) bool) {
	s.t.Helper()
	if !eventually(func() bool { return ok(s.view()) }) {
		s.t.Fatalf("the screen never %s; it is:\n%s", what, s.view())
	}
}

func (s *screen) view() string {
	s.probe.mu.Lock()
	defer s.probe.mu.Unlock()
	return *s.probe.last
}

// rest lets the keyboard be quiet for longer than any guard.
func (s *screen) rest() { s.clock.Advance(2 * time.Second) }

// press sends keys by their names, or what is no name as text that is typed, and waits until they are taken in.
func (s *screen) press(names ...string) {
	s.t.Helper()
	defer s.settle()
	for _, name := range names {
		if k, ok := named[name]; ok {
			s.tm.Send(tea.KeyMsg{Type: k})
			continue
		}
		for _, r := range name {
			s.tm.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}})
		}
	}
}

var named = map[string]tea.KeyType{
	"Enter": tea.KeyEnter, "Esc": tea.KeyEsc, "Tab": tea.KeyTab, "S-Tab": tea.KeyShiftTab, "Up": tea.KeyUp, "Down": tea.KeyDown,
	"Space": tea.KeySpace, "Backspace": tea.KeyBackspace, "^U": tea.KeyCtrlU, "^X": tea.KeyCtrlX, "^O": tea.KeyCtrlO, "^C": tea.KeyCtrlC, "^P": tea.KeyCtrlP, "^J": tea.KeyCtrlJ,
	"^L": tea.KeyCtrlL, "^N": tea.KeyCtrlN, "^F": tea.KeyCtrlF, "^T": tea.KeyCtrlT, "Left": tea.KeyLeft, "Right": tea.KeyRight,
	"PgUp": tea.KeyPgUp, "PgDn": tea.KeyPgDown, "^D": tea.KeyCtrlD, "F1": tea.KeyF1,
}

// golden compares the program's last screen with its golden file.
func (s *screen) golden() {
	s.t.Helper()
	_ = s.tm.Quit()
	final := s.tm.FinalModel(s.t, xteatest.WithFinalTimeout(10*time.Second))
	lines := strings.Split(final.View(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	golden.RequireEqual(s.t, []byte(strings.Join(lines, "\n")))
}

// prompt types a prompt and lets the composer rest, so that the next ask opens by itself.
func (s *screen) prompt() {
	s.t.Helper()
	s.press("go")
	s.see("> go")
	s.press("Enter")
	s.settle()
	s.rest()
	select {
	case <-s.gate:
	default:
		close(s.gate)
	}
}

// settle waits until every key that was pressed has been taken in.
func (s *screen) settle() {
	s.t.Helper()
	m := make(mark)
	s.tm.Send(m)
	select {
	case <-m:
	case <-time.After(10 * time.Second):
		s.t.Fatal("the program does not take in its keys")
	}
}

// tick lets the program notice that time has passed, as its countdown does once a second.
func (s *screen) tick() {
	s.t.Helper()
	s.tm.Send(tui.Tick())
	s.settle()
}
