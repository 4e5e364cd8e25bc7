package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"example.com/kitsoki/host"
)

// run is the state of one run of the agent: an attempt of a call.
type run struct {
	cmd    Command
	req    Request
	obs    Observer
	askers *askers
	owner  *owner
	asks   bool // the agent was given the ask tool

	operator host.OperatorPrompter // whom the gate asks; nil: nobody

	mu     sync.Mutex // guards all below
	listed bool       // the grandchild was asked for its tools
	init   Init
	ended  *Ended
	spent  float64  // US dollars, of all results
	denied []string // calls that were not permitted, of all results
	seen   changes

	message  string // id of the agent's last message
	requests int    // messages of the agent itself, each of which took a request to its model
	stderr   string // what it said there last; set when it has ended

	odd    string // the last line that is no event, which can be an agent's last words
	broken error  // why the dispatch has to end early
}

var errBroken = errors.New("the dispatch cannot go on")

func (r *run) start(ctx context.Context, l Launch) (Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l, opened, err := r.enclose(ctx, l)
	defer func() {
		if err := opened(); err != nil {
			r.obs.Notice(fmt.Sprintf("the wall around the agent: %v", err))
		}
	}()
	if err != nil {
		return Result{}, failf(err, "the agent was not started, because it could not be held to what you allow: %v", err)
	}
	dec := &decoder{}
	lines := &lineWriter{line: func(line []byte) {
		r.obs.Line(line)
		for _, e := range dec.decode(line) {
			if err := r.take(e); err != nil {
				stop(err)
			}
		}
	}}
	var stderr tail
	end, err := runProcess(ctx, process{
		path: l.Path, args: l.Args, dir: l.Dir, env: l.Env, files: l.Files, attr: l.Attr, sockets: r.req.gated(), stdin: r.req.Prompt, owner: r.owner, stdout: lines, stderr: &stderr,
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return Result{}, failf(cause, "the turn was stopped before the agent %q was started", r.cmd.Name)
	}
	if err != nil {
		return Result{}, startFailure(r.cmd, r.req.Dir, err)
	}
	lines.flush()
	if n := len(end.left); n > 0 {
		r.obs.Notice(fmt.Sprintf("the agent left %d processes that could not be ended; their ids: %s", n, joinInts(end.left)))
	}
	r.stderr = string(stderr.buf) // the process is gone, and its readers with it
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
	case Text:
		r.spoke(ev.Parent, ev.MessageID)
	case ToolUse:
		r.spoke(ev.Parent, ev.MessageID)
		r.askers.saw(ev)
		r.seen.called(ev)
	case ToolResult:
		r.seen.came(ev, r.dir())
	case Ended:
		r.ended = &ev
		r.spend(ev)
		r.denied = union(r.denied, ev.Denied) // measured: each result names those since the one before
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
	r.obs.Event(e, r.askers.path(parentOf(e)))
	return err
}

// spoke counts the messages of the agent itself. A message has several blocks, one behind the other.
func (r *run) spoke(parent, message string) {
	if parent == "" && message != r.message {
		r.message = message
		r.requests++
	}
}

// spend adds up the costs of a run. A result that does not tell them apart counts from the start of the run.
func (r *run) spend(e Ended) {
	if e.OwnCost {
		r.spent += e.CostUSD
	} else {
		r.spent = e.CostUSD
	}
}

// dir is where the agent works.
func (r *run) dir() string {
	if r.init.Dir != "" {
		return r.init.Dir
	}
	return r.req.Dir
}

// knowsNot reports whether the agent ended at once, because it does not know one of its flags.
func (r *run) knowsNot(flag string) bool {
	return r.ended == nil && r.init.Conversation == "" &&
		strings.Contains(r.stderr, "unknown option") && strings.Contains(r.stderr, flag)
}

func (r *run) toolsListed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = true
}

func (r *run) opened(toolUseID string, a host.OpenedAsk) {
	if _, ok := a.(*recalled); ok {
		return // nobody sees it
	}
	r.askers.opened(toolUseID, a)
	r.obs.Asker(a.Info().Asker)
}
