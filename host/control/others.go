package control

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

// Timings of the look-out for other processes.
const (
	lookEvery  = time.Second     // a directory is read: what that costs cannot be seen
	dialWithin = 2 * time.Second // a process that hangs takes a connection and says nothing
	tryAgain   = 10 * time.Second
)

// Others are all running kitsoki of this user but this process, as they come and go, with their asks.
type Others struct {
	runtime, surface string
	self             int // the process whose sockets are left out
	show             func(ctx context.Context, c *Client, a host.Ask, q Question)
	stop             context.CancelFunc
	all              sync.WaitGroup
}

// Follow calls show for each ask that is open in another process or opens there, also in those that start later, as
// [Client.Watch] does. It looks for new ones once a second. A process that is broken or slow holds up nobody: each has
// goroutines of its own, which Close waits for.
func Follow(ctx context.Context, runtime, surface string, show func(ctx context.Context, c *Client, a host.Ask, q Question)) *Others {
	o := &Others{runtime: runtime, surface: surface, self: os.Getpid(), show: show}
	return o.start(ctx)
}

func (o *Others) start(ctx context.Context) *Others {
	ctx, o.stop = context.WithCancel(ctx)
	o.all.Go(func() { o.look(ctx) })
	return o
}

// Close lets go of every ask, and of the processes.
func (o *Others) Close() {
	o.stop()
	o.all.Wait()
}

// look finds processes that have come.
func (o *Others) look(ctx context.Context) {
	var mu sync.Mutex
	known := map[string]bool{} // guarded by mu; sockets that somebody works on
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		paths, _ := Find(o.runtime) // a directory that cannot be read now can be later
		mu.Lock()
		for _, path := range slices.DeleteFunc(paths, func(p string) bool { return known[p] || pidOf(p) == o.self }) {
			known[path] = true
			o.all.Go(func() {
				o.follow(ctx, path)
				mu.Lock()
				defer mu.Unlock()
				delete(known, path)
			})
		}
		mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// follow shows the asks of one process until it is gone. After one that does not do as it should it rests, before it is
// tried again.
func (o *Others) follow(ctx context.Context, path string) {
	if o.watch(ctx, path) {
		return
	}
	rest := time.NewTimer(tryAgain)
	defer rest.Stop()
	gone := time.NewTicker(lookEvery)
	defer gone.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
			return
		case <-gone.C:
			if _, err := os.Stat(path); err != nil {
				return
			}
		}
	}
}

// watch shows the asks of one process until it ends. It reports whether it can be tried again at once.
func (o *Others) watch(ctx context.Context, path string) bool {
	within, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	c, err := Dial(within, path)
	if err != nil {
		sweep(path)
		return within.Err() == nil // it was refused, which costs nothing: it may be just about to listen
	}
	defer func() { _ = c.Close() }() // an error means that it ended no other way
	w, err := c.Watch(within, "", o.surface, func(ctx context.Context, a host.Ask, q Question) { o.show(ctx, c, a, q) })
	if err != nil {
		return false
	}
	defer w.Close()
	select {
	case <-ctx.Done():
	case <-c.Gone():
	}
	return true
}
