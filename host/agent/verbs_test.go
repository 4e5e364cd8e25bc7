package agent

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whatever the verb, without an operator there is no tool and no question.
func TestEveryVerbWithoutAnOperator(t *testing.T) {
	for _, verb := range Verbs() {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "steps:\n"+asksEach)
			s.headless = true
			req := Request{Verb: verb}
			if verb == Decide {
				req.Schema, req.Retries = dbSchema, -1
			}
			var init Init
			res, err := s.runs(req, Observer{Event: func(e StreamEvent, _ []string) {
				if i, ok := e.(Init); ok {
					init = i
				}
			}})
			if (verb == Decide) != errors.Is(err, ErrSchema) || res.Text != "Nobody can be asked." {
				t.Errorf("got %+v, %v", res, err)
			}
			if len(init.Servers) > 0 || slices.ContainsFunc(init.Tools, func(name string) bool { return strings.HasPrefix(name, "mcp__") }) {
				t.Errorf("the agent has %v of %v", init.Tools, init.Servers)
			}
		})
	}
}

// Mutating tools are not there for the verbs that read, whatever access says.
func TestVerbsThatReadHaveNoToolThatChangesAnything(t *testing.T) {
	for _, verb := range Verbs() {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "steps:\n- tool: {name: Write, input: {file_path: notes.md}}\n"+"- say: done\n")
			req := Request{Verb: verb, Access: Full}
			if verb == Decide {
				req.Schema, req.Retries = dbSchema, -1
			}
			var tools []string
			res, _ := s.runs(req, Observer{Event: func(e StreamEvent, _ []string) {
				if i, ok := e.(Init); ok {
					tools = i.Tools
				}
			}})
			reads := verb == Ask || verb == Decide
			if slices.Contains(tools, "Write") == reads || slices.Contains(tools, "Bash") == reads || (len(res.Files) == 0) != reads {
				t.Errorf("it has %v and changed %v", tools, res.Files)
			}
		})
	}
}

func TestFilesThatTheAgentChanged(t *testing.T) {
	s := newStage(t, `steps:
- tool: {name: Write, input: {file_path: new.md}}
- tool: {name: Edit, input: {file_path: /abs/../abs/old.md}}
- tool: {name: Edit, input: {file_path: new.md}}
- tool: {name: NotebookEdit, input: {notebook_path: n.ipynb}}
- tool: {name: Edit, input: {file_path: failed.md}, error: true, result: not found}
- tool: {name: Read, input: {file_path: read.md}}
- tool: {name: Write, input: [odd]}
- parent: {name: helper, steps: [{tool: {name: Write, input: {file_path: sub.md}}}, {say: ok}]}
- say: done
`)
	res, err := s.runs(Request{Verb: Task}, Observer{})
	want := []string{filepath.Join(s.dir, "new.md"), "/abs/old.md", filepath.Join(s.dir, "n.ipynb"), filepath.Join(s.dir, "sub.md")}
	if err != nil || res.Text != "done" || !slices.Equal(res.Files, want) {
		t.Errorf("got %q, %v; want %q", res.Files, err, want)
	}
}

// Files are reported of a run that failed, too, but not those whose call had no result.
func TestFilesOfAKilledAgent(t *testing.T) {
	s := newStage(t, "steps:\n- tool: {name: Write, input: {file_path: a.md}}\n- together: [{tool: {name: Write, input: {file_path: b.md}, takes: 1h}}, {die: {signal: KILL}}]\n")
	s.cmd.Env = append(s.cmd.Env, "KITSOKI_SCENARIO_PACE=1ms")
	res, err := s.runs(Request{Verb: Task}, Observer{})
	if err == nil || !slices.Equal(res.Files, []string{filepath.Join(s.dir, "a.md")}) {
		t.Errorf("got %q, %v", res.Files, err)
	}
}

