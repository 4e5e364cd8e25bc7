package teatest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/hosttest"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

var dbSchema = json.RawMessage(`{"type":"object","properties":{"db":{"type":"string","minLength":3}},"required":["db"],"additionalProperties":false}`)

// verbRequest is a request of a verb that has all it needs.
func verbRequest(t *testing.T, verb agent.Verb) agent.Request {
	req := agent.Request{Verb: verb, Prompt: "build it", SessionID: "s", Dir: t.TempDir(), Access: agent.Edit, AskWait: time.Minute}
	if verb == agent.Decide {
		req.Schema = dbSchema
	}
	return req
}

// closing is what the model does when it is done: words, or the value of a decide.
func closing(verb agent.Verb, words string) messagesapi.Reply {
	if verb == agent.Decide {
		return messagesapi.Call("toolu_value", "StructuredOutput", map[string]string{"db": "SQLite"})
	}
	return messagesapi.Say(words)
}

// checkDone checks the result of a verb whose model closed with these words.
func checkDone(t *testing.T, verb agent.Verb, words string, res agent.Result, err error) {
	t.Helper()
	ok := err == nil && res.Conversation != "" && res.CostUSD > 0 && res.Attempts == 1
	if verb == agent.Decide {
		ok = ok && string(res.Structured) == `{"db":"SQLite"}`
	} else {
		ok = ok && res.Text == words && res.Structured == nil
	}
	if !ok {
		t.Errorf("got %+v, %v", res, err)
	}
}

// aMinute is a context without an operator that ends after a minute: the scripted models never tire.
func aMinute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// staffed is a context with an operator who does as they are told, and the outcomes of what was asked.
func staffed(t *testing.T, wait time.Duration, act func(ctx context.Context, a host.Ask) error) context.Context {
	t.Helper()
	board := host.NewSwitchboard(host.SwitchboardOptions{Wait: wait})
	board.Declare(nil)
	board.Attach("test", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		a, _ := host.AskFrom(ctx)
		if err := act(ctx, a); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}), nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := board.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return host.WithOperatorPrompter(aMinute(t), board)
}

// eachVerb runs a scenario with every verb, beside each other: most of their time is waiting.
func eachVerb(t *testing.T, scenario func(t *testing.T, bin string, verb agent.Verb)) {
	t.Helper()
	bin := claudecli.Require(t, claudecli.Current)
	program(t)
	t.Parallel()
	for _, verb := range agent.Verbs() {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			scenario(t, bin, verb)
		})
	}
}

// What an ask can come to, and what the model reads of it.
func TestClaudesVerbsAsk(t *testing.T) { eachVerb(t, claudeVerbAsks) }

func claudeVerbAsks(t *testing.T, bin string, verb agent.Verb) {
	for name, c := range map[string]struct {
		wait  time.Duration
		act   func(ctx context.Context, a host.Ask) error
		error bool
		words []string
	}{
		"answered": {
			0, func(ctx context.Context, a host.Ask) error { return a.Answer(ctx, []host.Answer{{Picked: []int{1}}}) },
			false, []string{`{"answers":{"Which DB?":"SQLite"}}`},
		},
		"declined": {
			0, func(ctx context.Context, a host.Ask) error { return a.Decline(ctx, "not today", nil) },
			true, []string{"operator did not answer; proceed without this input", "declined", "not today"},
		},
		"timed out": {
			300 * time.Millisecond, func(context.Context, host.Ask) error { return nil },
			true, []string{"operator did not answer; proceed without this input", "timed_out"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := messagesapi.Start(t, ask("Postgres", "SQLite"),
				messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_db"), Reply: closing(verb, "Going on.")})
			req := verbRequest(t, verb)
			req.AskWait = c.wait
			res, err := dispatcher(t, api).Run(staffed(t, 0, c.act), agent.Command{Name: "claude", Path: bin}, req, agent.Observer{})
			checkDone(t, verb, "Going on.", res, err)
			result := api.ToolResults()["toolu_db"]
			for _, w := range c.words {
				if result.IsError != c.error || !strings.Contains(result.Text, w) || c.error && strings.Contains(result.Text, "answers") {
					t.Errorf("the model read %+v, want %q", result, w)
				}
			}
			checkOffered(t, verb, api.WaitRequest(1).Tools)
		})
	}
}

// checkOffered checks which of claude's own tools the model of a verb has.
func checkOffered(t *testing.T, verb agent.Verb, tools []string) {
	t.Helper()
	for _, tool := range []string{"Write", "Edit", "Bash", "NotebookEdit"} {
		reads := verb == agent.Ask || verb == agent.Decide
		if slices.Contains(tools, tool) && reads || !slices.Contains(tools, tool) && !reads && tool != "NotebookEdit" {
			t.Errorf("%s is offered: %v", tool, tools)
		}
	}
	if slices.Contains(tools, "AskUserQuestion") || slices.Contains(tools, "StructuredOutput") != (verb == agent.Decide) || !slices.Contains(tools, "Read") {
		t.Errorf("offered are %v", tools)
	}
}

// Headless there is no tool to ask with and no question of claude's own, and the model is told so.
func TestClaudesVerbsHeadless(t *testing.T) { eachVerb(t, claudeVerbHeadless) }

func claudeVerbHeadless(t *testing.T, bin string, verb agent.Verb) {
	api := messagesapi.Start(t, messagesapi.Step{Reply: closing(verb, "I assumed SQLite.")})
	d := dispatcher(t, api, "kitsoki-is-not-started-here")
	req := verbRequest(t, verb)
	req.SystemPrompt, req.Effort = "Speak plainly.", "low"
	res, err := d.Run(aMinute(t), agent.Command{Name: "claude", Path: bin}, req, agent.Observer{})
	checkDone(t, verb, "I assumed SQLite.", res, err)
	r := api.WaitRequest(1)
	checkOffered(t, verb, r.Tools)
	if slices.Contains(r.Tools, askTool) || !strings.Contains(r.System, "Nobody can be asked during this run") ||
		strings.Contains(r.System, "An operator is at the terminal") || !strings.Contains(r.System, "Speak plainly.") {
		t.Errorf("tools %v, system prompt %s", r.Tools, r.System)
	}
	if !strings.Contains(string(r.Body), `"effort":"low"`) {
		t.Error("the effort did not reach the API")
	}
}

// A tool that the verb has can be taken away, and none be given.
func TestClaudesToolsCanOnlyBeNarrowed(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	t.Parallel()
	for verb, want := range map[agent.Verb][]string{agent.Ask: {"Read"}, agent.Task: {"Bash", "Read"}} {
		t.Run(string(verb), func(t *testing.T) {
			t.Parallel()
			api := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("Done.")})
			req := verbRequest(t, verb)
			req.Tools = []string{"Read", "Bash", "AskUserQuestion"}
			if _, err := dispatcher(t, api, "kitsoki-is-not-started-here").Run(aMinute(t), agent.Command{Name: "claude", Path: bin}, req, agent.Observer{}); err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(api.WaitRequest(1).Tools, func(name string) bool { return strings.HasPrefix(name, "Deferred") })
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("offered are %v, want %v", got, want)
			}
		})
	}
}

