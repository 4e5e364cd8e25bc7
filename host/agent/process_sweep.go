package agent

import (
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// sweepEvery is the pause between two looks at the process table. A process that cannot be told is looked at for
// strangerRounds: one that changes into another program will have its environment again by then, and a zombie will
// have been reaped by whoever waits for it. Of ours nobody lets one lie: an agent is awaited from its start on.
const (
	sweepEvery     = 5 * time.Millisecond
	strangerRounds = 20
)

// sweep ends what is left of the dispatch after its agent ended, whatever group or session it went to, and reaps
// it. It returns the ids of those that are still there when the time is over or that cannot be ended, such as a
// program that runs as another user.
//
// The dispatch's are: the agent's process group; the processes below us that carry its mark; and all that was ever
// seen below one of these, whatever became of its environment. Nothing else is signalled. A daemon that took off
// its mark (env -i, a title written over the environment) and lost its parent before anybody looked is not found.
//
// The table is no snapshot: a process that forks and exits while it is read can hide its child. So it is over only
// when there was nothing twice.
func (o *owner) sweep(limit time.Duration) []int {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	quiet := 0
	for end := time.Now().Add(limit); ; <-tick.C {
		left, wait := o.round(processes())
		quiet++
		if wait {
			quiet = 0
		}
		if quiet == 2 || !time.Now().Before(end) {
			return left
		}
	}
}

// round looks once. wait means that there is something that another look can change.
func (o *owner) round(table []proc) (left []int, wait bool) {
	for _, p := range o.below(os.Getpid(), table) {
		ours := o.known[p.identity]
		switch {
		case p.dead && p.parent == os.Getpid():
			if ours || !o.unclear(p) {
				// An orphan that died before anybody saw whose it was is ours to reap too. An error means that
				// somebody else has done it.
				_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
			} else {
				wait = true
			}
		case !ours:
			wait = wait || o.silent[p.identity] && o.unclear(p)
		case p.dead: // its parent is ours too, and ends
			wait = true
		default:
			err := p.end()
			if errors.Is(err, unix.ESRCH) {
				err = nil
			}
			left = append(left, p.pid)
			wait = wait || err == nil
		}
	}
	return left, wait
}

// unclear reports whether it is too early to give a process up that cannot be told.
func (o *owner) unclear(p proc) bool {
	o.strangers[p.identity]++
	return o.strangers[p.identity] <= strangerRounds
}

// below lists all processes below pid, parents first, and notes which of them are the dispatch's.
func (o *owner) below(pid int, table []proc) []proc {
	children := map[int][]proc{}
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	out := slices.Clone(children[pid])
	for i := 0; i < len(out); i++ {
		p := out[i]
		if !o.known[p.identity] && o.has(p) {
			o.known[p.identity] = true
		}
		for _, c := range children[p.pid] {
			if o.known[p.identity] {
				o.known[c.identity] = true
			}
			out = append(out, c)
		}
	}
	return out
}

func (o *owner) has(p proc) bool {
	if o.group != 0 && p.group == o.group {
		return true
	}
	marks, told := marksOf(p.pid)
	o.silent[p.identity] = !told
	return slices.ContainsFunc(marks, func(m mark) bool { return m.id == o.mark.id })
}

// killedFor bounds SweepKilled.
const killedFor = time.Second

// SweepKilled ends the processes of dispatches whose kitsoki was killed before it could, and returns how many
// there were. They are known by their mark: it names a process that is gone, and that had this runtime directory.
// What this process itself was started from is left alone, and so is what another kitsoki, still alive, has
// started. It takes a second at most.
//
// A [Dispatcher] does it before its first dispatch.
func SweepKilled(runtime string, environ []string) int {
	s := killedSweep{namespace: namespaceOf(runtime), spared: marksOfEnviron(environ), ended: map[identity]bool{}}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for end := time.Now().Add(killedFor); time.Now().Before(end); <-tick.C {
		if !s.round(processes()) {
			break
		}
	}
	return len(s.ended)
}

type killedSweep struct {
	namespace string
	spared    []mark // of the dispatches that we run inside of
	ended     map[identity]bool
}

// round ends what it finds and reports whether there was anything.
func (s killedSweep) round(table []proc) (found bool) {
	byID := map[int]proc{}
	for _, p := range table {
		byID[p.pid] = p
	}
	var ancestors []int
	for pid := os.Getpid(); pid > 1 && !slices.Contains(ancestors, pid); pid = byID[pid].parent {
		ancestors = append(ancestors, pid)
	}
	for _, p := range table {
		marks, _ := marksOf(p.pid)
		if p.dead || slices.Contains(ancestors, p.pid) || !s.orphaned(marks, byID) {
			continue
		}
		if p.end() == nil {
			found = true
			s.ended[p.identity] = true
		}
	}
	return found
}

// orphaned reports whether there are marks and every one of them names an owner that is gone.
func (s killedSweep) orphaned(marks []mark, table map[int]proc) bool {
	for _, m := range marks {
		owner, there := table[m.host]
		alive := there && !owner.dead && owner.started == m.started
		spared := slices.ContainsFunc(s.spared, func(o mark) bool { return o.id == m.id })
		if alive || spared || m.namespace != s.namespace {
			return false
		}
	}
	return len(marks) > 0
}