// The id of a conversation is known from the start, so that a killed one can be continued.
func TestAKilledConversationCanBeContinued(t *testing.T) {
	s := newStage(t, "steps:\n- told: {words: again, then: [{say: I am back}], else: [{die: {signal: KILL}}]}\n")
	first, err := s.runs(Request{Verb: Converse}, Observer{})
	if err == nil || first.Conversation == "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	second, err := s.runs(Request{Verb: Converse, Prompt: "again", Conversation: first.Conversation}, Observer{})
	if err != nil || second.Text != "I am back" || second.Conversation != first.Conversation {
		t.Errorf("got %+v, %v", second, err)
	}
}

func TestLimitsOfTheAgentHaveTheirOwnErrors(t *testing.T) {
	const (
		budget = "- result: {error: true, subtype: error_max_budget_usd, terminal_reason: budget_exhausted, errors: ['Reached maximum budget ($0.05)']}\n"
		turns  = "- tool: {name: Read}\n- say: a\n- say: b\n- say: c\n"
	)
	for name, c := range map[string]struct {
		scenario string
		req      Request
		is       error
		sentence string
	}{
		"budget":         {budget, Request{Verb: Ask, BudgetUSD: 0.05}, ErrBudget, "the agent was stopped, because its budget of $0.05 was used up before it was done; continue it, or give it more"},
		"turns":          {turns, Request{Verb: Task, MaxTurns: 3}, ErrTurns, "the agent was stopped, because its limit of 3 turns was reached before it was done; continue it, or give it more"},
		"not our budget": {budget, Request{Verb: Ask}, ErrBudget, "the agent failed: Reached maximum budget ($0.05)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "steps:\n"+c.scenario)
			res, err := s.runs(c.req, Observer{})
			if !errors.Is(err, c.is) || err.Error() != c.sentence || res.Conversation == "" || res.Attempts != 1 {
				t.Errorf("got %+v, %v", res, err)
			}
			for _, other := range []error{ErrBudget, ErrTurns, ErrTime, ErrSchema} {
				if !errors.Is(other, c.is) && errors.Is(err, other) {
					t.Errorf("%v is also %v", err, other)
				}
			}
		})
	}
}

// A continued conversation gets the system prompt of today, also from a release that does not know how: that one is
// started again without the flag, once, and it is remembered.
func TestAnOldReleaseIsStartedWithoutWhatItDoesNotKnow(t *testing.T) {
	p := plays(t, `echo "$@" >>args
case "$*" in *--system-prompt-snapshot*)
	echo "error: unknown option '--system-prompt-snapshot'" >&2
	echo "(Did you mean --system-prompt?)" >&2
	exit 1 ;;
esac
`+success)
	started := 0
	for range 2 {
		req := Request{Verb: Converse, Conversation: "c", Prompt: "go", Dir: filepath.Dir(p.note)}
		res, err := p.d.Run(context.Background(), p.cmd, req, Observer{Started: func([]string) { started++ }})
		if err != nil || res.Text != "done" {
			t.Fatalf("got %+v, %v", res, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(p.note), "args"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(raw)), "\n"); len(lines) != 3 || started != 2 ||
		!strings.Contains(lines[0], "--resume c --system-prompt-snapshot off") || strings.Contains(lines[1]+lines[2], "snapshot") {
		t.Errorf("told of %d starts:\n%s", started, raw)
	}
}

// What a conversation has cost before is not what a run has cost.
func TestCostIsOfTheRun(t *testing.T) {
	result := func(total, own string) string {
		if own != "" {
			own = `,"model_usage_since_last_result":{"a":{"costUSD":` + own + `},"b":{"costUSD":1}}`
		}
		return `echo '{"type":"result","subtype":"success","is_error":false,"session_id":"c","total_cost_usd":` + total + own + `}'` + "\n"
	}
	for name, c := range map[string]struct {
		script string
		want   float64
	}{
		"counts the conversation":              {result("100", "2"), 3},
		"counts the conversation, two results": {result("100", "2") + result("103", "2"), 6},
		"counts the run":                       {result("4", ""), 4},
		"counts the run, two results":          {result("4", "") + result("7", ""), 7},
	} {
		t.Run(name, func(t *testing.T) {
			if res, err := plays(t, c.script).run(context.Background(), Observer{}); err != nil || res.CostUSD != c.want {
				t.Errorf("got %v, %v; want %v", res.CostUSD, err, c.want)
			}
		})
	}
}
