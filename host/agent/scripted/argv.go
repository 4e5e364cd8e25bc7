package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// options is what the flags of a run say, as far as the scripted agent heeds them. The other flags of the
// contract are accepted, because a model would heed them and a scenario has none.
type options struct {
	print, verbose, partial, fork bool

	output         string
	mcpConfigs     []string
	allowed        []string
	disallowed     []string
	tools          []string // nil: the default set
	resume         string
	sessionID      string
	permissionMode string
	permissionTool string
	schema         string
	maxTurns       int      // 0: any number
	words          []string // what is no flag: the prompt
}

// flag is one flag of claude's (2.1.332), with the arity that claude gives it.
type flag struct {
	names []string
	value string // as claude's messages show it; empty for a switch
	many  bool   // takes every word up to the next flag
	loose bool   // the value may be missing
	among []string
	valid func(value string) string // what is wrong with a value, as claude says it
	set   func(o *options, value string)
}

const (
	outputText   = "text"
	outputJSON   = "json"
	outputStream = "stream-json"
)

func flags() []flag {
	ignore := func(*options, string) {}
	named := func(names ...string) []string { return names }
	return []flag{
		{names: named("-p", "--print"), set: func(o *options, _ string) { o.print = true }},
		{names: named("--verbose"), set: func(o *options, _ string) { o.verbose = true }},
		{names: named("--include-partial-messages"), set: func(o *options, _ string) { o.partial = true }},
		{names: named("--fork-session"), set: func(o *options, _ string) { o.fork = true }},
		{
			names: named("--output-format"), value: "<format>", among: []string{outputText, outputJSON, outputStream},
			set: func(o *options, v string) { o.output = v },
		},
		{names: named("--mcp-config"), value: "<configs...>", many: true, set: func(o *options, v string) { o.mcpConfigs = append(o.mcpConfigs, v) }},
		{names: named("--allowedTools", "--allowed-tools"), value: "<tools...>", many: true, set: func(o *options, v string) { o.allowed = append(o.allowed, v) }},
		{names: named("--disallowedTools", "--disallowed-tools"), value: "<tools...>", many: true, set: func(o *options, v string) { o.disallowed = append(o.disallowed, v) }},
		{names: named("--tools"), value: "<tools...>", many: true, set: func(o *options, v string) { o.tools = append(o.tools, v) }},
		{names: named("-r", "--resume"), value: "[value]", loose: true, set: func(o *options, v string) { o.resume = v }},
		{names: named("--session-id"), value: "<uuid>", set: func(o *options, v string) { o.sessionID = v }},
		{
			names: named("--permission-mode"), value: "<mode>",
			among: []string{"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"},
			set:   func(o *options, v string) { o.permissionMode = v },
		},
		{names: named("--permission-prompt-tool"), value: "<tool>", set: func(o *options, v string) { o.permissionTool = v }},
		{names: named("--json-schema"), value: "<schema>", set: func(o *options, v string) { o.schema = v }},

		{names: named("--strict-mcp-config"), set: ignore}, // there are no other MCP configurations
		{names: named("--append-system-prompt"), value: "<prompt>", set: ignore},
		{names: named("--system-prompt"), value: "<prompt>", set: ignore},
		{names: named("--model"), value: "<model>", set: ignore},
		{names: named("--effort"), value: "<level>", set: ignore}, // claude warns of a level that it does not know, and goes on
		{
			names: named("--max-turns"), value: "<turns>", valid: number,
			set: func(o *options, v string) { f, _ := strconv.ParseFloat(v, 64); o.maxTurns = int(f) },
		},
		{names: named("--max-budget-usd"), value: "<amount>", valid: amount, set: ignore}, // a scenario costs nothing
		{names: named("--system-prompt-snapshot"), value: "<on|off>", among: []string{"on", "off"}, set: ignore},
		{names: named("--add-dir"), value: "<directories...>", many: true, set: ignore},
		{names: named("--settings"), value: "<file-or-json>", set: ignore},
		{names: named("--setting-sources"), value: "<sources>", set: ignore},
	}
}

