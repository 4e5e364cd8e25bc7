package agent

import (
	"context"
	"errors"
	"os"
	"sync"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// Dispatcher starts agents. Its exported fields are not changed once it is in use.
type Dispatcher struct {
	Self    []string   // how to start kitsoki itself, for the agent's grandchild
	Runtime string     // the directory that dispatches get theirs in, see askbridge.RuntimeDir
	Env     []string   // the environment that agents inherit
	Clock   host.Clock // of Request.Limit; nil: the machine's

	first sync.Once // before the first dispatch

	mu   sync.Mutex      // guards all below
	old  map[string]bool // programs, by path, that do not know unrecordedFlag
	said map[string]bool // directories, whose settings were said not to count
}

// Run dispatches an agent and returns when it and everything it was given have ended. The operator's prompter
// is taken from the context: with one the agent gets the ask tool, without one it is told that nobody can be
// asked. Decide runs the agent again, in the same conversation, while its value does not fit the schema.
//
// An error is a *Failure; it wraps the context's cause when the run was stopped, and else one of the errors that are
// declared beside it where that fits.
func (d *Dispatcher) Run(ctx context.Context, cmd Command, req Request, obs Observer) (Result, error) {
	c := &call{d: d, cmd: cmd, req: req.withDefaults(), obs: obs.oneAtATime()}
	err := req.check()
	if err == nil && req.Verb == Decide {
		c.schema, err = compileSchema(req.Schema)
	}
	if err != nil {
		return Result{}, failf(errors.Join(ErrRequest, err), "%v", err)
	}
	if c.path, err = cmd.lookUp(); err != nil {
		return Result{}, err
	}
	d.first.Do(func() {
		_ = adoptOrphans() // fails on kernels before 3.4; the process group is ended there too
		SweepKilled(d.Runtime, d.Env)
	})
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	limit := newTimeLimit(d.clock(), c.req.Limit, func() {
		stop(failf(ErrTime, "the agent was stopped, because its %s were up before it was done; continue it, or give it more time", spoken(c.req.Limit)))
	})
	defer limit.end()
	if p, ok := host.OperatorPrompterFrom(ctx); ok {
		c.gate = limit.around(p)
		c.memory = newMemory(c.gate, c.obs.recall)
	}
	return c.run(ctx)
}

func (d *Dispatcher) clock() host.Clock {
	if d.Clock == nil {
		return host.SystemClock{}
	}
	return d.Clock
}

// listen makes the socket of a run.
func (d *Dispatcher) listen(run *run, p host.OperatorPrompter, dir *askbridge.Dir) (*askbridge.Listener, error) {
	opt := host.BridgeOptions{
		Prompter: p, SessionID: run.req.SessionID, Wait: run.req.AskWait,
		Asker:       run.askers.of,
		Opened:      run.opened,
		ToolsListed: func(askbridge.ToolsListed) { run.toolsListed() },
		Normalised:  run.obs.Normalised,
		Refused:     run.obs.Refused,
	}
	if run.req.gated() {
		opt.Permit, opt.Run = run.permit, run.req.Gate.Run
	}
	return askbridge.Listen(dir, host.NewBridge(opt), askbridge.ListenOptions{})
}

func writeConfig(dir *askbridge.Dir, servers []server) (string, error) {
	config, err := mcpConfig(servers)
	if err != nil {
		return "", err
	}
	path := dir.Join("mcp.json")
	return path, os.WriteFile(path, config, 0o600)
}

// isOld reports whether a program was seen not to know unrecordedFlag, learnOld that it was.
func (d *Dispatcher) isOld(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.old[path]
}

func (d *Dispatcher) learnOld(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.old == nil {
		d.old = map[string]bool{}
	}
	d.old[path] = true
}
