package control

import (
	"context"
	"fmt"
	"os"

	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// attachment is the presence that a connection declared for one session, as often as it has surfaces of it.
type attachment struct {
	count   int
	release func()
}

// attach declares presence for a session until it is detached or the connection ends. It is done in the order of the
// requests: a turn that is started after it has an operator. The asks themselves come by a subscription.
func (s *Server) attach(_ context.Context, r *rpc.Request) rpc.Work {
	one, err := s.sessionParams(r.Params)
	if err != nil {
		return rpc.Fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.attached[r.Conn]
	if all == nil {
		all = map[string]*attachment{}
		s.attached[r.Conn] = all
		s.ends.Go(func() {
			<-r.Conn.Gone()
			s.gone(r.Conn)
		})
	}
	a := all[one.ID()]
	if a == nil {
		a = &attachment{release: one.Present()}
		all[one.ID()] = a
	}
	a.count++
	return nil
}

// detach takes one surface of a session back. Asks stay open.
func (s *Server) detach(_ context.Context, r *rpc.Request) rpc.Work {
	var id string
	if err := rpc.Params(r.Params, rpc.Field{Name: "session_id", Want: "a string", Into: &id}).Err(); err != nil {
		return rpc.Fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.attached[r.Conn][id]
	if a == nil {
		return nil
	}
	if a.count--; a.count == 0 {
		a.release()
		delete(s.attached[r.Conn], id)
	}
	return nil
}

// gone ends the presence that a connection declared.
func (s *Server) gone(c *rpc.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.attached[c] {
		a.release()
	}
	delete(s.attached, c)
}

// Attached is how many connections have a surface attached to a session of this process.
func (s *Server) Attached() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, all := range s.attached {
		if len(all) > 0 {
			n++
		}
	}
	return n
}

// home is what the terminal of a process is called in it.
const home = "terminal"

// Surface is what the terminal of a process is called in other processes, where there are several.
func Surface(pid int) string { return fmt.Sprintf("%s %d", home, pid) }

// surface is what a surface of this process is called elsewhere.
func surface(name string) string {
	if name == home {
		return Surface(os.Getpid())
	}
	return name
}

// elsewhere are events as they are told elsewhere.
func elsewhere(events []session.Event) []session.Event {
	out := make([]session.Event, len(events))
	for i, e := range events {
		e.Surface = surface(e.Surface)
		out[i] = e
	}
	return out
}
