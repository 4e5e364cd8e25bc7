package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

var dbSchema = json.RawMessage(`{"type":"object","properties":{"db":{"type":"string"}},"required":["db"],"additionalProperties":false}`)

const returns = "- tool: {name: StructuredOutput, input: %s}\n"

// reacts plays another part for each thing that the agent is told to be wrong with its value.
const reacts = `- told:
    words: got number
    then: [{tool: {name: StructuredOutput, input: {other: x}}}]
    else:
    - told:
        words: missing property
        then: [{tool: {name: StructuredOutput, input: {db: Postgres}}}]
        else: [{tool: {name: StructuredOutput, input: {db: 5}}}]
`

func TestDecide(t *testing.T) {
	exhausted := "- result: {error: true, subtype: error_max_structured_output_retries, errors: ['Failed after 5 attempts: /db: must be string']}\n"
	missing := `- garbage: '{"type":"result","subtype":"success","is_error":false,"result":"no","session_id":"c"}'` + "\n- die: {code: 0}\n"
	for name, c := range map[string]struct {
		scenario string
		retries  int
		value    string
		attempts int
		sentence string
	}{
		"fits":                    {fmt.Sprintf(returns, `{db: SQLite}`), 0, `{"db":"SQLite"}`, 1, ""},
		"wrong twice, then right": {reacts, 0, `{"db":"Postgres"}`, 3, ""},
		"never right": {
			fmt.Sprintf(returns, `{db: 5}`), 0, "", 3,
			"the agent returned no value that fits the schema in 3 attempts; the last time: at '/db': got number, want string",
		},
		"never right, one retry": {
			fmt.Sprintf(returns, `{db: 5}`), 1, "", 2,
			"the agent returned no value that fits the schema in 2 attempts; the last time: at '/db': got number, want string",
		},
		"wrong, and no retries": {
			fmt.Sprintf(returns, `{db: 5}`), -1, "", 1, "the agent returned no value that fits the schema: at '/db': got number, want string",
		},
		"null":          {"- say: done\n", -1, "", 1, "the agent returned no value that fits the schema: there is no value"},
		"missing":       {missing, -1, "", 1, "the agent returned no value that fits the schema: there is no value"},
		"null and null": {"- say: done\n", 1, "", 2, "the agent returned no value that fits the schema in 2 attempts; the last time: there is no value"},
		"null, then right": {
			"- told:\n    words: there is no value\n    then: [{tool: {name: StructuredOutput, input: {db: a}}}]\n    else: [{say: done}]\n", 0, `{"db":"a"}`, 2, "",
		},
		"the agent gives up": {
			exhausted, 1, "", 2, "the agent returned no value that fits the schema in 2 attempts; the last time: Failed after 5 attempts: /db: must be string",
		},
		"another failure is none of the value's": {"- result: {error: true, text: it broke}\n", 0, "", 1, "the agent failed: it broke"},
		"a value beside a failure is none": {
			"- result: {error: true, text: it broke, structured: {db: a}}\n", 0, "", 1, "the agent failed: it broke",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "steps:\n"+c.scenario)
			var retried []int
			res, err := s.runs(Request{Verb: Decide, Schema: dbSchema, Retries: c.retries}, Observer{Retried: func(a Attempt) { retried = append(retried, a.Number) }})
			sentence := ""
			if err != nil {
				sentence = err.Error()
			}
			if sentence != c.sentence || string(res.Structured) != c.value || res.Attempts != c.attempts {
				t.Errorf("%d attempts, %s, %q", res.Attempts, res.Structured, sentence)
			}
			if errors.Is(err, ErrSchema) != strings.Contains(sentence, "no value that fits") {
				t.Errorf("%v is the wrong kind of error", err)
			}
			if len(retried) != c.attempts-1 || len(s.notices) != c.attempts-1 {
				t.Errorf("told of the attempts %v, with %q", retried, s.notices)
			}
		})
	}
}