// A task reports what it changed; what failed is not among it.
func TestClaudesTaskReportsItsFiles(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	t.Parallel()
	req := verbRequest(t, agent.Task)
	made, missing := filepath.Join(req.Dir, "made.txt"), filepath.Join(req.Dir, "missing.txt")
	api := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.Not(messagesapi.HasToolResult()), Reply: messagesapi.With(
			messagesapi.Use("toolu_w", "Write", map[string]string{"file_path": made, "content": "one\n"}),
			messagesapi.Use("toolu_x", "Edit", map[string]string{"file_path": missing, "old_string": "a", "new_string": "b"}))},
		messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_w"), Reply: messagesapi.Call("toolu_e", "Edit",
			map[string]string{"file_path": made, "old_string": "one", "new_string": "two"})},
		goOn("toolu_e", "It is made."))
	res, err := dispatcher(t, api, "kitsoki-is-not-started-here").Run(aMinute(t), agent.Command{Name: "claude", Path: bin}, req, agent.Observer{})
	if err != nil || res.Text != "It is made." || !slices.Equal(res.Files, []string{made}) {
		t.Errorf("got %+v, %v; results %+v", res, err, api.ToolResults())
	}
	if raw, err := os.ReadFile(made); err != nil || string(raw) != "two\n" {
		t.Errorf("the file has %q, %v", raw, err)
	}
}

// The two limits that are claude's own, each with its error. The session can be continued after both.
func TestClaudesLimits(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	t.Parallel()
	for name, c := range map[string]struct {
		limit func(*agent.Request)
		is    error
		words string
	}{
		"turns":  {func(r *agent.Request) { r.MaxTurns = 2 }, agent.ErrTurns, "its limit of 2 turns"},
		"budget": {func(r *agent.Request) { r.BudgetUSD = 0.0001 }, agent.ErrBudget, "its budget of $0.0001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := messagesapi.Start(t, messagesapi.Step{
				Reply: messagesapi.Call("", "Read", map[string]string{"file_path": os.DevNull}), Repeat: true,
			})
			req := verbRequest(t, agent.Task)
			c.limit(&req)
			res, err := dispatcher(t, api, "kitsoki-is-not-started-here").Run(aMinute(t), agent.Command{Name: "claude", Path: bin}, req, agent.Observer{})
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) || res.Conversation == "" || res.CostUSD <= 0 {
				t.Errorf("got %+v, %v", res, err)
			}
		})
	}
}

// The limit of time is ours. It stands still while claude asks, and stops it while its model thinks; the clock is
// moved by hand.
func TestClaudesTimeIsUp(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	program(t)
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	thinks := goOn("toolu_db", "too late")
	thinks.Hold = hold
	api := messagesapi.Start(t, ask("Postgres", "SQLite"), thinks)
	d, clock := dispatcher(t, api), hosttest.NewClock()
	d.Clock = clock
	ctx := staffed(t, time.Minute, func(ctx context.Context, a host.Ask) error {
		clock.Advance(time.Hour)
		select {
		case <-ctx.Done():
			return errors.New("the agent was stopped while it asked")
		case <-time.After(500 * time.Millisecond): // a stop would have come by then
		}
		return a.Answer(ctx, []host.Answer{{Picked: []int{0}}})
	})
	thinking := make(chan struct{})
	go func() {
		defer close(thinking)
		api.WaitFor("the answer", messagesapi.HasToolResultFor("toolu_db"))
		clock.Advance(10 * time.Minute)
	}()
	req := verbRequest(t, agent.Task)
	req.Limit = 10 * time.Minute
	res, err := d.Run(ctx, agent.Command{Name: "claude", Path: bin}, req, agent.Observer{})
	<-thinking
	if !errors.Is(err, agent.ErrTime) || !strings.Contains(err.Error(), "its 10m were up") || res.Conversation == "" {
		t.Errorf("got %+v, %v", res, err)
	}
	if r := api.ToolResults()["toolu_db"]; r.IsError || r.Text != `{"answers":{"Which DB?":"Postgres"}}` {
		t.Errorf("the model read %+v", r)
	}
	checkNobodyLeft(t, d.Env)
}
