package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	_ "example.com/kitsoki/tui/background" // before bubbletea asks the terminal
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/signals"
	"example.com/kitsoki/tui/styles"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
)

// surfaceName is what the terminal is called where surfaces are named.
const surfaceName = "terminal"

// frames a second: bubbletea's default costs an idle screen more than twice as much, and a new ask is still drawn
// within 42 ms.
const frames = 24

// Terminal is where Run draws and reads.
type Terminal struct {
	In  io.Reader // nil: standard input
	Out io.Writer // nil: standard output
}

// Run shows the sessions until the operator quits, a signal ends it, or the terminal is lost, and leaves the
// terminal as it was. It declares presence for them as long as it runs, and for those that it opens. The sessions
// themselves go on; the caller closes them. Of the options Styles and Emit are Run's own; Keys may be zero, for the
// table as it comes. An error means that the screen itself failed.
func Run(ctx context.Context, opt Options, term Terminal, clients ...session.Client) (exit Exit, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if term.Out == nil {
		term.Out = os.Stdout
	}
	if term.In == nil {
		term.In = os.Stdin
	}
	if opt.Keys.Quit.Keys() == nil {
		opt.Keys = keys.Default()
	}
	renderer := lipgloss.NewRenderer(term.Out) // of the file itself: a wrapped one is no terminal to it
	if f, ok := term.Out.(*os.File); ok {
		w := signals.NewWriter(f)
		term.Out = w
		opt.Emit = func(s string) error { _, err := w.WriteString(s); return err }
	}
	renderer.SetHasDarkBackground(true)
	if opt.Styles, err = styles.Theme(cmp.Or(opt.Theme, "auto"), renderer, os.Getenv); err != nil {
		return Exit{}, err
	}
	var p *tea.Program
	if f, ok := term.In.(*os.File); ok {
		in := newTypist(f, host.SystemClock{}, func(msg tea.Msg) { p.Send(msg) })
		term.In, opt.Input = in, in
	}
	m := NewModel(ctx, opt, func(msg tea.Msg) { p.Send(msg) })
	p = tea.NewProgram(m, tea.WithInput(term.In), tea.WithOutput(term.Out), tea.WithAltScreen(), tea.WithReportFocus(),
		tea.WithoutSignalHandler(), tea.WithContext(ctx), tea.WithFPS(frames))

	stop := func() {}
	defer func() {
		leave := func() { m.Detach(); stop() }
		if exit.Hung {
			go leave() // whoever shows something is held by the terminal
			return
		}
		leave()
	}()
	for _, client := range clients {
		if err := m.Adopt(ctx, client); err != nil {
			return Exit{}, err
		}
	}
	if opt.Elsewhere != nil {
		stop = opt.Elsewhere(func(ctx context.Context, a host.Ask, from Origin) {
			_, _ = prompterOf(p.Send, &from).Ask(ctx, a.Info().SessionID, nil) // what it returns never matters
		})
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	defer signal.Stop(signals)
	over := make(chan error, 1)
	go func() { _, err := p.Run(); over <- err }()

	select {
	case err := <-over:
		m.exit.Unsent = m.unsent()
		return verdict(m.exit, err)
	case sig := <-signals:
		return endBySignal(p, m, sig, over)
	}
}

// hungAfter is how long the program may take to end after a signal. A terminal that takes no output any more holds
// whoever draws, and with it the program's loop.
const hungAfter = 3 * time.Second

// endBySignal turns a signal into a message, so that the program ends by its own way and restores the terminal: by
// default a hang-up would leave it raw, and a termination look like success. When the terminal holds the program,
// its goroutines are left behind; the process is about to end.
func endBySignal(p *tea.Program, m *Model, sig os.Signal, over <-chan error) (Exit, error) {
	go p.Send(signalMsg{sig}) // blocks as long as the program does
	select {
	case err := <-over:
		return verdict(m.exit, err)
	case <-time.After(hungAfter):
		return Exit{Signal: sig, Lost: true, Hung: true}, nil
	}
}

// verdict says how the program ended by what it returned.
func verdict(exit Exit, err error) (Exit, error) {
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return exit, fmt.Errorf("the screen failed: %w", err)
	case err != nil && exit.Signal == nil:
		exit.Lost = true // reading or drawing failed: the terminal is gone
	}
	if exit.Signal == syscall.SIGHUP {
		exit.Lost = true
	}
	return exit, nil
}
