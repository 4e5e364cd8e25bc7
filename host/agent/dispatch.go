package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// Dispatcher starts agents. Its fields are not changed once it is in use.
type Dispatcher struct {
	Self    []string // how to start kitsoki itself, for the agent's grandchild
	Runtime string   // the directory that dispatches get theirs in, see askbridge.RuntimeDir
	Env     []string // the environment that agents inherit
}

// Observer hears what happens during a dispatch. Its functions are called one at a time, in the order of the
// stream, and should return soon: the agent waits meanwhile. Each may be nil.
type Observer struct {
	Line    func(raw []byte)                   // each line of the stream as it came, without its newline; valid during the call
	Event   func(e StreamEvent, path []string) // what it says, and the sub-agent that says it, outermost first
	Asker   func(host.Asker)                   // an ask was opened by this asker
	Notice  func(sentence string)              // something the operator should know
	Refused func(askbridge.Refusal)
}

// Run dispatches an agent and returns when it and everything it was given have ended. The operator's prompter
// is taken from the context: with one the agent gets the ask tool, without one it is told that nobody can be
// asked. An error is a *Failure; it wraps the context's cause when the run was stopped, and ErrNotFound when
// there is no such program.
func (d *Dispatcher) Run(ctx context.Context, cmd Command, req Request, obs Observer) (Result, error) {
	run := &run{
		cmd: cmd, req: req, obs: obs,
		askers: newAskers(host.Asker{Agent: cmd.Name, Dir: req.Dir}),
	}
	prompter, asks := host.OperatorPrompterFrom(ctx)
	run.asks = asks

	path, err := exec.LookPath(cmd.Path)
	if err != nil {
		return Result{}, failf(errors.Join(ErrNotFound, err), "the agent %q was not found: there is no program %s", cmd.Name, cmd.Path)
	}
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
	asks   bool // the agent was given the ask tool

	mu     sync.Mutex // guards all below
	listed bool       // the grandchild was asked for its tools
	init   Init
	ended  *Ended
	broken error // why the dispatch has to end early
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
	state, err := runProcess(ctx, process{
		path: path, args: args, dir: r.req.Dir, env: env, stdin: r.req.Prompt, stdout: lines, stderr: &stderr,
	})
	if err != nil {
		return Result{}, failf(err, "the agent %q could not be started: %v", r.cmd.Name, err)
	}
	lines.flush()
	return r.verdict(ctx, state, stderr.lastLine())
}

// take notes what one event means for the dispatch and passes it on. An error ends the dispatch.
func (r *run) take(e StreamEvent) error {
	r.mu.Lock()
	var err error
	switch ev := e.(type) {
	case Init:
		r.init = ev
		if status := ev.Servers[operatorServer]; r.asks && status == "failed" {
			err = failf(errBroken, "the agent could not start kitsoki's MCP server, so it cannot ask; the turn was stopped")
		}
	case ToolUse:
		r.askers.saw(ev)
	case Ended:
		r.ended = &ev
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

// verdict judges a run that has ended, by its result event and never by the exit code alone: an API error can
// come with exit code 1 and the subtype "success", an interrupted run with exit code 0.
func (r *run) verdict(ctx context.Context, state *os.ProcessState, lastWords string) (Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := Result{Conversation: r.init.Conversation, Model: r.init.Model}
	if r.ended != nil {
		model := res.Model
		res = r.ended.Result
		res.Model = model
	}
	switch cause := context.Cause(ctx); {
	case r.broken != nil:
		return res, r.broken
	case cause != nil && (r.ended == nil || r.ended.IsError):
		return res, failf(cause, "the turn was stopped")
	case r.ended == nil:
		how := "the agent ended without a result (" + describe(state) + ")"
		if lastWords != "" {
			how += ": " + lastWords
		}
		return res, failf(nil, "%s", how)
	case r.ended.IsError:
		return res, failf(nil, "the agent failed: %s", failureText(r.ended))
	}
	return res, nil
}

func describe(state *os.ProcessState) string {
	if code := state.ExitCode(); code >= 0 {
		return fmt.Sprintf("exit code %d", code)
	}
	return state.String()
}

func failureText(e *Ended) string {
	switch {
	case len(e.Errors) > 0:
		return strings.Join(e.Errors, "; ")
	case e.Text != "":
		return e.Text
	case e.Terminal != "":
		return e.Terminal
	}
	return e.Subtype
}
