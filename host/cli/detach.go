package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/session"
)

// What becomes of the work when the terminal is lost.
const (
	hangupStay = "stay" // it goes on, and can be attached to
	hangupEnd  = "end"
)

// A process without a terminal ends by itself when nothing is left to do, and nobody came, for restAfter.
const (
	restAfter = 3 * time.Second
	lookEvery = 100 * time.Millisecond
)

// catch has the signals that would end the process kept, until release. A hangup by itself then ends nothing: whoever
// shows the terminal decides.
func catch() (signals <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGINT)
	return c, func() { signal.Stop(c) }
}

// busy reports whether something is left to do: a turn that runs, an ask that is open, a terminal that is attached. open
// is whether there is a session at all.
func (p *process) busy() (busy, open bool) {
	busy = p.control.Attached() > 0
	for _, s := range p.manager.Sessions() {
		snap, err := s.Snapshot(context.Background())
		if err != nil || snap.State == session.Closing {
			continue
		}
		open = true
		busy = busy || snap.State == session.Working || snap.State == session.Asking
	}
	return busy, open
}

// linger keeps a process without a terminal going until it is told to end, by a signal or from another process, or has
// nothing left to do. The presence that was declared for it is its own until then. With wait it first waits until
// somebody has come. It returns the signal; nil: there was none.
func (p *process) linger(signals <-chan os.Signal, wait bool) os.Signal {
	p.detached.Store(true)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	rested := time.Now()
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGHUP { // which may come once more
				return sig
			}
		case <-p.stopping:
			return nil
		case <-tick.C:
			busy, open := p.busy()
			wait = wait && p.control.Attached() == 0
			switch {
			case !open:
				return nil
			case busy || wait:
				rested = time.Now()
			case time.Since(rested) >= restAfter:
				return nil
			}
		}
	}
}

// leaveTerminal lets go of the terminal: nothing is read from it or written to it any more, whoever tries.
func leaveTerminal() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}
