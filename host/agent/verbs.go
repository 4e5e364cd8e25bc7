package agent

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Verb is one of the four ways a turn dispatches an agent.
type Verb string

// The verbs.
const (
	Ask      Verb = "ask"      // reads and answers in prose
	Decide   Verb = "decide"   // reads and returns a value that fits a JSON schema
	Task     Verb = "task"     // may change files
	Converse Verb = "converse" // continues a conversation
)

// Verbs are all of them.
func Verbs() []Verb { return []Verb{Ask, Decide, Task, Converse} }

// ParseVerb reads a verb as a person gives it.
func ParseVerb(s string) (Verb, error) {
	if slices.Contains(Verbs(), Verb(s)) {
		return Verb(s), nil
	}
	return "", fmt.Errorf("verb %q is not known; use ask, decide, task or converse", s)
}

// Efforts are the levels of Request.Effort. claude goes on with its default after one that it does not know
// (measured with 2.1.332), so they are checked here.
func Efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

// onlyReads reports whether the agent gets no tool that changes anything.
func (r Request) onlyReads() bool { return r.Verb == Ask || r.Verb == Decide || r.Access == Read }

// maxArgument is what one argument can be at most, in bytes: the kernel's 128 KiB, less its end.
const maxArgument = 128<<10 - 1

// Check says what is wrong with a request, without starting anything. Run says the same, as an ErrRequest.
func (r Request) Check() error {
	err := r.check()
	if err == nil && r.Verb == Decide {
		_, err = compileSchema(r.Schema)
	}
	return err
}

// check is Check but for the schema's own faults.
func (r Request) check() error {
	if _, err := ParseVerb(string(r.Verb)); err != nil {
		return err
	}
	if r.Access != "" {
		if _, err := ParseAccess(string(r.Access)); err != nil {
			return err
		}
	}
	switch {
	case r.gated() && r.Gate == nil:
		return fmt.Errorf("access %s needs a gate, and there is none here", Gated)
	case r.Effort != "" && !slices.Contains(Efforts(), r.Effort):
		return fmt.Errorf("effort %q is not known; use %s", r.Effort, strings.Join(Efforts(), ", "))
	case r.BudgetUSD < 0 || math.IsNaN(r.BudgetUSD) || math.IsInf(r.BudgetUSD, 0):
		return fmt.Errorf("a budget of %v is none; use a number above 0", r.BudgetUSD)
	case r.MaxTurns < 0:
		return fmt.Errorf("a limit of %d turns is none; use a number above 0", r.MaxTurns)
	case r.Verb == Decide && len(r.Schema) == 0:
		return fmt.Errorf("%s needs a JSON schema", Decide)
	case r.Verb != Decide && len(r.Schema) > 0:
		return fmt.Errorf("%s returns words; a schema goes with %s", r.Verb, Decide)
	case len(r.Schema) > maxArgument:
		return fmt.Errorf("the schema has %d bytes, %d can be given to the agent", len(r.Schema), maxArgument)
	case len(r.appended(true)) > maxArgument, len(r.appended(false)) > maxArgument:
		return fmt.Errorf("the system prompt has %d bytes, which is more than can be given to the agent", len(r.SystemPrompt))
	}
	for _, tool := range r.Tools {
		if !toolName(tool) {
			return fmt.Errorf("%q is no tool's name; name the tools one by one, without patterns", tool)
		}
	}
	return nil
}

func toolName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// withDefaults fills in what a request leaves open.
func (r Request) withDefaults() Request {
	if r.Limit == 0 {
		r.Limit = DefaultLimit
	}
	switch {
	case r.Retries == 0:
		r.Retries = DefaultRetries
	case r.Retries < 0:
		r.Retries = 0
	}
	return r
}
