package teatest

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui"
)

// frame is how long the screen shows a picture: both programs draw 24 a second.
const frame = time.Second / 24

// glass is a pseudo-terminal that a program of this process draws on, and whoever looks at it.
type glass struct {
	b        *testing.B
	ptm, pts *os.File
	read     chan struct{} // closed when there is no more to read

	mu    sync.Mutex // guards all below
	shown []byte     // since after
	want  string
	seen  chan time.Time // nil when nothing is expected
}

// onGlass runs a program on a new terminal, until it quits at the end of the benchmark.
func onGlass(b *testing.B, program func(pts *os.File) error, quit func(*glass)) *glass {
	b.Helper()
	b.Setenv("TERM", "xterm-256color")
	ptm, pts, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	if err := pty.Setsize(ptm, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		b.Fatal(err)
	}
	g := &glass{b: b, ptm: ptm, pts: pts, read: make(chan struct{})}
	go g.look()
	over := make(chan error, 1)
	go func() { over <- program(pts) }()
	b.Cleanup(func() {
		quit(g)
		if err := <-over; err != nil {
			b.Error(err)
		}
		_ = pts.Close()
		<-g.read
		_ = ptm.Close()
	})
	return g
}

func (g *glass) look() {
	defer close(g.read)
	buf := make([]byte, 64<<10)
	for {
		n, err := g.ptm.Read(buf)
		now := time.Now()
		g.mu.Lock()
		if g.seen != nil {
			g.shown = append(g.shown, buf[:n]...)
			if strings.Contains(ansi.Strip(string(g.shown)), g.want) {
				g.seen <- now
				g.seen = nil
			}
		}
		g.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// after does something, and returns how long it took from then until the terminal was sent the text.
func (g *glass) after(text string, do func()) time.Duration {
	g.b.Helper()
	seen := make(chan time.Time, 1)
	g.mu.Lock()
	g.shown, g.want, g.seen = g.shown[:0], text, seen
	g.mu.Unlock()
	began := time.Now()
	do()
	select {
	case at := <-seen:
		return at.Sub(began)
	case <-time.After(10 * time.Second):
		g.mu.Lock()
		defer g.mu.Unlock()
		g.b.Fatalf("never saw %q in %q", text, g.shown)
		return 0
	}
}

func (g *glass) keys(keys string) {
	g.b.Helper()
	if _, err := io.WriteString(g.ptm, keys); err != nil {
		g.b.Fatal(err)
	}
}

// rest waits for a part of a frame, another one each time, so that not every measurement begins as a frame was
// drawn.
func rest(n int) { <-time.After(frame * time.Duration(n*61%100) / 100) }

// dispatched is a turn that is running, as its agent has it.
type dispatched struct {
	board host.OperatorPrompter
	id    string // the session's
	emit  func(agent.StreamEvent)
}

// puppet is an agent that a benchmark plays itself.
type puppet struct{ turns chan dispatched }

// Run implements session.Runner.
func (p puppet) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	board, ok := host.OperatorPrompterFrom(ctx)
	if !ok {
		return agent.Result{}, errors.New("no operator is present")
	}
	p.turns <- dispatched{board: board, id: req.SessionID, emit: func(e agent.StreamEvent) { obs.Event(e, nil) }}
	<-ctx.Done()
	return agent.Result{}, context.Cause(ctx)
}

// kitsokiOnGlass shows a session on a terminal and starts a turn in it.
func kitsokiOnGlass(b *testing.B) (*glass, dispatched) {
	b.Helper()
	p := puppet{turns: make(chan dispatched, 1)}
	manager := session.NewManager(session.ManagerOptions{Runner: p, State: b.TempDir()})
	s, err := manager.New(session.Options{Command: agent.Command{Name: "puppet"}, Dir: "/project", Access: agent.Edit})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := manager.Close(context.Background(), host.HostClosing); err != nil {
			b.Error(err)
		}
	})
	up := make(chan struct{})
	g := onGlass(b, func(pts *os.File) error {
		<-up
		_, err := tui.Run(context.Background(), tui.Options{}, tui.Terminal{In: pts, Out: pts}, s)
		return err
	}, func(g *glass) { g.keys("\x03\x03") })
	g.after("F1 all", func() { close(up) })
	if err := s.StartTurn(context.Background(), "go"); err != nil {
		b.Fatal(err)
	}
	return g, <-p.turns
}

// bareScreen is the least that a bubbletea program is that shows what it is sent and what is typed.
type bareScreen string

type show string

func (m bareScreen) Init() tea.Cmd { return nil }

func (m bareScreen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case show:
		return bareScreen(msg), nil
	case tea.KeyMsg:
		if msg.Type == tea.KeyRunes {
			return m + bareScreen(msg.Runes), nil
		}
		if len(m) > 0 {
			return m[:len(m)-1], nil
		}
	}
	return m, nil
}

func (m bareScreen) View() string { return "bare " + string(m) }

func bareOnGlass(b *testing.B) (*glass, func(show)) {
	b.Helper()
	up := make(chan *tea.Program)
	var p *tea.Program
	g := onGlass(b, func(pts *os.File) error {
		p := tea.NewProgram(bareScreen(""), tea.WithInput(pts), tea.WithOutput(pts), tea.WithAltScreen(),
			tea.WithoutSignalHandler(), tea.WithFPS(24))
		up <- p
		_, err := p.Run()
		return err
	}, func(*glass) { p.Quit() })
	g.after("bare", func() { p = <-up })
	return g, func(text show) { p.Send(text) }
}
