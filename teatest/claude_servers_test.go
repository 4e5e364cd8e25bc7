package teatest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// dispatcher dispatches the real agent without a screen. Self, when given, is how the grandchild is started.
func dispatcher(t *testing.T, api *messagesapi.Server, self ...string) *agent.Dispatcher {
	t.Helper()
	if self == nil {
		self = []string{program(t)}
	}
	env := claudecli.Env(t, api.URL())
	dir, err := askbridge.RuntimeDir(func(name string) string { return lookup(env, name) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checkNothingLeft(t, env) })
	return &agent.Dispatcher{Self: self, Runtime: dir, Env: env}
}

// present is a context with an operator who answers every ask at once. It ends after a minute.
func present(t *testing.T, answer func([]host.OperatorQuestion) map[string]any) context.Context {
	t.Helper()
	board := host.NewSwitchboard(host.SwitchboardOptions{})
	board.Declare(nil)
	board.Attach("test", host.PrompterFunc(func(_ context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
		return answer(qs), nil
	}), nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := board.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return host.WithOperatorPrompter(ctx, board)
}

var methodName = regexp.MustCompile(`"method":"([^"]*)"`)

// The pinned releases are of two ages of MCP, and the grandchild serves both: one discovers, without ever
// initializing, the other initializes.
func TestClaudesAgesOfMCP(t *testing.T) { eachClaude(t, claudeAgesOfMCP) }

func claudeAgesOfMCP(t *testing.T, v claudecli.Version) {
	api := messagesapi.Start(t, messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.Say("Hello.")})
	log := filepath.Join(t.TempDir(), "mcp")
	d := dispatcher(t, api, "/bin/sh", "-c", `tee "$0" | "$@"`, log, program(t))
	if _, err := d.Run(present(t, nil), agent.Command{Name: "claude", Path: claudecli.Require(t, v)},
		agent.Request{Verb: agent.Converse, Prompt: "hello", SessionID: "s", Dir: t.TempDir()}, agent.Observer{}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, m := range methodName.FindAllStringSubmatch(string(raw), -1) {
		methods = append(methods, m[1])
	}
	first, never := "server/discover", "initialize"
	if v == claudecli.Older {
		first, never = never, first
	}
	if len(methods) == 0 || methods[0] != first || slices.Contains(methods, never) || !slices.Contains(methods, "tools/list") {
		t.Errorf("the grandchild was called with %v", methods)
	}
}

// slow is a grandchild that takes longer to start than the releases wait by themselves.
func slow(t *testing.T) []string {
	t.Helper()
	return []string{"/bin/sh", "-c", `sleep 4; exec "$0" "$@"`, program(t)}
}

// A grandchild that is slow to start is waited for, so its tool is in the first request.
func TestClaudeWaitsForASlowServer(t *testing.T) { eachClaude(t, claudeSlowServer) }

func claudeSlowServer(t *testing.T, v claudecli.Version) {
	api := messagesapi.Start(t, messagesapi.Step{When: messagesapi.ToolOffered(askTool), Reply: messagesapi.Say("Hello.")})
	res, err := dispatcher(t, api, slow(t)...).Run(present(t, nil), agent.Command{Name: "claude", Path: claudecli.Require(t, v)},
		agent.Request{Verb: agent.Converse, Prompt: "hello", SessionID: "s", Dir: t.TempDir()}, agent.Observer{})
	if err != nil || res.Text != "Hello." {
		t.Errorf("got %+v, %v", res, err)
	}
}

// A release that gives the grandchild up as too slow would call its model without the tool. The turn is stopped,
// in words, instead.
func TestClaudeDoesNotWorkWithoutTheTool(t *testing.T) { eachClaude(t, claudeImpatient) }

func claudeImpatient(t *testing.T, v claudecli.Version) {
	api := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("I guess."), Repeat: true})
	status := ""
	_, err := dispatcher(t, api, slow(t)...).Run(present(t, nil),
		agent.Command{Name: "claude", Path: claudecli.Require(t, v), Env: []string{"MCP_TIMEOUT=1000"}},
		agent.Request{Verb: agent.Converse, Prompt: "hello", SessionID: "s", Dir: t.TempDir()},
		agent.Observer{Event: func(e agent.StreamEvent, _ []string) {
			if i, ok := e.(agent.Init); ok {
				status = i.Servers["operator"]
			}
		}})
	if err == nil || !strings.Contains(err.Error(), "cannot ask") || status != "failed" {
		t.Errorf("got %v, with the server %q", err, status)
	}
}
