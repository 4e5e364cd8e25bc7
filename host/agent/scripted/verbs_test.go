package scripted_test

import (
	"slices"
	"strings"
	"testing"
)

const opening = "name: t\ndescription: d\nsteps:\n"

// A scenario plays another part for a run that is told something else.
func TestARunPlaysWhatItsPromptSays(t *testing.T) {
	scenario := opening + "- told: {words: again, then: [{say: second}], else: [{say: first}]}\n"
	for prompt, want := range map[string]string{"go": "first", "once again, please": "second"} {
		b := newBench(t).plays(scenario)
		b.prompt = prompt
		if got := b.run().succeeded(); got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}

// The value of a run with a schema is what the tool for it was called with, as with claude: the tool is there beside
// any list of tools, and never without a schema.
func TestTheValueOfARun(t *testing.T) {
	scenario := opening + "- tool: {name: StructuredOutput, input: {db: SQLite}}\n"
	o := newBench(t).plays(scenario).with("--json-schema", `{"type":"object"}`, "--tools", "Read").run()
	if r := o.result(); string(r.Value) != `{"db":"SQLite"}` || r.Result != `{"db":"SQLite"}` || !slices.Equal(o.init().Tools, []string{"Read", "StructuredOutput"}) {
		t.Errorf("got %s, %q, with %v", r.Value, r.Result, o.init().Tools)
	}
	o = newBench(t).plays(scenario).run()
	if r := o.result(); r.Value != nil || !strings.Contains(string(o.toolResult(o.uses("StructuredOutput")[0].ID).Content), "No such tool available") {
		t.Errorf("without a schema: %s", o.raw)
	}
}

func TestTheTurnsOfARun(t *testing.T) {
	scenario := opening + "- tool: {name: Read}\n- parent: {name: p, steps: [{tool: {name: Read}}, {tool: {name: Read}}]}\n- say: done\n"
	if got := newBench(t).plays(scenario).with("--max-turns", "3").run().succeeded(); got != "done" {
		t.Errorf("got %q", got)
	}
	o := newBench(t).plays(scenario).with("--max-turns", "2").run()
	if r := o.result(); o.code != 1 || !r.IsError || r.Subtype != "error_max_turns" || r.Reason != "max_turns" || r.Errors[0] != "Reached maximum number of turns (2)" {
		t.Errorf("code %d, %+v", o.code, r)
	}
}

// As claude 2.1.332 refuses them, or does not.
func TestFlagsOfTheVerbs(t *testing.T) {
	for words, args := range map[string][]string{
		"option '--max-turns <turns>' argument 'x' is invalid. must be a number":                                       {"--max-turns", "x"},
		"option '--max-budget-usd <amount>' argument '0' is invalid. --max-budget-usd must be a number greater than 0": {"--max-budget-usd", "0"},
		"--json-schema is not valid JSON":            {"--json-schema", "{"},
		"--json-schema must be a JSON object":        {"--json-schema", "5"},
		"option '--system-prompt-snapshot <on|off>'": {"--system-prompt-snapshot", "maybe"},
		"": {"--max-turns", "0", "--max-budget-usd", "0.5", "--effort", "silly", "--system-prompt-snapshot", "off", "--append-system-prompt", "x", "--json-schema", "{}"},
	} {
		o := newBench(t).plays(opening + "- say: done\n").with(args...).run()
		if (words == "") != (o.code == 0) || !strings.Contains(o.stderr, words) {
			t.Errorf("%v: code %d, %q, want %q", args, o.code, o.stderr, words)
		}
	}
}
