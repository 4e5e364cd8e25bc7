// Package linemode is the operator's terminal without a screen: for pipes, screen readers and terminals that can
// draw nothing. Everything is a line of numbered text that is written once; nothing is drawn over.
//
// It drives the same reducer as the form. Run owns the goroutines that read the input and the session's events.
package linemode

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/question"
	"example.com/kitsoki/tui/surface"
)

// surfaceName is what line mode is called where surfaces are named.
const surfaceName = "line mode"

// Options are what line mode works with.
type Options struct {
	Client session.Client
	In     io.Reader
	Out    io.Writer
	Clock  host.Clock // nil: the machine's
	Hello  string     // the first line; empty: how to begin
}

// Exit says how line mode came to its end.
type Exit struct {
	Quit   bool // the operator said so
	Failed bool // the last turn failed
}

// news is one thing that happened: a line, events, or something about an ask. Exactly one part is set.
type news struct {
	line   *string
	eof    bool
	events []session.Event
	closed bool
	opened host.Ask
	info   *host.AskInfo
	ended  string // the id of an ask
	end    host.Resolution
}

// mode is the state of the one goroutine that writes.
type mode struct {
	opt    Options
	asks   []*asked
	guard  question.Guard
	turn   bool // one is running
	helped bool // what can be typed was written whole
	exit   Exit
	err    error // of writing
}

// Run serves the session until the operator quits, or until the input has ended and no turn runs any more. The
// end of the input is the end of the operator's presence and never an answer.
func Run(ctx context.Context, opt Options) (Exit, error) {
	if opt.Clock == nil {
		opt.Clock = host.SystemClock{}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	inbox := make(chan news, 64)
	tell := func(n news) {
		select {
		case inbox <- n:
		case <-ctx.Done():
		}
	}
	detach, err := opt.Client.Attach(surfaceName, surface.Surface{
		Guests:  true,
		Opened:  func(a host.Ask) { tell(news{opened: a}) },
		Changed: func(i host.AskInfo) { tell(news{info: &i}) },
		Ended:   func(id string, end host.Resolution) { tell(news{ended: id, end: end}) },
	})
	if err != nil {
		return Exit{}, err
	}
	defer detach()
	go readLines(opt.In, tell) // ends with the input; a terminal's read cannot be called off
	watched := make(chan struct{})
	go func() { defer close(watched); watch(ctx, opt.Client, tell) }()
	defer func() { cancel(); <-watched }()

	m := &mode{opt: opt}
	m.say(cmp.Or(opt.Hello, "Type what the agent should do and press Enter. /help lists the commands."))
	for {
		select {
		case n := <-inbox:
			if n.eof {
				detach()
				if !m.turn {
					return m.exit, m.err
				}
				m.say("the input has ended: nobody can be asked any more; waiting for the turn")
				n = news{}
				m.exit.Quit = true // leave after the turn
			}
			if m.take(ctx, n) || m.err != nil {
				return m.exit, m.err
			}
		case <-ctx.Done():
			return m.exit, m.err
		}
	}
}

func readLines(in io.Reader, tell func(news)) {
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			line = strings.TrimRight(line, "\r\n")
			tell(news{line: &line})
		}
		if err != nil {
			tell(news{eof: true})
			return
		}
	}
}

func watch(ctx context.Context, client session.Client, tell func(news)) {
	after := uint64(0)
	for {
		b, err := client.Events(ctx, after)
		if err != nil {
			if errors.Is(err, session.ErrClosed) {
				tell(news{closed: true})
			}
			return
		}
		after = b.Events[len(b.Events)-1].Seq
		tell(news{events: b.Events})
	}
}

// take works one piece of news off and reports whether it was the last.
func (m *mode) take(ctx context.Context, n news) (done bool) {
	switch {
	case n.closed:
		return true
	case n.line != nil:
		return m.line(ctx, *n.line)
	case n.opened != nil:
		m.opened(n.opened)
	case n.info != nil:
		m.changed(*n.info)
	case n.ended != "":
		m.ended(n.ended, n.end)
	}
	for _, e := range n.events {
		m.event(e)
		if e.Kind == session.TurnEnded && m.exit.Quit {
			return true
		}
	}
	return false
}

// line is what the operator typed: an answer while an ask is open, else a command or a prompt.
func (m *mode) line(ctx context.Context, line string) (done bool) {
	switch strings.TrimSpace(line) {
	case "/quit":
		m.exit.Quit = true
		return true
	case "/stop":
		m.report(m.opt.Client.CancelTurn(ctx))
		return false
	case "/help":
		m.say("a line is a prompt, or an answer while an ask is open. /open shows a folded ask, /stop stops the turn, /quit ends.")
		m.say(answerHelp)
		for _, c := range session.Commands() {
			m.say(c.Form + ": " + c.Meaning)
		}
		return false
	case "/open":
		m.unfold()
		return false
	case "":
		return false
	}
	if a := m.current(); a != nil {
		m.answer(ctx, a, line)
		return false
	}
	if do, ok := session.Control(line); ok {
		m.report(do(ctx, m.opt.Client))
		return false
	}
	err := m.opt.Client.StartTurn(ctx, line)
	if errors.Is(err, session.ErrBusy) {
		err = m.opt.Client.Queue(ctx, line)
		if err == nil {
			m.say("queued")
		}
	}
	m.turn = m.turn || err == nil // its event is on the way
	m.report(err)
	return false
}

func (m *mode) report(err error) {
	if err != nil {
		m.say("! " + askbridge.Safe(err.Error()))
	}
}

// say writes one piece of text, and nothing over anything.
func (m *mode) say(text string) {
	if _, err := fmt.Fprintln(m.opt.Out, text); err != nil && m.err == nil {
		m.err = fmt.Errorf("the output is gone: %w", err)
	}
}

func (m *mode) now() time.Time { return m.opt.Clock.Now() }

// event writes what happens in the session. Deltas are left to the whole message that follows them.
func (m *mode) event(e session.Event) {
	who := ""
	if len(e.Path) > 0 {
		who = strings.Join(e.Path, " › ") + ": "
	}
	switch e.Kind {
	case session.TurnStarted:
		m.turn, m.exit.Failed = true, false
	case session.Said:
		m.say(who + e.Text)
	case session.Tool:
		m.say("* " + who + e.Tool + " " + e.Text)
	case session.ToolDone:
		if e.Failed {
			m.say("* failed: " + e.Text)
		}
	case session.AskDelivery:
		if e.Failed {
			m.say("! the answer did not reach the agent")
		}
	case session.Notice:
		m.say("! " + e.Text)
	case session.TurnEnded:
		m.turn, m.exit.Failed = false, e.Failed
		switch {
		case e.Failed:
			m.say("! the turn failed: " + e.Text)
		case e.Stopped:
			m.say("! " + e.Text)
		default:
			if e.Text != "" {
				m.say("= " + e.Text)
			}
			m.say("(the turn has ended)")
		}
	}
}
