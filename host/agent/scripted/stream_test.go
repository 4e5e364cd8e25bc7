package scripted_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/host/agent/scripted"
)

// piece is the inside of a stream_event.
type piece struct {
	Type    string
	Message message
	Index   int
	Delta   struct {
		Type, Text, StopReason string
		PartialJSON            string `json:"partial_json"`
		Stop                   string `json:"stop_reason"`
	}
}

// The kinds of lines and their order are those of a captured run of claude 2.1.332.
func TestPiecesOfAMessageComeBeforeTheWhole(t *testing.T) {
	o := newBench(t).with("--include-partial-messages").operator("answer " + postgres).run()
	o.succeeded()
	var kinds []string
	var text, input strings.Builder
	for _, e := range o.events() {
		kind := e.Type
		if e.Subtype != "" {
			kind += "/" + e.Subtype
		}
		if e.Type == "stream_event" {
			var p piece
			if err := json.Unmarshal(e.Event, &p); err != nil {
				t.Fatal(err)
			}
			kind = p.Type
			text.WriteString(p.Delta.Text)
			input.WriteString(p.Delta.PartialJSON)
			if p.Delta.Stop != "" {
				kind += "/" + p.Delta.Stop
			}
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != kind { // of many deltas one
			kinds = append(kinds, kind)
		}
		if e.SessionID != o.init().SessionID || e.UUID == "" {
			t.Errorf("the line %+v lacks an id", e)
		}
	}
	words := []string{"system/status", "message_start", "content_block_start", "content_block_delta", "assistant", "content_block_stop"}
	use := append(slices.Clone(words[2:]), "message_delta/tool_use", "message_stop", "user")
	want := []string{"system/init"}
	for range 2 { // words and Read, words and the ask
		want = slices.Concat(want, words, use)
	}
	want = slices.Concat(want, words, []string{"message_delta/end_turn", "message_stop", "result/success"})
	if !slices.Equal(kinds, want) {
		t.Errorf("the stream is\n%q, want\n%q", kinds, want)
	}
	if got, want := text.String(), strings.Join(o.texts(), ""); got != want {
		t.Errorf("the pieces make %q, the messages %q", got, want)
	}
	if !strings.HasSuffix(input.String(), compact(t, o.uses(askTool)[0].Input)) {
		t.Errorf("the pieces of the input make %s", input.String())
	}
}

func TestTheWordsOfAMessageAndItsCallShareItsID(t *testing.T) {
	o := newBench(t).operator("answer " + postgres).run()
	var ids []string
	for _, e := range o.events() {
		if e.Type == "assistant" {
			ids = append(ids, e.Message.ID)
		}
	}
	if len(ids) != 5 || ids[0] != ids[1] || ids[2] != ids[3] || ids[0] == ids[2] || ids[4] == ids[2] {
		t.Errorf("the messages have the ids %q", ids)
	}
}

func TestOtherOutputFormats(t *testing.T) {
	b := newBench(t).operator("answer " + postgres)
	b.args = []string{"--print", "--allowedTools", askTool}
	if got, want := b.run().raw, "The operator chose \"Postgres\". I will build the service on that.\n"; got != want {
		t.Errorf("as text: %q", got)
	}
	b.args = append(b.args, "--output-format=json")
	if o := b.run(); len(o.events()) != 1 || !strings.Contains(o.succeeded(), "Postgres") {
		t.Errorf("as json: %s", o.raw)
	}
}

func TestSessionIDs(t *testing.T) {
	const a, b = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
	for _, tt := range []struct {
		args []string
		want func(string) bool
	}{
		{nil, func(id string) bool { return len(id) == 36 && id != a }},
		{[]string{"--session-id", a}, func(id string) bool { return id == a }},
		{[]string{"--resume", a}, func(id string) bool { return id == a }},
		{[]string{"-r", a, "--fork-session"}, func(id string) bool { return id != a && len(id) == 36 }},
		{[]string{"-r", a, "--fork-session", "--session-id", b}, func(id string) bool { return id == b }},
	} {
		o := newBench(t).with(tt.args...).run()
		if id := o.init().SessionID; !tt.want(id) || o.result().SessionID != id {
			t.Errorf("%q: the session is %s, then %s", tt.args, id, o.result().SessionID)
		}
	}
}

func TestArgumentsThatClaudeRefuses(t *testing.T) {
	for _, tt := range []struct {
		args string
		says string
	}{
		{"-p --nope", "unknown option '--nope'"},
		{"-p --verbose=1", "unknown option '--verbose=1'"},
		{"-p --model", "option '--model <model>' argument missing"},
		{"-p --mcp-config", "option '--mcp-config <configs...>' argument missing"},
		{"-p --output-format xml", "option '--output-format <format>' argument 'xml' is invalid, allowed choices are text, json, stream-json"},
		{"-p --permission-mode all", "argument 'all' is invalid"},
		{"-p --output-format stream-json", "requires --verbose"},
		{"-p --include-partial-messages", "requires --print and --output-format=stream-json"},
		{"--verbose", "only runs with --print"},
		{"-p --session-id nope", "must be a UUID"},
		{"-p --resume nope", "is no UUID"},
		{"-p --session-id 11111111-2222-4333-8444-555555555555 --resume 11111111-2222-4333-8444-555555555555", "--fork-session"},
		{"-p --mcp-config /does/not/exist.json", "cannot be read"},
		{`-p --mcp-config {"a":1}`, "has no mcpServers"},
		{`-p --mcp-config {"mcpServers":[]}`, "not valid"},
	} {
		b := newBench(t)
		b.args = strings.Fields(tt.args)
		o := b.run()
		if o.code != 1 || o.raw != "" || !strings.HasPrefix(o.stderr, "error: ") || !strings.Contains(o.stderr, tt.says) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", tt.args, o.code, o.raw, o.stderr)
		}
	}
	b := newBench(t)
	b.prompt = " \n"
	if o := b.run(); o.code != 1 || !strings.Contains(o.stderr, "input must be provided") {
		t.Errorf("no prompt: code %d, stderr %q", o.code, o.stderr)
	}
}

