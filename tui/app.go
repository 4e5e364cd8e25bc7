package tui

import (
	"cmp"
	"context"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
	"example.com/kitsoki/tui/signals"
	"example.com/kitsoki/tui/styles"
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
	Opener  session.Opener // opens further sessions; nil: there are none to open
	Clock   host.Clock     // nil: the machine's
	Styles  styles.Styles
	Theme   string // of styles.Themes, for Run; empty: auto
	Keys    keys.Map
	Hint    string // shown in an empty log
	Signals Signals
	Input   Input               // tells when keys came; nil: when they are worked off
	Emit    func(string) error  // writes to the terminal beside the screen; nil: nothing is written
	Copy    bool                // whether the terminal's clipboard may be written
	Getenv  func(string) string // for the choice of an editor; nil: the process's environment
	Surface string              // what the terminal is called where surfaces are named; empty: "terminal"

	// Elsewhere brings the asks of other processes until it is stopped; nil: there are none. They open by themselves
	// only with OpenElsewhere.
	Elsewhere     func(show ShowElsewhere) (stop func())
	OpenElsewhere bool

	// Apart leaves the prompt of a session of another process to the terminal that works on it: the composer begins empty,
	// and what is typed in it is this terminal's alone.
	Apart bool

	Detach bool // what runs can go on without the terminal: quitting offers it
}

// Input is what knows when keys came.
type Input interface {
	// Arrival is when the input came that was read since the last call; false when none was.
	Arrival() (time.Time, bool)
	// Waiting reports whether more has come and is not read yet.
	Waiting() bool
}

// Model is the program's tea.Model. It owns the panes, one a session, and the asks of all of them; one page at a
// time has the screen and the keyboard.
type Model struct {
	opt Options
	// io makes a command of something that can wait; the context ends with the program.
	io       func(func(context.Context) tea.Msg) tea.Cmd
	prompter host.OperatorPrompter // what sessions are attached with

	width, height int
	page          page
	help          bool
	helpTop       int
	notice        string
	noticeUntil   time.Time // a notice that is only true for a while; zero: until the next key

	panes []*pane // in the order they were opened
	at    *pane   // the one whose log and composer are shown

	lastEsc time.Time // wherever it was pressed
	quitAt  time.Time

	asks    []*openAsk // of all sessions, in the order they came
	past    []settledAsk
	guard   question.Guard
	stroke  question.Stroke // the key at hand
	shownAt time.Time       // when the ask in front was brought there
	alarm   *signals.Alarm
	titled  string // the terminal's title, as it was last set
	ticking bool

	exit Exit
}

// NewModel makes the model. ctx bounds what its commands wait for; send gives the program a message, and is called
// only after a session was adopted.
func NewModel(ctx context.Context, opt Options, send func(tea.Msg)) *Model {
	if opt.Clock == nil {
		opt.Clock = host.SystemClock{}
	}
	if opt.Getenv == nil {
		opt.Getenv = os.Getenv
	}
	opt.Surface = cmp.Or(opt.Surface, surfaceName)
	m := &Model{
		opt: opt, width: 80, height: 24, prompter: NewPrompter(send),
		io: func(do func(context.Context) tea.Msg) tea.Cmd {
			return func() tea.Msg { return do(ctx) }
		},
	}
	if !opt.Copy || opt.Emit == nil { // it says so when it is pressed, and is not offered
		m.opt.Keys.Copy.SetHelp("", "")
	}
	m.page = &composePage{m: m}
	m.alarm = signals.NewAlarm(opt.Signals.AlarmSettings, m.now())
	return m
}

// Adopt attaches the terminal to a session, which declares presence for it, and gives it a pane. The first one is
// the one that is shown. Call it before the program runs; afterwards the program adopts what it opens.
func (m *Model) Adopt(ctx context.Context, client session.Client) error {
	p, err := m.attach(ctx, client)
	if err != nil {
		return err
	}
	m.add(p)
	return nil
}

// Waiting is how many asks are open on this screen.
func (m *Model) Waiting() int { return len(m.asks) }

// Detach ends the presence that Adopt declared, for all sessions. Their asks stay open.
func (m *Model) Detach() {
	for _, p := range m.panes {
		p.detach()
	}
}

func (m *Model) now() time.Time { return m.opt.Clock.Now() }

// Init starts to read the sessions.
func (m *Model) Init() tea.Cmd {
	var cmds []tea.Cmd
	for _, p := range m.panes {
		cmds = append(cmds, m.poll(p))
	}
	return tea.Batch(cmds...)
}

type (
	tickMsg  struct{}
	errorMsg struct{ err error }
	doneMsg  struct{}
	staleMsg struct{} // a notice may have run out
)

// tick is the countdown, the only thing that redraws a screen on which nothing happens.
func (m *Model) tick() tea.Cmd {
	if m.ticking || len(m.asks) == 0 {
		return nil
	}
	m.ticking = true
	return tea.Tick(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}

// Tick is the message of the countdown, for who drives the program with a clock of its own.
func Tick() tea.Msg { return tickMsg{} }