// Each retry continues the conversation of the first attempt with the reason in words, and counts add up.
func TestARetryGoesOnInTheSameConversation(t *testing.T) {
	s := newStage(t, "steps:\n"+reacts)
	var argvs [][]string
	var conversations []string
	var prompts []string
	res, err := s.runs(Request{Verb: Decide, Schema: dbSchema}, Observer{
		Started: func(argv []string) { argvs = append(argvs, argv) },
		Retried: func(a Attempt) { prompts = append(prompts, a.Reason) },
		Event: func(e StreamEvent, _ []string) {
			if i, ok := e.(Init); ok {
				conversations = append(conversations, i.Conversation)
			}
		},
	})
	if err != nil || len(argvs) != 3 {
		t.Fatalf("%d starts, %v", len(argvs), err)
	}
	id := conversations[0]
	if id == "" || res.Conversation != id || slices.Contains(argvs[0], "--resume") || flag(argvs[1], "--resume") != id || flag(argvs[2], "--resume") != id {
		t.Errorf("conversations %v, then %q and %q", conversations, flag(argvs[1], "--resume"), flag(argvs[2], "--resume"))
	}
	if want := []string{"at '/db': got number, want string", "at the top: missing property 'db'; at the top: additional properties 'other' not allowed"}; !slices.Equal(prompts, want) {
		t.Errorf("reasons %q, want %q", prompts, want)
	}
	if res.Turns != 6 || res.Usage.Total() == 0 {
		t.Errorf("the counts are those of one attempt: %+v", res)
	}
}

// Without the id of a conversation there is nothing to go on with.
func TestNoRetryWithoutAConversation(t *testing.T) {
	p := plays(t, `echo '{"type":"result","subtype":"success","is_error":false,"structured_output":null}'`)
	res, err := p.d.Run(context.Background(), p.cmd, Request{Verb: Decide, Schema: dbSchema, Prompt: "go"}, Observer{})
	if !errors.Is(err, ErrSchema) || res.Attempts != 1 {
		t.Errorf("got %+v, %v", res, err)
	}
}

// The limits are the call's, not an attempt's: what an attempt used up the next one does not have.
func TestLimitsAreOfAllAttemptsTogether(t *testing.T) {
	script := `echo "$@" >>args
echo '{"type":"system","subtype":"init","session_id":"c"}'
echo '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}'
echo '{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"c"}]}}'
echo '{"type":"assistant","parent_tool_use_id":"t","message":{"id":"m3","content":[{"type":"text","text":"c"}]}}'
echo '{"type":"result","subtype":"success","is_error":false,"session_id":"c","total_cost_usd":%s}'`
	for name, c := range map[string]struct {
		cost     string
		req      Request
		is       error
		attempts int
		args     [][2]string // flag and value, an attempt
	}{
		"turns":  {"1", Request{MaxTurns: 5, Retries: 9}, ErrTurns, 3, [][2]string{{"--max-turns", "5"}, {"--max-turns", "3"}, {"--max-turns", "1"}}},
		"budget": {"0.25", Request{BudgetUSD: 0.75, Retries: 9}, ErrBudget, 3, [][2]string{{"--max-budget-usd", "0.75"}, {"--max-budget-usd", "0.5"}, {"--max-budget-usd", "0.25"}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := plays(t, fmt.Sprintf(script, c.cost))
			c.req.Verb, c.req.Schema, c.req.Dir = Decide, dbSchema, filepath.Dir(p.note)
			res, err := p.d.Run(context.Background(), p.cmd, c.req, Observer{})
			if !errors.Is(err, c.is) || res.Attempts != c.attempts {
				t.Errorf("%d attempts, %v", res.Attempts, err)
			}
			raw, err := os.ReadFile(filepath.Join(c.req.Dir, "args"))
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
				if want := c.args[i]; flag(strings.Fields(line), want[0]) != want[1] {
					t.Errorf("attempt %d: %s, want %v", i+1, line, want)
				}
			}
		})
	}
}

