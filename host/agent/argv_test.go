package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func flag(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

func TestArgvWithAnOperator(t *testing.T) {
	servers := []server{operatorServerFor([]string{"/bin/kitsoki", "--x"}, "/run/sock", true, false)}
	args := argv(Command{Args: []string{"agent-scripted"}}, Request{
		Verb: Converse, Conversation: "c1", Model: "opus", Effort: "high", SystemPrompt: "Be brief.", BudgetUSD: 0.25, MaxTurns: 7,
	}, setup{asks: true, servers: servers, config: "/run/mcp.json", fewer: true, sources: "user", settings: "/run/settings.json", dirs: []string{"/a", "/b"}})
	if args[0] != "agent-scripted" || args[1] != "-p" {
		t.Errorf("starts with %v", args[:2])
	}
	for name, want := range map[string]string{
		"--mcp-config": "/run/mcp.json", "--allowedTools": AskTool, "--disallowedTools": "AskUserQuestion,Agent(isolation:worktree)",
		"--setting-sources": "user", "--settings": "/run/settings.json", "--add-dir": "/a",
		"--append-system-prompt": "Be brief.\n\n" + clauseOperator, "--resume": "c1", "--model": "opus", "--permission-mode": "acceptEdits",
		"--effort": "high", "--max-budget-usd": "0.25", "--max-turns": "7",
	} {
		if got := flag(args, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// What an agent is named it has, and what it is not to have it is not named: of every verb, with every access, with
// and without an operator, and with a list of tools.
func TestArgvOfEveryVerb(t *testing.T) {
	for _, verb := range Verbs() {
		for _, access := range []Access{"", Read, Edit, Full} {
			for _, tools := range [][]string{nil, {}, {"Read", "Bash", "AskUserQuestion"}} {
				for _, operator := range []bool{true, false} {
					t.Run(fmt.Sprintf("%s/%s/%v/%v", verb, access, tools, operator), func(t *testing.T) {
						req := Request{Verb: verb, Access: access, Tools: tools, SystemPrompt: "Be brief."}
						if verb == Decide {
							req.Schema = json.RawMessage(`{"type":"object"}`)
						}
						if err := req.check(); err != nil {
							t.Fatal(err)
						}
						checkArgv(t, req, operator)
					})
				}
			}
		}
	}
}

var mcpTool = regexp.MustCompile(`mcp__([a-z]+)__[a-z]+`)

func checkArgv(t *testing.T, req Request, operator bool) {
	t.Helper()
	s := setup{asks: operator, gate: operator && req.gated()}
	if operator {
		s.servers, s.config = []server{operatorServerFor([]string{"/bin/kitsoki"}, "/run/sock", true, req.gated())}, "/run/mcp.json"
	}
	s.sources, s.fewer = req.sources(false)
	args := argv(Command{}, req, s)
	raw, err := mcpConfig(s.servers)
	if err != nil {
		t.Fatal(err)
	}
	var config struct{ MCPServers map[string]any }
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	named := mcpTool.FindAllStringSubmatch(strings.Join(args, " "), -1)
	for _, m := range named {
		if config.MCPServers[m[1]] == nil {
			t.Errorf("%s is named, and there is no server %s", m[0], m[1])
		}
	}
	clause := clauseNobody
	if operator {
		clause = clauseOperator
	}
	switch {
	case operator != (len(named) > 0), operator != slices.Contains(args, "--mcp-config"), operator != slices.Contains(args, "--allowedTools"):
		t.Errorf("with operator %v: %v", operator, args)
	case !strings.HasPrefix(flag(args, "--disallowedTools")+",", "AskUserQuestion,"):
		t.Errorf("the agent's own questions are not denied: %v", args)
	case flag(args, "--append-system-prompt") != "Be brief.\n\n"+clause:
		t.Errorf("the system prompt is %q", flag(args, "--append-system-prompt"))
	case (req.Verb == Decide) != slices.Contains(args, "--json-schema"):
		t.Errorf("schema: %v", args)
	}
	checkTools(t, req, args)
}

func checkTools(t *testing.T, req Request, args []string) {
	t.Helper()
	reads, full := req.Verb == Ask || req.Verb == Decide || req.Access == Read, req.Access == Full
	want, mode, sources, alone := strings.Join(editTools(), ","), "acceptEdits", "user", true
	if full {
		want, mode, sources, alone = "", "bypassPermissions", "", false
	}
	if reads {
		want, mode, sources, alone = "Read,Grep,Glob,Agent", "default", "", true
	}
	switch {
	case req.Tools == nil:
	case len(req.Tools) == 0:
		want = ""
	case reads:
		want = "Read"
	default:
		want = "Read,Bash"
	}
	if slices.Contains(args, "--tools") != (reads || !full || req.Tools != nil) || flag(args, "--tools") != want {
		t.Errorf("tools %q, want %q: %v", flag(args, "--tools"), want, args)
	}
	if flag(args, "--permission-mode") != mode {
		t.Errorf("mode %q, want %q", flag(args, "--permission-mode"), mode)
	}
	if slices.Contains(args, "--setting-sources") != alone || flag(args, "--setting-sources") != sources {
		t.Errorf("settings of %q: %v", flag(args, "--setting-sources"), args)
	}
	if strings.Contains(flag(args, "--disallowedTools"), "isolation") != alone {
		t.Errorf("denied are %q", flag(args, "--disallowedTools"))
	}
}

func TestRequestsThatCannotBeDispatched(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	for words, req := range map[string]Request{
		`verb "chat" is not known; use ask, decide, task or converse`:        {Verb: "chat"},
		`access "root" is not known`:                                         {Verb: Task, Access: "root"},
		`effort "silly" is not known; use low, medium, high, xhigh, max`:     {Verb: Task, Effort: "silly"},
		`a budget of -1 is none`:                                             {Verb: Task, BudgetUSD: -1},
		`a limit of -1 turns is none`:                                        {Verb: Task, MaxTurns: -1},
		`decide needs a JSON schema`:                                         {Verb: Decide},
		`task returns words; a schema goes with decide`:                      {Verb: Task, Schema: object},
		`"Bash(rm *)" is no tool's name`:                                     {Verb: Task, Tools: []string{"Read", "Bash(rm *)"}},
		`"" is no tool's name`:                                               {Verb: Task, Tools: []string{""}},
		`the system prompt has 140000 bytes`:                                 {Verb: Task, SystemPrompt: strings.Repeat("x", 140000)},
		`the schema has 140000 bytes`:                                        {Verb: Decide, Schema: json.RawMessage(strings.Repeat(" ", 140000))},
		`the schema is no JSON`:                                              {Verb: Decide, Schema: json.RawMessage(`{`)},
		`the schema is no JSON object`:                                       {Verb: Decide, Schema: json.RawMessage(`5`)},
		`the schema is not valid: at '/type': `:                              {Verb: Decide, Schema: json.RawMessage(`{"type":"nonsense"}`)},
		`the schema is not valid: failing loading "file:///etc/passwd"`:      {Verb: Decide, Schema: json.RawMessage(`{"$ref":"file:///etc/passwd"}`)},
		`the schema is not valid: failing loading "http://127.0.0.1/x.json"`: {Verb: Decide, Schema: json.RawMessage(`{"$ref":"http://127.0.0.1/x.json"}`)},
	} {
		t.Run(words, func(t *testing.T) {
			p := plays(t, `eval "$NOTE"`+"\n"+success)
			_, err := p.d.Run(context.Background(), p.cmd, req, Observer{})
			var failure *Failure
			if !errors.As(err, &failure) || !errors.Is(err, ErrRequest) || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(p.note); err == nil {
				t.Error("the agent was started")
			}
		})
	}
}

// The socket's path goes in the environment of our server alone; the vendor's time limit lies far beyond ours.
func TestMCPConfigHasAllOfOurServersAtOnce(t *testing.T) {
	raw, err := mcpConfig([]server{operatorServerFor([]string{"/bin/kitsoki"}, "/run/sock", true, false), {name: "second"}})
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		MCPServers map[string]struct {
			Command    string
			Args       []string
			Env        map[string]string
			Timeout    int64
			AlwaysLoad bool
		}
	}
	if err := json.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	op := config.MCPServers["operator"]
	if len(config.MCPServers) != 2 || op.Command != "/bin/kitsoki" || !slices.Equal(op.Args, []string{"mcp-operator-ask"}) ||
		op.Env[EnvAskSocket] != "/run/sock" || !op.AlwaysLoad || op.Timeout < 3600_000 {
		t.Errorf("%s", raw)
	}
}

func TestEnvironmentLosesMarkersOfASurroundingAgent(t *testing.T) {
	got := environ([]string{"HOME=/h", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", EnvAskSocket + "=/old", "CLAUDE_CODE_MAX_RETRIES=1", "ANTHROPIC_API_KEY=k"},
		Command{Env: []string{"KITSOKI_SCENARIO=x"}}, setup{})
	want := []string{"HOME=/h", "CLAUDE_CODE_MAX_RETRIES=1", "ANTHROPIC_API_KEY=k", "MCP_CONNECTION_NONBLOCKING=0", "KITSOKI_SCENARIO=x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestAccess(t *testing.T) {
	for _, a := range []string{"read", "ask", "edit", "full"} {
		if got, err := ParseAccess(a); err != nil || string(got) != a {
			t.Errorf("%s: %v, %v", a, got, err)
		}
	}
	if _, err := ParseAccess("root"); err == nil || !strings.Contains(err.Error(), "read, ask, edit or full") {
		t.Errorf("got %v", err)
	}
}
