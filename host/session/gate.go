package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/gate"
	"example.com/kitsoki/host/gate/wall"
	"example.com/kitsoki/host/trace"
)

// newGate is the session's gate, where the manager has what one needs.
func (s *Session) newGate() *gate.Gate {
	opt := s.m.opt.Gate
	if opt.Exec == nil {
		return nil
	}
	opt.SessionID = s.id
	opt.Record = func(ctx context.Context, e host.Event) error {
		s.observe(e)
		return s.keep(ctx, e)
	}
	opt.Notice = func(sentence string) { s.emit(Event{Kind: Notice, Text: sentence}) }
	return gate.New(opt)
}

// gated is a turn's gate as an agent is given it: the two packages do not know each other.
type gated struct{ *gate.Turn }

var _ agent.Gate = gated{}

func (g gated) Enclose(ctx context.Context, l agent.Launch) (agent.Launch, func() error, error) {
	out, done, err := g.Turn.Enclose(ctx, gate.Launch{
		Path: l.Path, Args: l.Args, Env: l.Env, Dir: l.Dir, Files: l.Files, Scratch: l.Scratch, Socket: l.Socket, Config: l.Config,
	})
	l.Path, l.Args, l.Env, l.Files, l.Attr = out.Path, out.Args, out.Env, out.Files, out.Attr
	return l, done, err
}

// wallWords say what holds an agent to the access ask.
func wallWords(l wall.Level) string {
	switch l {
	case wall.Kernel:
		return "walled"
	case wall.Files, wall.Namespace:
		return "files walled"
	}
	return "not enforced"
}

// verdictWords tell of a verdict that nobody was asked for; what the operator said is told with the ask.
func verdictWords(e host.WriteModeGranted) string {
	switch {
	case e.By == "operator":
		return ""
	case e.Granted:
		return "allowed by " + e.By + ": " + cutRunes(firstLine(e.Action), gistRunes)
	}
	return "denied (" + e.By + "): " + cutRunes(firstLine(e.Action), gistRunes) + ": " + e.Reason
}

// grantWords list what is granted, a line each.
func grantWords(all []gate.Grant) string {
	if len(all) == 0 {
		return "nothing is granted beyond single actions"
	}
	var lines []string
	for _, g := range all {
		lines = append(lines, fmt.Sprintf("grant %s: %s for this %s, used %d times; given with: %s", g.ID, g.Effect, g.Scope, g.Uses, cutRunes(askbridge.Safe(firstLine(g.Action)), gistRunes)))
	}
	return strings.Join(lines, "\n")
}

// Revoke implements Client.
func (s *Session) Revoke(_ context.Context, id string) error {
	if s.gate == nil {
		return errors.New("nothing is granted in this session")
	}
	if id == "" {
		s.emit(Event{Kind: Notice, Text: grantWords(s.gate.Grants())})
		return nil
	}
	if err := s.gate.Revoke(id); err != nil {
		return err
	}
	s.emit(Event{Kind: Notice, Text: fmt.Sprintf("grant %s is revoked", id)})
	s.emit(Event{Kind: Changed})
	return nil
}

// deniedIn says how often a turn's agent was not permitted something.
func deniedIn(e trace.TurnEnded) string {
	switch e.Denials {
	case 0:
		return ""
	case 1:
		return "1 action was denied"
	}
	return fmt.Sprintf("%d actions were denied", e.Denials)
}