func TestTheArgumentsOfADispatchAreAccepted(t *testing.T) {
	b := newBench(t).operator("answer "+postgres).with(
		"--include-partial-messages", "--disallowedTools", "AskUserQuestion", "--append-system-prompt", "-- be careful",
		"--permission-mode", "acceptEdits", "--model", "opus", "--resume", "11111111-2222-4333-8444-555555555555",
		"--strict-mcp-config", "--effort", "low", "--max-turns", "3", "--max-budget-usd", "1.5", "--add-dir", "/a", "/b",
		"--settings", "{}", "--setting-sources", "", "--system-prompt=x", "--tools", "Read,Agent", "Edit",
		"--permission-prompt-tool", "mcp__operator__permission")
	o := b.run()
	o.succeeded()
	if got, want := o.init().Tools, []string{"Task", "Edit", "Read", askTool, "mcp__operator__other"}; !slices.Equal(got, want) {
		t.Errorf("the tools are %q, want %q", got, want)
	}
	b = newBench(t)
	b.args = append(b.args, "--", "words", "of mine")
	b.prompt = ""
	if first := b.run().texts()[0]; !strings.HasPrefix(first, "You want \"words of mine\".") {
		t.Errorf("the first words are %q", first)
	}
}

func TestScenarioFaultsAreShownInTheirPlace(t *testing.T) {
	const head = "name: n\ndescription: d\nwithout_operator: w\n"
	for _, tt := range []struct{ name, scenario, says, at string }{
		{"unknown field", head + "steps:\n  - say: a\n  - sey: b\n", `unknown field "sey"`, ">  6 |   - sey: b"},
		{"key twice", head + "steps:\n  - say: a\n    say: b\n", `mapping key "say" already defined`, ">  6 |     say: b"},
		{"two kinds", head + "steps:\n  - say: a\n    garbage: b\n", "this one is say and garbage", ">  5 |   - say: a"},
		{"wrong type", head + "steps:\n  - flood: {lines: many}\n", "cannot unmarshal string", ">  5 |   - flood: {lines: many}"},
		{"no YAML", head + "steps: [\n", "not found", ">  4 | steps: ["},
		{"no kind", head + "steps:\n  - {}\n", "a step needs a kind", ">  5 |   - {}"},
		{"template", head + "steps:\n  - say: \"{{.Prompt\"\n", "unclosed action", ">  5 |"},
		{"template function", head + "steps:\n  - say: '{{reply \"a\"}}'\n", `function "reply" not defined`, ">  5 |"},
		{"unknown id", head + "steps:\n  - on: {call: a}\n", `no step before this one has the id "a"`, ">  5 |"},
		{"id twice", head + "steps:\n  - ask: {id: a, questions: []}\n  - ask: {id: a, questions: []}\n", `the id "a" is taken`, ">  6 |"},
		{"nested", head + "steps:\n  - parent:\n      name: p\n      steps:\n        - die: {signal: USR9}\n", `the signal "USR9" is not known`, ">  8 |"},
		{"pace", head + "pace: soon\nsteps:\n  - say: a\n", `"soon" is not a pause`, ">  4 | pace: soon"},
		{"together", head + "steps:\n  - together:\n      - say: a\n", "only ask, tool, parent and die", ">  6 |"},
		{"an MCP tool", head + "steps:\n  - tool: {name: mcp__a__b}\n", "only built-in tools can be imitated", ">  5 |"},
		{"a result inside", head + "steps:\n  - parent: {name: p, steps: [{result: {}}]}\n", "a sub-agent's last words", ">  5 |"},
		{"no words without operator", "name: n\ndescription: d\nsteps:\n  - ask: {questions: []}\n", "needs without_operator", ">  1 | name: n"},
		{"empty", "", "is empty", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newBench(t).plays(tt.scenario).run()
			if o.code != 1 || o.raw != "" || !strings.Contains(o.stderr, tt.says) || !strings.Contains(o.stderr, tt.at) {
				t.Errorf("code %d, stdout %q, stderr:\n%s", o.code, o.raw, o.stderr)
			}
		})
	}
}