// asksEach asks the same in each attempt, before a value that does not fit.
const asksEach = `- ask: {id: q, questions: [{question: Which?, header: DB, options: [{label: a}, {label: b}]}]}
- on: {call: q, answered: [{say: '{{answer "q" "Which?"}}{{range answers "q"}}{{.Note}}{{end}}'}], error: [{say: '{{error "q"}}'}]}
`

// operator answers asks by hand and counts them.
func (s *stage) operator(answer func(a host.Ask, n int) error) *int {
	n := new(int)
	s.board.Attach("operator", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		*n++
		a, _ := host.AskFrom(ctx)
		if err := answer(a, *n); err != nil {
			s.t.Error(err)
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}), nil)
	return n
}

func TestAQuestionAskedAgainInARetryIsAnsweredFromMemory(t *testing.T) {
	s := newStage(t, "steps:\n"+asksEach+fmt.Sprintf(returns, `{db: 5}`))
	asks := s.operator(func(a host.Ask, _ int) error {
		return a.Answer(context.Background(), []host.Answer{{Picked: []int{1}, Text: "but small"}})
	})
	var said []string
	var recalls []Recall
	askers := 0
	_, err := s.runs(Request{Verb: Decide, Schema: dbSchema}, Observer{
		Recalled: func(r Recall) { recalls = append(recalls, r) },
		Asker:    func(host.Asker) { askers++ },
		Event: func(e StreamEvent, _ []string) {
			if text, ok := e.(Text); ok {
				said = append(said, text.Text)
			}
		},
	})
	if !errors.Is(err, ErrSchema) || *asks != 1 || askers != 1 {
		t.Errorf("the operator was asked %d times, %d asks were opened; %v", *asks, askers, err)
	}
	if want := []string{"bbut small", "bbut small", "bbut small"}; !slices.Equal(said, want) {
		t.Errorf("the agent read %q, want %q", said, want)
	}
	if len(recalls) != 2 || recalls[0].Attempt != 2 || recalls[1].Attempt != 3 || !recalls[1].Whole || recalls[1].QuestionID == "" || recalls[1].ToolUseID == "" {
		t.Errorf("recalled %+v", recalls)
	}
	if want := `attempt 2 asked "Which?" again and was given the answer from before: "b" (note: "but small")`; !slices.Contains(s.notices, want) {
		t.Errorf("notices %q", s.notices)
	}
}

// Within an attempt the second time is the operator's again.
func TestAQuestionAskedTwiceInOneAttemptIsAskedTwice(t *testing.T) {
	again := strings.ReplaceAll(asksEach, "q", "r")
	again = strings.ReplaceAll(again, "ruestion", "question")
	s := newStage(t, "steps:\n"+asksEach+again+fmt.Sprintf(returns, `{db: 5}`))
	asks := s.operator(func(a host.Ask, n int) error {
		return a.Answer(context.Background(), []host.Answer{{Text: fmt.Sprint("answer ", n)}})
	})
	var said []string
	_, err := s.runs(Request{Verb: Decide, Schema: dbSchema, Retries: 1}, Observer{Event: func(e StreamEvent, _ []string) {
		if text, ok := e.(Text); ok {
			said = append(said, text.Text)
		}
	}})
	// The first of the second attempt is the last word of the first one.
	if want := []string{"answer 1", "answer 2", "answer 2", "answer 3"}; !errors.Is(err, ErrSchema) || *asks != 3 || !slices.Equal(said, want) {
		t.Errorf("%d asks, the agent read %q; %v", *asks, said, err)
	}
}

// What was declined is no answer, so it is asked again.
func TestADeclinedQuestionIsNotRemembered(t *testing.T) {
	s := newStage(t, "steps:\n"+asksEach+fmt.Sprintf(returns, `{db: 5}`))
	asks := s.operator(func(a host.Ask, _ int) error { return a.Decline(context.Background(), "no", nil) })
	_, err := s.runs(Request{Verb: Decide, Schema: dbSchema, Retries: 1}, Observer{Recalled: func(r Recall) { t.Errorf("recalled %+v", r) }})
	if !errors.Is(err, ErrSchema) || *asks != 2 {
		t.Errorf("%d asks, %v", *asks, err)
	}
}
