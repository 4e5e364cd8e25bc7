package teatest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

func value(db any) messagesapi.Reply {
	return messagesapi.Call("", "StructuredOutput", map[string]any{"db": db})
}

// retried holds for the requests of a retry that was told these words.
func retried(words string) messagesapi.Condition { return messagesapi.PromptContains(words) }

// A decide whose model gives no value in its first attempt, and asks again what it asked in it: the retry goes on in
// the conversation, and the operator is asked once.
func TestClaudesRetryAsksNobodyAgain(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	program(t)
	t.Parallel()
	first, again := ask("Postgres", "SQLite"), ask("Postgres", "SQLite")
	first.When = messagesapi.All(first.When, messagesapi.Not(retried("cannot be used")))
	again.When = messagesapi.All(again.When, retried("there is no value"), messagesapi.Not(messagesapi.HasToolResult()))
	again.Reply.Blocks[0].Tool.ID = "toolu_again"
	api := messagesapi.Start(t, first,
		goOn("toolu_db", "SQLite, I would say."),
		// claude reminds its model once, and then ends well without a value.
		messagesapi.Step{When: messagesapi.Not(retried("cannot be used")), Reply: messagesapi.Say("As I said.")},
		again,
		messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_again"), Reply: value("SQLite")})
	var asks atomic.Int32
	var recalls []agent.Recall
	var notices []string
	ctx := staffed(t, 0, func(ctx context.Context, a host.Ask) error {
		asks.Add(1)
		return a.Answer(ctx, []host.Answer{{Picked: []int{1}, Text: "for now"}})
	})
	res, err := dispatcher(t, api).Run(ctx, agent.Command{Name: "claude", Path: bin}, verbRequest(t, agent.Decide), agent.Observer{
		Recalled: func(r agent.Recall) { recalls = append(recalls, r) },
		Notice:   func(n string) { notices = append(notices, n) },
	})
	if err != nil || string(res.Structured) != `{"db":"SQLite"}` || res.Attempts != 2 {
		t.Errorf("got %+v, %v", res, err)
	}
	results := api.ToolResults()
	if asks.Load() != 1 || results["toolu_again"] != results["toolu_db"] || !strings.Contains(results["toolu_again"].Text, `"Which DB?":"SQLite"`) ||
		!strings.Contains(results["toolu_again"].Text, "for now") {
		t.Errorf("the operator was asked %d times; the model read %+v", asks.Load(), results)
	}
	if len(recalls) != 1 || recalls[0].ToolUseID != "toolu_again" || !slices.ContainsFunc(notices, func(n string) bool { return strings.Contains(n, "given the answer from before") }) {
		t.Errorf("told of %+v, %q", recalls, notices)
	}
	checkCosts(t, res, len(api.Requests()))
}

// checkCosts checks that the cost is that of all requests, each once. They all cost the same.
func checkCosts(t *testing.T, res agent.Result, requests int) {
	t.Helper()
	if each := res.CostUSD / float64(requests); each < 0.5*costOfRequest || each > 1.5*costOfRequest {
		t.Errorf("%d requests cost %v", requests, res.CostUSD)
	}
}

// costOfRequest is what claude 2.1.332 reckons for an answer of the scripted API, in US dollars.
const costOfRequest = 0.000104

// claude lets its model try five times, and fails the run; a retry is told why.
func TestClaudesModelNeverGivesAValueThatFits(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	t.Parallel()
	api := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.Not(retried("cannot be used")), Reply: value(5), Repeat: true},
		messagesapi.Step{When: retried("/db: must be string"), Reply: value("ab"), Repeat: true})
	req := verbRequest(t, agent.Decide)
	req.Retries = 1
	res, err := dispatcher(t, api, "kitsoki-is-not-started-here").Run(aMinute(t), agent.Command{Name: "claude", Path: bin}, req, agent.Observer{})
	if !errors.Is(err, agent.ErrSchema) || !strings.Contains(err.Error(), "in 2 attempts") || !strings.Contains(err.Error(), "/db") || res.Attempts != 2 || res.Structured != nil {
		t.Errorf("got %+v, %v", res, err)
	}
}

// The limit of turns is that of all attempts: a retry has what is left of it.
func TestClaudesRetriesShareTheirTurns(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	t.Parallel()
	api := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("no value"), Repeat: true})
	req := verbRequest(t, agent.Decide)
	req.MaxTurns = 3
	res, err := dispatcher(t, api, "kitsoki-is-not-started-here").Run(aMinute(t), agent.Command{Name: "claude", Path: bin}, req, agent.Observer{})
	if !errors.Is(err, agent.ErrTurns) || res.Attempts != 2 || len(api.Requests()) != 3 {
		t.Errorf("%d requests, %+v, %v", len(api.Requests()), res, err)
	}
}

// A conversation that was begun without an operator is continued with one, and the other way round: each time the
// model is told what holds now, though it was told the other thing before.
func TestClaudesConversationHeedsWhoIsThereNow(t *testing.T) { eachClaude(t, claudeHeedsPresence) }

func claudeHeedsPresence(t *testing.T, v claudecli.Version) {
	api := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("Hello."), Repeat: true})
	d := dispatcher(t, api)
	operator := staffed(t, 0, func(context.Context, host.Ask) error { return nil })
	req := verbRequest(t, agent.Converse)
	var costs []float64
	for i, ctx := range []context.Context{aMinute(t), operator, aMinute(t)} {
		res, err := d.Run(ctx, agent.Command{Name: "claude", Path: claudecli.Require(t, v)}, req, agent.Observer{})
		if err != nil || req.Conversation != "" && res.Conversation != req.Conversation {
			t.Fatalf("got %+v, %v", res, err)
		}
		req.Conversation = res.Conversation
		costs = append(costs, res.CostUSD)
		r := api.WaitRequest(i + 1)
		there := ctx == operator
		if strings.Contains(r.System, "An operator is at the terminal") != there || strings.Contains(r.System, "Nobody can be asked") == there ||
			slices.Contains(r.Tools, askTool) != there {
			t.Errorf("run %d, operator %v: tools %v, system prompt %s", i+1, there, r.Tools, r.System)
		}
	}
	if costs[0] <= 0 || costs[1] > 1.5*costs[0] || costs[2] > 1.5*costs[0] {
		t.Errorf("the runs cost %v, each of one request", costs)
	}
}