func TestAnUnknownScenarioNamesThoseThereAre(t *testing.T) {
	b := newBench(t)
	b.env[scripted.EnvScenario] = "two-questions"
	o := b.run()
	if want := "error: there is no scenario \"two-questions\"; use the path of a file or one of: one-question, gate, side-by-side, three-questions\n"; o.code != 1 || o.stderr != want {
		t.Errorf("code %d, stderr %q", o.code, o.stderr)
	}
	b.env[scripted.EnvScenario], b.env[scripted.EnvPace] = "one-question", "fast"
	if o := b.run(); o.code != 1 || !strings.Contains(o.stderr, `KITSOKI_SCENARIO_PACE: "fast" is not a pause`) {
		t.Errorf("code %d, stderr %q", o.code, o.stderr)
	}
}

// What is not there is a fault of the scenario, never an empty text in the agent's mouth.
func TestTemplatesAreStrict(t *testing.T) {
	ask := "name: n\ndescription: d\nwithout_operator: w\nsteps:\n  - ask:\n      id: a\n      questions: [{question: Q?}, {question: R?}]\n  - say: '"
	for _, tt := range []struct{ text, says string }{
		{`{{.Nope}}`, "Nope"},
		{`{{answer "b" "Q?"}}`, `no call with the id "b"`},
		{`{{answer "a" "S?"}}`, `the question "S?" was not asked`},
		{`{{answer "a" "R?"}}`, `the question "R?" was skipped`},
		{`{{error "a"}}`, `the call "a" did not fail`},
	} {
		o := newBench(t).operator(`answer {"answers":{"Q?":"yes"}}`).plays(ask + tt.text + "'\n").run()
		if o.code != 1 || len(o.results()) != 0 || !strings.Contains(o.stderr, tt.says) {
			t.Errorf("%s: code %d, stderr %q", tt.text, o.code, o.stderr)
		}
	}
}