// parseArgs reads the arguments as claude does.
func parseArgs(args []string) (options, error) {
	o := options{output: outputText, permissionMode: "default"}
	table := flags()
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			o.words = append(o.words, args...)
			return o, o.check()
		case !dashed(word):
			o.words = append(o.words, word)
			continue
		}
		var err error
		if args, err = o.takeFlag(table, word, args); err != nil {
			return o, err
		}
	}
	return o, o.check()
}

// takeFlag reads one flag with its values off args and returns the words after them.
func (o *options) takeFlag(table []flag, word string, args []string) (rest []string, err error) {
	name, value, joined := strings.Cut(word, "=")
	i := slices.IndexFunc(table, func(f flag) bool { return slices.Contains(f.names, name) })
	if i < 0 || (joined && table[i].value == "") {
		return args, fmt.Errorf("unknown option '%s'", word)
	}
	f := table[i]
	switch {
	case f.value == "", joined:
	case f.loose && (len(args) == 0 || dashed(args[0])):
	case len(args) == 0:
		return args, fmt.Errorf("option '%s' argument missing", f.usage())
	default: // even when it looks like a flag, as claude does
		value, args = args[0], args[1:]
	}
	if f.among != nil && !slices.Contains(f.among, value) {
		return args, fmt.Errorf("option '%s' argument '%s' is invalid, allowed choices are %s", f.usage(), value, strings.Join(f.among, ", "))
	}
	if f.valid != nil {
		if fault := f.valid(value); fault != "" {
			return args, fmt.Errorf("option '%s' argument '%s' is invalid. %s", f.usage(), value, fault)
		}
	}
	f.set(o, value)
	for f.many && !joined && len(args) > 0 && !dashed(args[0]) {
		f.set(o, args[0])
		args = args[1:]
	}
	return args, nil
}

func number(v string) string {
	if _, err := strconv.ParseFloat(v, 64); err != nil {
		return "must be a number"
	}
	return ""
}

func amount(v string) string {
	if f, err := strconv.ParseFloat(v, 64); err != nil || f <= 0 {
		return "--max-budget-usd must be a number greater than 0"
	}
	return ""
}

func (f flag) usage() string { return strings.Join(f.names, ", ") + " " + f.value }

func dashed(word string) bool { return len(word) > 1 && word[0] == '-' }

// check refuses what claude refuses before it does anything.
func (o *options) check() error {
	switch {
	case !o.print:
		return errors.New("the scripted agent only runs with --print")
	case o.output == outputStream && !o.verbose:
		return errors.New("when using --print, --output-format=stream-json requires --verbose")
	case o.partial && o.output != outputStream:
		return errors.New("--include-partial-messages requires --print and --output-format=stream-json")
	case o.resume != "" && uuid.Validate(o.resume) != nil:
		return fmt.Errorf("--resume requires a valid session ID when used with --print; %q is no UUID", o.resume)
	case o.sessionID != "" && uuid.Validate(o.sessionID) != nil:
		return fmt.Errorf("invalid session ID: %q must be a UUID", o.sessionID)
	case o.sessionID != "" && o.resume != "" && !o.fork:
		return errors.New("--session-id can only be used with --resume if --fork-session is given too")
	case o.schema != "" && !json.Valid([]byte(o.schema)):
		return errors.New("--json-schema is not valid JSON")
	case o.schema != "" && !strings.HasPrefix(strings.TrimSpace(o.schema), "{"):
		return errors.New("--json-schema must be a JSON object")
	}
	return nil
}

// session is the id of the conversation that the run belongs to.
func (o *options) session() string {
	switch {
	case o.sessionID != "":
		return o.sessionID
	case o.resume != "" && !o.fork:
		return o.resume
	}
	return uuid.NewString()
}
