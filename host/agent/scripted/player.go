package scripted

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const modelName = "scripted"

// player plays one scenario once.
type player struct {
	sc     *Scenario
	opt    options
	prompt string
	pace   time.Duration
	out    *stream
	tools  *toolbox
	memory memory
	usage  usage

	rest  func(ctx context.Context, d time.Duration) error // a pause that ends with ctx, with its cause
	since func() time.Duration                             // since the run began

	ended atomic.Bool // a result was printed and nothing was said since
	exit  int         // code that the last result asked for; of the agent's own goroutine
	turns int         // messages of the agent itself; of its goroutine

	mu      sync.Mutex // guards all below
	waiting []call     // the agent's own calls that have no result yet
	uses    int        // tool calls of the agent itself
	denials []event
	value   jsonValue // what the run returns, when it has a schema
}

// Why a run ends before its steps do.
var (
	errInterrupted = errors.New("interrupted")
	errTerminated  = errors.New("terminated")
	errMaxTurns    = errors.New("the turns are used up")
)

// exitError ends the process at once with a code, as a crash would: nothing more is printed.
type exitError struct{ code int }

func (e *exitError) Error() string { return "the scenario ends the process" }

// run plays the scenario to its end and prints the result. An error is a fault of the scenario or of the output,
// or says why the run ended before.
func (p *player) run(ctx context.Context) error {
	main := &voice{p: p}
	if err := p.init(); err != nil {
		return err
	}
	p.usage.read(p.prompt)
	err := main.play(ctx, p.sc.Steps)
	switch {
	case errors.Is(err, errNobody):
		err = p.alone(ctx, main)
	case errors.Is(err, errInterrupted):
		return p.interrupted(main)
	case errors.Is(err, errMaxTurns):
		p.exit = exitFailed
		return p.end(ending{
			isError: true, subtype: "error_max_turns", reason: "max_turns",
			errors: []string{fmt.Sprintf("Reached maximum number of turns (%d)", p.opt.maxTurns)},
		})
	}
	if err != nil {
		return err
	}
	if p.ended.Load() {
		return nil
	}
	p.mu.Lock()
	end := ending{text: main.last, structured: p.value}
	p.mu.Unlock()
	if len(end.structured) > 0 {
		end.text = string(end.structured)
	}
	return errors.Join(main.stop("end_turn"), p.end(end))
}

// alone says what the scenario assumes when nobody can be asked.
func (p *player) alone(ctx context.Context, v *voice) error {
	text, err := p.expand(p.sc.WithoutOperator)
	if err != nil {
		return err
	}
	return v.say(ctx, words(strings.TrimSpace(text)), p.pace)
}

// interrupted ends the stream as claude does after SIGINT: open calls get a result, and the run is a failure
// although the exit code is 0.
func (p *player) interrupted(v *voice) error {
	p.mu.Lock()
	open := slices.Clone(p.waiting)
	p.mu.Unlock()
	reason, words := "aborted_streaming", "[Request interrupted by user]"
	for _, c := range open {
		reason, words = "aborted_tools", "[Request interrupted by user for tool use]"
		if err := v.toolResult(c, rejected()); err != nil {
			return err
		}
	}
	if err := v.prompt(words); err != nil {
		return err
	}
	return p.end(ending{isError: true, subtype: "error_during_execution", reason: reason, errors: []string{"the run was interrupted"}})
}

// init prints system/init, which names the tools and says how the MCP servers fared.
func (p *player) init() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	servers := []event{}
	for _, s := range p.tools.servers {
		servers = append(servers, event{"name": s.cfg.name, "status": s.status(), "source": "dynamic"})
	}
	return p.out.emit(event{
		"type": "system", "subtype": "init", "cwd": dir, "tools": p.tools.names(), "mcp_servers": servers,
		"model": modelName, "permissionMode": p.opt.permissionMode, "output_style": "default",
	})
}

// opened notes a call that was printed, settled that its result was. Sub-agents' calls are theirs.
func (p *player) opened(v *voice, c call) {
	if v.sub != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses++
	p.waiting = append(p.waiting, c)
}

func (p *player) settled(c call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = slices.DeleteFunc(p.waiting, func(w call) bool { return w.useID == c.useID })
}

// deny notes a call that nobody permitted.
func (p *player) deny(c call, message string) error {
	p.mu.Lock()
	p.denials = append(p.denials, event{"tool_name": c.name, "tool_use_id": c.useID, "tool_input": c.input})
	p.mu.Unlock()
	return p.out.emit(event{
		"type": "system", "subtype": "permission_denied", "tool_name": c.name, "tool_use_id": c.useID, "message": message,
	})
}

// returns notes the value of the run. The last one counts.
func (p *player) returns(value jsonValue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value = value
}

// ending is what a result event says beside the counts.
type ending struct {
	text            string
	isError         bool
	subtype, reason string
	errors          []string
	structured      jsonValue
}

// end prints a result event.
func (p *player) end(e ending) error {
	if e.subtype == "" {
		e.subtype = "success"
	}
	if e.reason == "" {
		e.reason = "completed"
	}
	p.mu.Lock()
	turns, denials := p.uses+1, slices.Clone(p.denials)
	p.mu.Unlock()
	if denials == nil {
		denials = []event{}
	}
	took := p.since().Milliseconds()
	result := event{
		"type": "result", "subtype": e.subtype, "is_error": e.isError, "terminal_reason": e.reason,
		"num_turns": turns, "duration_ms": took, "duration_api_ms": took, "total_cost_usd": 0.0,
		"usage": event{
			"input_tokens": p.usage.input(), "output_tokens": p.usage.output(),
			"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
		},
		"permission_denials": denials,
	}
	if len(e.errors) > 0 {
		result["errors"] = e.errors
	} else {
		result["result"] = e.text
	}
	if p.opt.schema != "" {
		result["structured_output"] = e.structured
	}
	p.ended.Store(true)
	return p.out.emit(result)
}

// usage counts words for tokens. There is no model that would count otherwise, and no cost.
type usage struct{ in, out atomic.Int64 }

func (u *usage) read(text string) { u.in.Add(int64(len(strings.Fields(text)))) }
func (u *usage) said(text string) { u.out.Add(int64(len(strings.Fields(text)))) }
func (u *usage) input() int64     { return u.in.Load() }
func (u *usage) output() int64    { return u.out.Load() }
