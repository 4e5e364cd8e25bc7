package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/host/session"
)

// liveWithin bounds what is asked of other processes: one that hangs is left out.
const liveWithin = 2 * time.Second

// liveSession is a session that runs in some process of this user.
type liveSession struct {
	session.Snapshot
	pid      int
	detached bool // its process has no terminal
	alone    bool // nor has another one been attached to it
	client   *control.Client
}

// liveSessions asks every running kitsoki for its sessions. Call done when the clients are not needed any more.
func liveSessions(ctx context.Context) (live []liveSession, done func(), err error) {
	runtimeDir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		return nil, nil, lacking("no place for sockets: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, liveWithin)
	defer cancel()
	clients, err := control.All(ctx, runtimeDir)
	if err != nil {
		return nil, nil, lacking("other processes cannot be found: %w", err)
	}
	found := make([][]liveSession, len(clients))
	var asking sync.WaitGroup
	for i, c := range clients {
		asking.Go(func() {
			info, err := c.Info(ctx)
			if err != nil {
				return
			}
			snaps, err := c.Sessions(ctx)
			if err != nil {
				return
			}
			for _, s := range snaps {
				found[i] = append(found[i], liveSession{Snapshot: s, pid: info.PID, detached: info.Detached, alone: info.Detached && info.Attached == 0, client: c})
			}
		})
	}
	asking.Wait()
	for _, of := range found {
		live = append(live, of...)
	}
	return live, func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}, nil
}

// where says in which process a live session is.
func (l liveSession) where() string {
	if l.detached {
		return fmt.Sprintf("detached, process %d", l.pid)
	}
	return fmt.Sprintf("live, process %d", l.pid)
}

// pickLive finds the live session with an id or the beginning of one; without one, the only one there is, or the only
// one that has no terminal.
func pickLive(live []liveSession, id string) (liveSession, error) {
	var fits, bare []liveSession
	for _, l := range live {
		if l.ID == id {
			return l, nil
		}
		if id == "" && session.IsOfGuests(l.ID) {
			continue // it takes no prompts, so nobody means it without saying so
		}
		if strings.HasPrefix(l.ID, id) {
			fits = append(fits, l)
			if l.detached {
				bare = append(bare, l)
			}
		}
	}
	if id == "" && len(bare) == 1 {
		fits = bare
	}
	switch {
	case len(fits) == 1:
		return fits[0], nil
	case len(fits) == 0 && id == "":
		return liveSession{}, &exitError{code: exitUsage, err: fmt.Errorf("no session runs now; kitsoki sessions lists those that can be taken up again")}
	case len(fits) == 0:
		return liveSession{}, &exitError{code: exitUsage, err: fmt.Errorf("no session %s runs now; kitsoki sessions lists all", askbridge.Safe(id))}
	}
	var names []string
	for _, l := range fits {
		names = append(names, fmt.Sprintf("%s (%s, %s)", l.ID, l.Title, l.where()))
	}
	return liveSession{}, &exitError{code: exitUsage, err: fmt.Errorf("several sessions run now; say which: %s", strings.Join(names, ", "))}
}
