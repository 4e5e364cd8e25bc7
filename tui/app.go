package tui

import (
	"context"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
	"example.com/kitsoki/tui/styles"
	"example.com/kitsoki/tui/transcript"
)

// Mode is what the keyboard works on.
type Mode int

// The modes.
const (
	ModeCompose          Mode = iota // the prompt
	ModeOperatorQuestion             // an ask
)

// Timings of the keyboard.
const (
	stopWithin = time.Second            // two Esc in the composer stop the turn
	escRest    = 400 * time.Millisecond // from an Esc that did something else to one that counts
	escRepeat  = 60 * time.Millisecond  // a held key repeats faster than fingers do
	quitWithin = 3 * time.Second        // two Ctrl+C quit
	typingRest = time.Second            // an ask does not open over a composer that was used within
	batchEvery = 20 * time.Millisecond
)

// Options are what a Model shows and how.
type Options struct {
	Client session.Client
	Clock  host.Clock // nil: the machine's
	Styles styles.Styles
	Keys   keys.Map
	Hint   string              // shown in an empty log
	Getenv func(string) string // for the choice of an editor; nil: the process's environment
}

// Model is the program's tea.Model.
type Model struct {
	opt Options
	// io makes a command of something that can wait; the context ends with the program.
	io func(func(context.Context) tea.Msg) tea.Cmd

	width, height int
	mode          Mode
	help          bool
	helpTop       int
	notice        string
	noticeUntil   time.Time // a notice that is only true for a while; zero: until the next key

	snap     session.Snapshot
	after    uint64 // the newest event that was taken
	log      *transcript.Model
	composer field.Model
	kept     []string  // texts of asks that ended, which had no place in a composer in use
	typed    time.Time // the last key in the composer
	lastEsc  time.Time // wherever it was pressed
	escAt    time.Time // an Esc that counts towards stopping the turn
	quitAt   time.Time

	asks    []*openAsk // in the order they came
	front   *openAsk   // the one that is or was last on the screen
	guard   question.Guard
	ticking bool

	exit Exit
}

// NewModel makes the model. ctx bounds what its commands wait for.
func NewModel(ctx context.Context, opt Options) *Model {
	if opt.Clock == nil {
		opt.Clock = host.SystemClock{}
	}
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	m := &Model{
		opt: opt, log: transcript.New(opt.Styles), composer: field.New(opt.Keys.NewLine, opt.Styles.Plain), width: 80, height: 24,
		io: func(do func(context.Context) tea.Msg) tea.Cmd {
			return func() tea.Msg { return do(ctx) }
		},
	}
	m.composer.Focus()
	m.layout()
	return m
}

func (m *Model) now() time.Time { return m.opt.Clock.Now() }

// Init starts to read the session.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.snapshot(), m.poll()) }

type (
	eventsMsg struct {
		batch session.Batch
		snap  session.Snapshot
		err   error
	}
	snapMsg  session.Snapshot
	pollMsg  struct{}
	tickMsg  struct{}
	errorMsg struct{ err error }
	doneMsg  struct{}
	staleMsg struct{} // a notice may have run out
)

func (m *Model) snapshot() tea.Cmd {
	return m.io(func(ctx context.Context) tea.Msg {
		snap, err := m.opt.Client.Snapshot(ctx)
		if err != nil {
			return errorMsg{err}
		}
		return snapMsg(snap)
	})
}

// poll waits for the next events and takes the snapshot that goes with them.
func (m *Model) poll() tea.Cmd {
	after := m.after
	return m.io(func(ctx context.Context) tea.Msg {
		batch, err := m.opt.Client.Events(ctx, after)
		if err != nil {
			return eventsMsg{err: err}
		}
		snap, err := m.opt.Client.Snapshot(ctx)
		return eventsMsg{batch: batch, snap: snap, err: err}
	})
}

// tick is the countdown, the only thing that redraws a screen on which nothing happens.
func (m *Model) tick() tea.Cmd {
	if m.ticking || len(m.asks) == 0 {
		return nil
	}
	m.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}
