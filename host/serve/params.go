package serve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
)

// params are those of a verb. What a call can leave out is empty or nil.
type params struct {
	prompt, session string
	agent, model    string
	dir, access     string
	effort, system  string
	tools           []string
	schema          json.RawMessage
	budget, limit   *float64
	turns, retries  *int
	events          bool
}

// maxSeconds keeps a limit within what a time.Duration can hold, and within reason: a year.
const maxSeconds = 366 * 24 * 3600

// read reads the params of a verb and names all that is wrong with them.
func (s *Server) read(verb agent.Verb, raw json.RawMessage) (params, error) {
	var p params
	f := rpc.Params(raw,
		rpc.Field{Name: "prompt", Want: "a string", Into: &p.prompt},
		rpc.Field{Name: "session", Want: "a string, the id of a session to go on with", Into: &p.session},
		rpc.Field{Name: "agent", Want: "one of " + strings.Join(s.opt.Manager.Agents, ", "), Into: &p.agent},
		rpc.Field{Name: "model", Want: "a string", Into: &p.model},
		rpc.Field{Name: "dir", Want: "the absolute path of a directory", Into: &p.dir},
		rpc.Field{Name: "access", Want: "read, ask, edit or full", Into: &p.access},
		rpc.Field{Name: "effort", Want: "one of " + strings.Join(agent.Efforts(), ", "), Into: &p.effort},
		rpc.Field{Name: "system_prompt", Want: "a string", Into: &p.system},
		rpc.Field{Name: "tools", Want: "a list of the names of tools", Into: &p.tools},
		rpc.Field{Name: "schema", Want: "an object, a JSON schema", Into: &p.schema},
		rpc.Field{Name: "budget_usd", Want: "a number above 0", Into: &p.budget},
		rpc.Field{Name: "limit_seconds", Want: "a number above 0", Into: &p.limit},
		rpc.Field{Name: "max_turns", Want: "a whole number above 0", Into: &p.turns},
		rpc.Field{Name: "retries", Want: "a whole number, 0 for none", Into: &p.retries},
		rpc.Field{Name: "events", Want: "true or false", Into: &p.events},
	)
	if string(p.schema) == "null" {
		p.schema = nil
	}
	s.check(verb, p, f)
	return p, f.Err()
}

// check says what is wrong with params that are of the right kind.
func (s *Server) check(verb agent.Verb, p params, f *rpc.Faults) {
	for field, words := range map[string]string{"model": p.model, "dir": p.dir, "system_prompt": p.system} {
		if strings.ContainsRune(words, 0) {
			f.Add(field, "it has a NUL in it, which no argument of a program can have")
		}
	}
	if strings.TrimSpace(p.prompt) == "" {
		f.Add("prompt", "expected words for the agent, there are none")
	}
	if p.agent != "" && !slices.Contains(s.opt.Manager.Agents, p.agent) {
		f.Add("agent", "expected one of %s, got %q", strings.Join(s.opt.Manager.Agents, ", "), p.agent)
	}
	if p.access != "" {
		if _, err := agent.ParseAccess(p.access); err != nil {
			f.Add("access", "expected read, ask, edit or full, got %q", p.access)
		}
	}
	switch {
	case p.dir == "":
	case p.session != "":
		f.Add("dir", "a session keeps its directory; leave it out when you go on with one")
	case !filepath.IsAbs(p.dir):
		f.Add("dir", "expected an absolute path, got %q", p.dir)
	default:
		if info, err := os.Stat(p.dir); err != nil || !info.IsDir() {
			f.Add("dir", "there is no directory %q", p.dir)
		}
	}
	if p.budget != nil && *p.budget <= 0 {
		f.Add("budget_usd", "expected a number above 0, got %v", *p.budget)
	}
	if p.limit != nil && (*p.limit <= 0 || *p.limit > maxSeconds) {
		f.Add("limit_seconds", "expected a number above 0 and up to %d, got %v", maxSeconds, *p.limit)
	}
	if p.turns != nil && *p.turns <= 0 {
		f.Add("max_turns", "expected a whole number above 0, got %d", *p.turns)
	}
	if p.retries != nil && (*p.retries < 0 || *p.retries > maxRetries) {
		f.Add("retries", "expected a whole number from 0 to %d, got %d", maxRetries, *p.retries)
	}
	checkWithAgent(verb, p, f)
}

const maxRetries = 20

// checkWithAgent lets the agent's own rules speak of each field.
func checkWithAgent(verb agent.Verb, p params, f *rpc.Faults) {
	for _, c := range []struct {
		field string
		req   agent.Request
	}{
		{"effort", agent.Request{Verb: agent.Ask, Effort: p.effort}},
		{"tools", agent.Request{Verb: agent.Ask, Tools: p.tools}},
		{"system_prompt", agent.Request{Verb: agent.Ask, SystemPrompt: p.system}},
		{"schema", agent.Request{Verb: verb, Schema: p.schema}},
	} {
		if err := c.req.Check(); err != nil {
			f.Add(c.field, "%v", err)
		}
	}
}

// input is what the session's turn works off.
func (p params) input(verb agent.Verb) session.Input {
	in := session.Input{
		Prompt: p.prompt, Verb: verb, Schema: p.schema, Effort: p.effort, SystemPrompt: p.system, Tools: p.tools,
	}
	if p.budget != nil {
		in.BudgetUSD = *p.budget
	}
	if p.limit != nil {
		in.Limit = max(1, time.Duration(*p.limit*float64(time.Second))) // 0 would be no limit of its own
	}
	if p.turns != nil {
		in.MaxTurns = *p.turns
	}
	if p.retries != nil {
		in.Retries = *p.retries
		if in.Retries == 0 {
			in.Retries = -1 // none; 0 stands for the default
		}
	}
	return in
}
