package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// call is one verb call: a run of the agent, and of Decide as many more as it takes, up to Request.Retries, to get a
// value that fits.
type call struct {
	d      *Dispatcher
	cmd    Command
	path   string // of the program, absolute
	req    Request
	obs    Observer
	schema *schema               // of Decide alone
	memory *memory               // nil: nobody can be asked
	gate   host.OperatorPrompter // whom the gate asks; nil: nobody

	requests int // to the model, of the agent itself, in all attempts
}

func (c *call) run(ctx context.Context) (Result, error) {
	var total Result
	req := c.req
	for n := 1; ; n++ {
		if c.memory != nil {
			c.memory.begin(n)
		}
		res, err := c.attempt(ctx, req)
		total = total.plus(res)
		total.Attempts = n
		var no *misfit
		if c.schema == nil || !errors.As(err, &no) {
			return total, err
		}
		if err := c.again(ctx, n, total, no); err != nil {
			return total, err
		}
		c.obs.Retried(Attempt{Number: n, Result: res, Reason: no.reason})
		c.obs.Notice(fmt.Sprintf("attempt %d brought no value that can be used (%s); attempt %d of %d follows", n, brief(no.reason), n+1, c.req.Retries+1))
		req = c.next(total, no)
	}
}

// misfit is why the value of an attempt cannot be used. It is an ErrSchema.
type misfit struct{ reason string }

func (m *misfit) Error() string { return m.reason }
func (m *misfit) Unwrap() error { return ErrSchema }

func unfit(reason string) *Failure {
	return failf(&misfit{reason: reason}, "%s", withWords("the agent returned no value that fits the schema", reason))
}

// attempt runs the agent once and checks what it returned.
func (c *call) attempt(ctx context.Context, req Request) (Result, error) {
	res, err := c.start(ctx, req)
	if err == nil && c.schema != nil {
		if reason := c.schema.misfit(res.Structured); reason != "" {
			err = unfit(reason)
		}
	}
	if err != nil {
		res.Structured = nil // whoever does not look at the error must not find a value
	}
	return res, err
}

// again says why no further attempt can follow.
func (c *call) again(ctx context.Context, n int, total Result, no *misfit) error {
	switch {
	case context.Cause(ctx) != nil:
		return stopped(ctx)
	case n > c.req.Retries && n > 1:
		return failf(no, "%s", withWords(fmt.Sprintf("the agent returned no value that fits the schema in %d attempts; the last time", n), no.reason))
	case n > c.req.Retries, total.Conversation == "":
		return unfit(no.reason)
	case c.req.BudgetUSD > 0 && total.CostUSD >= c.req.BudgetUSD:
		return c.req.outOfBudget("")
	case c.req.MaxTurns > 0 && c.requests >= c.req.MaxTurns:
		return c.req.outOfTurns("")
	}
	return nil
}

// next is the request of the attempt after a failed one: the same conversation, told what was wrong, with what is
// left of the limits.
func (c *call) next(total Result, no *misfit) Request {
	req := c.req
	req.Conversation = total.Conversation
	req.Prompt = "The value that you returned cannot be used: " + no.reason + "\n\n" +
		"Return it once more, so that it fits the schema. What you found out and what you were told still holds: do not repeat the work, and do not ask again."
	if req.BudgetUSD > 0 {
		req.BudgetUSD -= total.CostUSD
	}
	if req.MaxTurns > 0 {
		req.MaxTurns -= c.requests
	}
	return req
}

// start runs the agent once. A conversation is continued with today's system prompt, also by releases that keep
// the one it was begun with.
func (c *call) start(ctx context.Context, req Request) (Result, error) {
	fresh := req.Conversation != "" && !c.d.isOld(c.path)
	r, res, err := c.startOnce(ctx, req, fresh, c.obs.Started)
	if fresh && r.knowsNot(unrecordedFlag) {
		c.d.learnOld(c.path)
		r, res, err = c.startOnce(ctx, req, false, func([]string) {})
	}
	c.requests += r.requests
	return res, err
}

