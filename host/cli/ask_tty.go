package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/tui/linemode"
)

// askHere asks on the terminal of the script itself, in lines of text, whatever its input and output are. It is kept as a
// session of guests, like one that another kitsoki was asked.
func (f *askFlags) askHere(ctx context.Context, in []askbridge.Question) (askEnd, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return askEnd{}, lacking("%w, and there is no terminal here: %w", errNobody, err)
	}
	defer func() { _ = tty.Close() }()
	m := session.NewManager(session.ManagerOptions{State: sessionsDir(), Wait: f.wait})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		_ = m.Close(ctx, host.HostClosing) // what could not be kept cannot be mended
	}()
	s, done, err := m.Guests()
	if err != nil {
		return askEnd{}, err
	}
	defer done()
	here, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	release := s.Present() // before line mode is there
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, err := linemode.Run(here, linemode.Options{Client: s, In: tty, Out: tty, Hello: "A script asks. Ctrl+D ends it without an answer."})
		reason := "the terminal was left"
		if err != nil {
			reason = err.Error()
		}
		leave(&host.Unanswered{Outcome: host.NoOperator, Reason: reason})
	}()
	dir, _ := os.Getwd()
	qs := make([]host.OperatorQuestion, len(in))
	for i, q := range in {
		qs[i] = host.OperatorQuestion{Question: q.Question, Header: q.Header, MultiSelect: q.MultiSelect}
		for _, o := range q.Options {
			qs[i].Options = append(qs[i].Options, host.OperatorOption(o))
		}
	}
	end := askEnd{ID: host.NewID(), Outcome: string(host.Answered)}
	var opened host.OpenedAsk
	asking := host.WithAskRequest(here, host.AskRequest{
		ID: end.ID, Wait: f.wait, Asker: host.Asker{Agent: shellName, Path: []string{parentName()}, Dir: dir, Guest: true},
		Opened: func(a host.OpenedAsk) { opened = a },
	})
	end.Answers, err = m.Board().Ask(asking, s.ID(), qs)
	release()
	leave(nil)
	select {
	case <-over:
	case <-time.After(reachWithin): // a terminal's read cannot be called off
	}
	var u *host.Unanswered
	switch {
	case errors.As(err, &u):
		return askEnd{ID: end.ID, Outcome: string(u.Outcome), Error: u.Error()}, nil
	case err != nil:
		return askEnd{ID: end.ID, Outcome: "invalid", Error: err.Error()}, nil
	}
	if as, ok := opened.Result(); ok {
		_, end.Notes, _ = host.EncodeAnswers(qs, as)
	}
	opened.Delivered(true) // this process is who asked
	return end, nil
}
