package scripted_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/host/agent/scripted"
)

func TestEveryEmbeddedScenarioIsValidAndDescribed(t *testing.T) {
	if got, want := scripted.Names(), []string{"one-question", "gate", "side-by-side", "three-questions"}; !slices.Equal(got, want) {
		t.Fatalf("names are %q, want %q", got, want)
	}
	for _, info := range scripted.Describe() {
		if err := scripted.Check(info.Name); err != nil {
			t.Error(err)
		}
		if info.Description == "" || strings.Contains(info.Description, "\n") {
			t.Errorf("%s: the description is %q", info.Name, info.Description)
		}
		src, err := os.ReadFile(filepath.Join("scenarios", info.Name+".yaml"))
		if err != nil || !strings.HasPrefix(string(src), "name: "+info.Name+"\n") {
			t.Errorf("%s: the file says another name (%v)", info.Name, err)
		}
	}
}

func TestOneQuestionAnswered(t *testing.T) {
	o := newBench(t).operator("answer " + postgres).run()
	last := o.succeeded()
	if want := `The operator chose "Postgres". I will build the service on that.`; last != want {
		t.Errorf("the last words are %q, want %q", last, want)
	}
	if strings.Contains(last, "SQLite") || strings.Contains(last, "None yet") {
		t.Errorf("the last words name a label that was not picked: %q", last)
	}

	init := o.init()
	if !slices.Contains(init.Tools, askTool) || !slices.Contains(init.Tools, "Read") || init.Model != "scripted" || init.Permission != "default" {
		t.Errorf("system/init is %+v", init)
	}
	if len(init.Servers) != 1 || init.Servers[0].Name != "operator" || init.Servers[0].Status != "connected" {
		t.Errorf("servers are %+v", init.Servers)
	}

	uses, calls := o.uses(askTool), o.requests("tools/call")
	if len(uses) != 1 || len(calls) != 1 {
		t.Fatalf("%d tool_use, %d calls", len(uses), len(calls))
	}
	if calls[0].Params.Meta.UseID != uses[0].ID {
		t.Errorf("the call's tool use id is %q, the stream's %q", calls[0].Params.Meta.UseID, uses[0].ID)
	}
	if got, want := compact(t, calls[0].Params.Arguments), compact(t, uses[0].Input); got != want {
		t.Errorf("the server read %s, the stream shows %s", got, want)
	}
	if want := `{"questions":[{"question":"Which database should the new service use?","header":"Database","options":[` +
		`{"label":"Postgres","description":"The team runs it already; backups and alerts exist."},` +
		`{"label":"SQLite","description":"One file beside the binary; no server to look after."},` +
		`{"label":"None yet","description":"Keep the data in memory until the shape is known."}],"multiSelect":false}]}`; compact(t, uses[0].Input) != want {
		t.Errorf("the ask is %s", uses[0].Input)
	}
	if res := o.toolResult(uses[0].ID); string(res.Content) != quoted(t, postgres) || res.IsError != nil {
		t.Errorf("the tool result is %s, is_error %v", res.Content, res.IsError)
	}
	if r := o.result(); r.Turns != 3 || r.Denials == nil || len(r.Denials) != 0 {
		t.Errorf("the result is %+v", r)
	}
}

func TestOneQuestionQuotesOwnWordsAndNote(t *testing.T) {
	answer := `{"answers":{"` + question + `":"what \"ops\" <runs>"},"notes":{"` + question + `":"ask Kim"}}`
	last := newBench(t).operator("answer " + answer).run().succeeded()
	if want := `The operator chose "what "ops" <runs>". They added: "ask Kim". I will build the service on that.`; last != want {
		t.Errorf("the last words are %q, want %q", last, want)
	}
}

func TestThreeQuestionsAnswered(t *testing.T) {
	b := newBench(t).operator(`answer {"answers":{"When should the release go out?":"Tomorrow morning",` +
		`"Which checks should run before the release is cut?":["lint","race","soak over night"],` +
		`"What should the release be called?":"Juniper"}}`)
	b.env[scripted.EnvScenario] = "three-questions"
	o := b.run()
	want := `The operator has decided. When should the release go out? They said "Tomorrow morning". ` +
		`Which checks should run before the release is cut? They said "lint, race, soak over night". ` +
		`What should the release be called? They said "Juniper". I go on from there.`
	if last := o.succeeded(); last != want {
		t.Errorf("the last words are %q,\nwant %q", last, want)
	}
	var ask struct {
		Questions []struct {
			Header      string
			MultiSelect bool
			Options     []struct{ Label, Description string }
		}
	}
	if err := json.Unmarshal(o.uses(askTool)[0].Input, &ask); err != nil {
		t.Fatal(err)
	}
	var heads []string
	for _, q := range ask.Questions {
		heads = append(heads, q.Header)
		if q.MultiSelect != (q.Header == "Checks") || len(q.Options) < 2 {
			t.Errorf("question %+v", q)
		}
	}
	if !slices.Equal(heads, []string{"When", "Checks", "Name"}) {
		t.Errorf("headers are %q", heads)
	}
}

