package cli

import (
	"context"
	"errors"
	"os"
	"sync/atomic"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/host/session"
)

// process is what a running kitsoki is made of: its sessions, and the door through which other processes see them.
type process struct {
	manager  *session.Manager
	control  *control.Server
	done     func()
	detached atomic.Bool   // it has no terminal
	stopping chan struct{} // holds one: another process ends this one
}

// start puts a process together. Close it.
func (f *runFlags) start(ctx context.Context) (*process, error) {
	opt, done, err := f.managerOptions()
	if err != nil {
		return nil, err
	}
	runtimeDir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		done()
		return nil, lacking("no place for sockets: %w", err)
	}
	if err := control.Sweep(runtimeDir); err != nil {
		done()
		return nil, lacking("what a killed kitsoki left behind could not be removed: %w", err)
	}
	feed := control.NewFeed(os.Getpid())
	opt.Watch = feed
	p := &process{manager: session.NewManager(opt), done: done, stopping: make(chan struct{}, 1)}
	p.control, err = control.Serve(ctx, control.Options{
		Runtime: runtimeDir, Manager: p.manager, Feed: feed, Version: version(), Detached: p.detached.Load,
		Stop: func() {
			select {
			case p.stopping <- struct{}{}:
			default: // it was told already
			}
		},
	})
	if err != nil {
		done()
		return nil, lacking("other processes could not see this one: %w", err)
	}
	return p, nil
}

// close ends the door first, so that nobody is told of sessions that end with the process.
func (p *process) close(ctx context.Context, why host.Outcome) error {
	defer p.done()
	return errors.Join(p.control.Close(ctx), p.manager.Close(ctx, why))
}
