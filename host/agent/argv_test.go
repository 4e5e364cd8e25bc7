package agent

import (
	"encoding/json"
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
	servers := []server{operatorServerFor([]string{"/bin/kitsoki", "--x"}, "/run/sock")}
	args, err := argv(Command{Args: []string{"agent-scripted"}}, Request{Verb: Converse, Conversation: "c1", Model: "opus"}, servers, "/run/mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	if args[0] != "agent-scripted" || args[1] != "-p" {
		t.Errorf("starts with %v", args[:2])
	}
	for name, want := range map[string]string{
		"--mcp-config": "/run/mcp.json", "--allowedTools": AskTool, "--disallowedTools": "AskUserQuestion",
		"--append-system-prompt": clauseOperator, "--resume": "c1", "--model": "opus", "--permission-mode": "acceptEdits",
	} {
		if got := flag(args, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestArgvWithoutAnOperator(t *testing.T) {
	args, err := argv(Command{}, Request{Verb: Converse}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(args, " ")
	if strings.Contains(all, AskTool) || strings.Contains(all, "mcp-config") || strings.Contains(all, "--resume") {
		t.Errorf("the tool is named without its server: %s", all)
	}
	if flag(args, "--disallowedTools") != "AskUserQuestion" || flag(args, "--append-system-prompt") != clauseNobody {
		t.Errorf("denial or clause is missing: %s", all)
	}
}

// The socket's path goes in the environment of our server alone; the vendor's time limit lies far beyond ours.
func TestMCPConfigHasAllOfOurServersAtOnce(t *testing.T) {
	raw, err := mcpConfig([]server{operatorServerFor([]string{"/bin/kitsoki"}, "/run/sock"), {name: "second"}})
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
		Command{Env: []string{"KITSOKI_SCENARIO=x"}})
	want := []string{"HOME=/h", "CLAUDE_CODE_MAX_RETRIES=1", "ANTHROPIC_API_KEY=k", "MCP_CONNECTION_NONBLOCKING=0", "KITSOKI_SCENARIO=x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestAccess(t *testing.T) {
	for _, a := range []string{"read", "edit", "full"} {
		if got, err := ParseAccess(a); err != nil || string(got) != a {
			t.Errorf("%s: %v, %v", a, got, err)
		}
	}
	if _, err := ParseAccess("root"); err == nil || !strings.Contains(err.Error(), "read, edit or full") {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(accessArgs(Read), " "); strings.Contains(got, "Write") || strings.Contains(got, "Bash") {
		t.Errorf("read access has %s", got)
	}
}