func TestThreeQuestionsNoneAndSkipped(t *testing.T) {
	b := newBench(t).operator(`answer {"answers":{"When should the release go out?":"Today",` +
		`"Which checks should run before the release is cut?":[]}}`)
	b.env[scripted.EnvScenario] = "three-questions"
	want := `The operator has decided. When should the release go out? They said "Today". ` +
		`Which checks should run before the release is cut? They said none of them. ` +
		`What should the release be called? They left that open, and so do I. I go on from there.`
	if last := b.run().succeeded(); last != want {
		t.Errorf("the last words are %q,\nwant %q", last, want)
	}
}

// A failed ask is quoted with the assumption that follows, and no option is taken for an answer.
func TestUnansweredAskIsQuotedWithTheAssumption(t *testing.T) {
	const words = "operator did not answer; proceed without this input (outcome: declined; reason: too early)"
	for _, tt := range []struct{ scenario, ask, quote, assumes string }{
		{"one-question", "fail " + words, words, `I assume "None yet"`},
		{"three-questions", "fail " + words, words, "I assume that no release is cut"},
		{"one-question", `answer {}`, "the ask came back with no answer: {}", `I assume "None yet"`},
		{"one-question", `answer {"answers":null}`, "the ask came back with no answer", `I assume "None yet"`},
		{"one-question", "die", "Connection closed", `I assume "None yet"`},
	} {
		t.Run(tt.scenario+" "+tt.quote, func(t *testing.T) {
			b := newBench(t).operator(tt.ask)
			b.env[scripted.EnvScenario] = tt.scenario
			o := b.run()
			last := o.succeeded()
			if !strings.Contains(last, `the tool said: "`+tt.quote) || !strings.Contains(last, tt.assumes) {
				t.Errorf("the last words are %q", last)
			}
			if strings.Contains(last, "chose \"") || strings.Contains(last, "They said") {
				t.Errorf("a failed ask is told as answered: %q", last)
			}
			res := o.toolResult(o.uses(askTool)[0].ID)
			if failed := res.IsError != nil && *res.IsError; failed == strings.HasPrefix(tt.ask, "answer") {
				t.Errorf("is_error is %v", failed)
			}
			if strings.HasPrefix(tt.ask, "fail") && string(res.Content) != quoted(t, words) {
				t.Errorf("the tool result is %s", res.Content)
			}
		})
	}
}

func TestWithoutOperatorTheAssumptionIsSaid(t *testing.T) {
	for _, tt := range []struct{ scenario, assumes string }{
		{"one-question", `I assume "None yet"`},
		{"three-questions", "I assume the most careful"},
	} {
		b := newBench(t)
		b.env[scripted.EnvScenario] = tt.scenario
		o := b.run()
		if last := o.succeeded(); !strings.Contains(last, "Nobody can be asked") || !strings.Contains(last, tt.assumes) {
			t.Errorf("the last words are %q", last)
		}
		if len(o.uses(askTool)) != 0 || slices.Contains(o.init().Tools, askTool) || len(o.init().Servers) != 0 {
			t.Errorf("a headless run knows of the ask tool:\n%s", o.raw)
		}
		if len(o.uses("Read")) != 1 {
			t.Error("what comes before the ask was left out")
		}
	}
}

// Each turn of a conversation is a run, and plays the scenario from its start with its own prompt.
func TestEachPromptOfAConversationIsPlayed(t *testing.T) {
	first := newBench(t).operator("answer " + postgres).run()
	first.succeeded()
	b := newBench(t).operator("answer "+postgres).with("--resume", first.init().SessionID)
	b.prompt = "And now the tests, please"
	second := b.run()
	second.succeeded()
	if second.init().SessionID != first.init().SessionID {
		t.Errorf("the session is %s, then %s", first.init().SessionID, second.init().SessionID)
	}
	for o, want := range map[*outcome]string{first: "You want \"Build a service for invoices. …\".", second: "You want \"And now the tests, please\"."} {
		if words := o.texts()[0]; !strings.HasPrefix(words, want) {
			t.Errorf("the first words are %q, want %q", words, want)
		}
	}
}

func (o *outcome) texts() []string {
	o.t.Helper()
	var texts []string
	for _, e := range o.events() {
		for _, b := range e.Message.Content {
			if e.Type == "assistant" && b.Type == "text" {
				texts = append(texts, b.Text)
			}
		}
	}
	return texts
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
