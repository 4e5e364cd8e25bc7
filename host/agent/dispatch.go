package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// Dispatcher starts agents. Its fields are not changed once it is in use.
type Dispatcher struct {
	Self    []string // how to start kitsoki itself, for the agent's grandchild
	Runtime string   // the directory that dispatches get theirs in, see askbridge.RuntimeDir
	Env     []string // the environment that agents inherit

	first sync.Once // before the first dispatch
}

// Observer hears what happens during a dispatch. Its functions are called one at a time, in the order of the
// stream, and should return soon: the agent waits meanwhile. Each may be nil.
type Observer struct {
	Line    func(raw []byte)                   // each line of the stream as it came, without its newline; valid during the call
	Event   func(e StreamEvent, path []string) // what it says, and the sub-agent that says it, outermost first
	Asker   func(host.Asker)                   // an ask was opened by this asker
	Notice  func(sentence string)              // something the operator should know
	Refused func(askbridge.Refusal)

	Started    func(argv []string)                             // the agent is about to be started, by its path and arguments
	Normalised func(questionID string, notes []askbridge.Note) // an ask was mended; called while it is not open yet
}

// Run dispatches an agent and returns when it and everything it was given have ended. The operator's prompter
// is taken from the context: with one the agent gets the ask tool, without one it is told that nobody can be
// asked. An error is a *Failure; it wraps the context's cause when the run was stopped, and ErrNotFound when
// there is no such program.
func (d *Dispatcher) Run(ctx context.Context, cmd Command, req Request, obs Observer) (Result, error) {
	run := &run{
		cmd: cmd, req: req, obs: obs, owner: newOwner(d.Runtime, d.Env),
		askers: newAskers(host.Asker{Agent: cmd.Name, Dir: req.Dir}),
	}
	prompter, asks := host.OperatorPrompterFrom(ctx)
	run.asks = asks

	path, err := cmd.lookUp()
	if err != nil {
		return Result{}, err
	}
	d.first.Do(func() {
		_ = adoptOrphans() // fails on kernels before 3.4; the process group is ended there too
		SweepKilled(d.Runtime, d.Env)
	})
	var servers []server
	var configPath string
	if asks {
		dir, listener, err := d.listen(run, prompter)
		if err != nil {
			return Result{}, failf(err, "the operator's socket could not be made: %v", err)
		}
		defer func() { _ = dir.Remove() }()
		defer func() { _ = listener.Close() }()
		servers = []server{operatorServerFor(d.Self, dir.Socket())}
		if configPath, err = writeConfig(dir, servers); err != nil {
			return Result{}, failf(err, "the agent's MCP configuration could not be written: %v", err)
		}
	}
	args, err := argv(cmd, req, servers, configPath)
	if err != nil {
		return Result{}, failf(err, "%v", err)
	}
	if obs.Started != nil {
		obs.Started(append([]string{path}, args...))
	}
	return run.start(ctx, path, args, environ(d.Env, cmd))
}

// listen makes the directory and the socket of a dispatch.
func (d *Dispatcher) listen(run *run, p host.OperatorPrompter) (*askbridge.Dir, *askbridge.Listener, error) {
	dir, err := askbridge.NewDir(d.Runtime)
	if err != nil {
		return nil, nil, err
	}
	bridge := host.NewBridge(host.BridgeOptions{
		Prompter: p, SessionID: run.req.SessionID, Wait: run.req.AskWait,
		Asker:       run.askers.of,
		Opened:      run.opened,
		ToolsListed: func(askbridge.ToolsListed) { run.toolsListed() },
		Normalised:  run.obs.Normalised,
		Refused:     run.obs.Refused,
	})
	listener, err := askbridge.Listen(dir, bridge, askbridge.ListenOptions{})
	if err != nil {
		return nil, nil, errors.Join(err, dir.Remove())
	}
	return dir, listener, nil
}

func writeConfig(dir *askbridge.Dir, servers []server) (string, error) {
	config, err := mcpConfig(servers)
	if err != nil {
		return "", err
	}
	path := dir.Join("mcp.json")
	return path, os.WriteFile(path, config, 0o600)
}

// run is the state of one dispatch.
type run struct {
	cmd    Command
	req    Request
	obs    Observer
	askers *askers
	owner  *owner
	asks   bool // the agent was given the ask tool

	mu     sync.Mutex // guards all below
	listed bool       // the grandchild was asked for its tools
	init   Init
	ended  *Ended
	odd    string // the last line that is no event, which can be an agent's last words
	broken error  // why the dispatch has to end early
}

var errBroken = errors.New("the dispatch cannot go on")

func (r *run) start(ctx context.Context, path string, args, env []string) (Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	dec := &decoder{}
	lines := &lineWriter{line: func(line []byte) {
		if r.obs.Line != nil {
			r.obs.Line(line)
		}
		for _, e := range dec.decode(line) {
			if err := r.take(e); err != nil {
				stop(err)
			}
		}
	}}
	var stderr tail
	end, err := runProcess(ctx, process{
		path: path, args: args, dir: r.req.Dir, env: env, stdin: r.req.Prompt, owner: r.owner, stdout: lines, stderr: &stderr,
	})
	if err != nil {
		return Result{}, startFailure(r.cmd, r.req.Dir, err)
	}
	lines.flush()
	if n := len(end.left); n > 0 && r.obs.Notice != nil {
		r.obs.Notice(fmt.Sprintf("the agent left %d processes that could not be ended; their ids: %s", n, joinInts(end.left)))
	}
	return r.verdict(ctx, end.state, stderr.lastLine())
}

// take notes what one event means for the dispatch and passes it on. An error ends the dispatch.
func (r *run) take(e StreamEvent) error {
	r.mu.Lock()
	var err error
	switch ev := e.(type) {
	case Init:
		r.init = ev
		err = r.judgeServer(ev.Servers[operatorServer])
	case ToolUse:
		r.askers.saw(ev)
	case Ended:
		r.ended = &ev
	case Garbled:
		r.odd = ev.Line
	}
	if r.asks && !r.listed && modelEvent(e) {
		err = failf(errBroken, "the agent called its model before it knew of the ask tool, so it cannot ask; the turn was stopped")
	}
	if r.broken == nil {
		r.broken = err
	}
	r.mu.Unlock()
	if r.obs.Event != nil {
		r.obs.Event(e, r.askers.path(parentOf(e)))
	}
	return err
}

func (r *run) toolsListed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = true
}

func (r *run) opened(toolUseID string, a host.OpenedAsk) {
	r.askers.opened(toolUseID, a)
	if r.obs.Asker != nil {
		r.obs.Asker(a.Info().Asker)
	}
}