func (c *call) startOnce(ctx context.Context, req Request, fresh bool, started func([]string)) (*run, Result, error) {
	r := &run{
		cmd: c.cmd, req: req, obs: c.obs, owner: newOwner(c.d.Runtime, c.d.Env), asks: c.memory != nil, operator: c.gate,
		askers: newAskers(host.Asker{Agent: c.cmd.Name, Dir: req.Dir}),
	}
	r.askers.gated = req.gated()
	s, done, err := c.setUp(r)
	defer done()
	if err != nil {
		return r, Result{}, err
	}
	args := argv(c.cmd, req, s)
	if fresh {
		args = append(args, unrecorded()...)
	}
	started(append([]string{c.path}, args...))
	res, err := r.start(ctx, Launch{
		Path: c.path, Args: args, Env: environ(c.d.Env, c.cmd, s), Dir: req.Dir, Scratch: s.scratch, Socket: s.socket, Config: c.d.configOf(c.cmd),
	})
	if req.gated() {
		res.Denials = req.Gate.Denials() + r.askers.unbrought(r.denied)
	}
	return r, res, err
}

// setUp makes what a run is given in files, and a directory for them where there are any. Done, which is never nil,
// takes all of it away again.
func (c *call) setUp(r *run) (s setup, done func(), err error) {
	carried := c.d.carry(c.cmd, r.req, c.obs.Notice)
	carried.ask(r.req)
	s = setup{asks: r.asks, servers: carried.servers, fewer: carried.fewer, sources: carried.sources, dirs: carried.dirs, env: carried.env, deny: carried.deny}
	done = func() {}
	if !r.asks && !carried.needsDir() && !r.req.gated() {
		return s, done, nil
	}
	dir, err := askbridge.NewDir(c.d.Runtime)
	if err != nil {
		return s, done, failf(err, "the dispatch's directory could not be made: %v", err)
	}
	done = func() { _ = dir.Remove() }
	if err := carried.write(dir, &s); err != nil {
		return s, done, failf(err, "your settings could not be handed to the agent: %v", err)
	}
	if r.req.gated() {
		s.scratch = dir.Join("scratch")
		if err := os.Mkdir(s.scratch, 0o700); err != nil {
			return s, done, failf(err, "the agent's directory for scratch files could not be made: %v", err)
		}
	}
	if r.asks || r.req.gated() {
		var p host.OperatorPrompter = nobody{}
		if r.asks {
			p = c.memory
		}
		listener, err := c.d.listen(r, p, dir)
		if err != nil {
			return s, done, failf(err, "the operator's socket could not be made: %v", err)
		}
		done = func() {
			_ = listener.Close()
			_ = dir.Remove()
		}
		s.gate, s.socket = r.req.gated(), dir.Socket()
		s.servers = append(s.servers, operatorServerFor(c.d.Self, s.socket, r.asks, s.gate))
	}
	if len(s.servers) > 0 {
		if s.config, err = writeConfig(dir, s.servers); err != nil {
			return s, done, failf(err, "the agent's MCP configuration could not be written: %v", err)
		}
	}
	return s, done, nil
}

// plus is what two attempts came to, the second one last.
func (r Result) plus(next Result) Result {
	sum := next
	if sum.Conversation == "" {
		sum.Conversation = r.Conversation
	}
	if sum.Model == "" {
		sum.Model = r.Model
	}
	sum.CostUSD += r.CostUSD
	sum.Usage = r.Usage.Add(next.Usage)
	sum.Turns += r.Turns
	sum.Denials = max(sum.Denials, r.Denials) // a gate's and a conversation's count go on
	sum.Files = union(slices.Clone(r.Files), next.Files)
	return sum
}

// outOfBudget and outOfTurns are the ends by limits. Words are the agent's own, for a limit that is not ours.
func (r Request) outOfBudget(words string) *Failure {
	if r.BudgetUSD == 0 {
		return failf(ErrBudget, "%s", withWords("the agent failed", words))
	}
	return failf(ErrBudget, "the agent was stopped, because its budget of $%s was used up before it was done; continue it, or give it more", money(r.BudgetUSD))
}

func (r Request) outOfTurns(words string) *Failure {
	if r.MaxTurns == 0 {
		return failf(ErrTurns, "%s", withWords("the agent failed", words))
	}
	return failf(ErrTurns, "the agent was stopped, because its limit of %d turns was reached before it was done; continue it, or give it more", r.MaxTurns)
}

// money is an amount with the places that it needs, two at least.
func money(usd float64) string {
	s := fmt.Sprintf("%.6f", usd)
	for strings.HasSuffix(s, "0") && len(s)-strings.IndexByte(s, '.') > 3 {
		s = s[:len(s)-1]
	}
	return s
}
