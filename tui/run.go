package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	_ "example.com/kitsoki/tui/background" // before bubbletea asks the terminal
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/styles"

	"example.com/kitsoki/host/session"
)

// surfaceName is what the terminal is called where surfaces are named.
const surfaceName = "terminal"

// frames a second: half of bubbletea's default halves what an idle screen costs, and a new ask is still drawn
// within 34 ms.
const frames = 30

// Terminal is where Run draws and reads.
type Terminal struct {
	In  io.Reader // nil: standard input
	Out io.Writer // nil: standard output
}

// Run shows the session until the operator quits, a signal ends it, or the terminal is lost, and leaves the
// terminal as it was. It declares presence for the session as long as it runs. The session itself goes on; the
// caller closes it. An error means that the screen itself failed.
func Run(ctx context.Context, client session.Client, hint string, term Terminal) (Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if term.Out == nil {
		term.Out = os.Stdout
	}
	if term.In == nil {
		term.In = os.Stdin
	}
	renderer := lipgloss.NewRenderer(term.Out)
	renderer.SetHasDarkBackground(true)
	m := NewModel(ctx, Options{Client: client, Keys: keys.Default(), Styles: styles.New(renderer), Hint: hint})
	p := tea.NewProgram(m, tea.WithInput(term.In), tea.WithOutput(term.Out), tea.WithAltScreen(), tea.WithReportFocus(),
		tea.WithoutSignalHandler(), tea.WithContext(ctx), tea.WithFPS(frames))

	detach, err := client.Attach(surfaceName, NewPrompter(p.Send))
	if err != nil {
		return Exit{}, err
	}
	defer detach()
	stop := forwardSignals(p)
	defer stop()

	_, err = p.Run()
	exit := m.exit
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

// forwardSignals turns signals into messages, so that the program ends by its own way and restores the
// terminal: by default a hang-up would leave it raw, and a termination look like success.
func forwardSignals(p *tea.Program) (stop func()) {
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sig := range ch {
			p.Send(signalMsg{sig})
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
		<-done
	}
}
