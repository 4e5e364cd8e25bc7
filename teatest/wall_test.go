package teatest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/gate/wall"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// walledIn is the real agent behind a wall, as kitsoki will start it: its socket in the dispatch's directory,
// scratch to itself, and of its configuration only what a conversation is kept in.
type walledIn struct {
	t         testing.TB
	level     wall.Level
	bin       string
	env       []string
	repo, tmp string
	spec      wall.Spec
	config    string // the MCP configuration

	mu      sync.Mutex
	refused []wall.Refusal
}

func wallIn(t testing.TB, level wall.Level, api *messagesapi.Server, kitsoki, repo string, prompter host.OperatorPrompter) *walledIn {
	t.Helper()
	if s := wall.Probe(); !slices.Contains(s.Levels(), level) {
		t.Skipf("this machine cannot build a wall of level %s: %s", level, s.Why)
	}
	tmp, err := os.MkdirTemp("", "wall") //nolint:usetesting // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	w := &walledIn{t: t, level: level, bin: claudecli.Require(t, claudecli.Current), repo: repo, tmp: tmp}
	// As an administrator claude skips its own permissions only where it is told that it is walled in.
	w.env = claudecli.Env(t, api.URL(), "TMPDIR="+tmp, "GIT_OPTIONAL_LOCKS=0", "IS_SANDBOX=1", "MCP_CONNECTION_NONBLOCKING=0")
	runtime, err := askbridge.RuntimeDir(func(name string) string { return lookup(w.env, name) })
	if err != nil {
		t.Fatal(err)
	}
	dir, err := askbridge.NewDir(runtime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Remove() })
	listener, err := askbridge.Listen(dir, host.NewBridge(host.BridgeOptions{Prompter: prompter, SessionID: "s"}), askbridge.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	w.config = dir.Join("mcp.json")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"operator": map[string]any{
		"type": "stdio", "command": kitsoki, "args": []string{"mcp-operator-ask"}, "alwaysLoad": true,
		"env": map[string]string{agent.EnvAskSocket: dir.Socket()},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	w.write(w.config, string(config))
	w.write(w.repo+"/note.txt", "the magic word is xyzzy\n")
	settings := filepath.Join(lookup(w.env, "HOME"), ".claude")
	places, err := wall.Conversations(settings, w.repo)
	if err != nil {
		t.Fatal(err)
	}
	w.write(settings+"/settings.json", "{}\n")
	w.spec = wall.Spec{Writable: append(places, tmp), Sockets: []string{dir.Socket()}, AgentConnects: true}
	return w
}

func (w *walledIn) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// run runs the agent to its end and gives the result event.
func (w *walledIn) run(kitsoki, prompt string, more ...string) map[string]any {
	t := w.t
	t.Helper()
	wa, err := wall.Prepare(w.spec, w.level, func(r wall.Refusal) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.refused = append(w.refused, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = wa.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// The agent's own permissions are off: what holds here is the wall.
	args := append([]string{"-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions",
		"--mcp-config", w.config, "--disallowedTools", "AskUserQuestion"}, more...)
	path, args, files := wa.Wrap([]string{kitsoki}, w.bin, args)
	cmd := exec.CommandContext(ctx, path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = w.repo, w.env, files, 5*time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(prompt), &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	wa.Attr(cmd.SysProcAttr)
	supervised := make(chan error, 1)
	go func() { supervised <- wa.Run(ctx) }()
	err = cmd.Start()
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err := <-supervised; err != nil {
		t.Errorf("supervised: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var result map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &result); err != nil || result["type"] != "result" {
		t.Fatalf("no result (%v): %s\n%s", err, stdout.String(), stderr.String())
	}
	return result
}

// The real agent, its own permissions off, does behind the wall all that it may, and nothing of what it may not.
func TestClaudeBehindTheWall(t *testing.T) {
	kitsoki := program(t)
	t.Parallel()
	for _, level := range []wall.Level{wall.Kernel, wall.Files, wall.Namespace} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			claudeBehindTheWall(t, level, kitsoki)
		})
	}
}

func claudeBehindTheWall(t *testing.T, level wall.Level, kitsoki string) {
	outside, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = outside.Close() }()
	repo := t.TempDir()
	bash := func(id, command string) messagesapi.Block {
		return messagesapi.Use(id, "Bash", map[string]string{"command": command, "description": id})
	}
	api := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.All(messagesapi.ToolOffered(askTool), messagesapi.PromptContains("look around")), Reply: messagesapi.With(
			messagesapi.Use("read", "Read", map[string]string{"file_path": repo + "/note.txt"}),
			bash("list", "ls; git --version; echo x > $TMPDIR/x && cat $TMPDIR/x"),
			messagesapi.Use("asked", askTool, askInput(map[string][]string{"Which DB?": {"Postgres", "SQLite"}})))},
		messagesapi.Step{When: messagesapi.HasToolResultFor("asked"), Reply: messagesapi.Call("helper", "Agent", map[string]any{
			"description": "count", "prompt": "count the files", "subagent_type": "general-purpose", "run_in_background": false,
		})},
		messagesapi.Step{When: messagesapi.OfKind(messagesapi.SubAgent), Reply: messagesapi.Say("one file")},
		messagesapi.Step{When: messagesapi.HasToolResultFor("helper"), Reply: messagesapi.Say("Looked around.")},

		messagesapi.Step{When: messagesapi.PromptContains("now change it"), Reply: messagesapi.With(
			bash("touch", "touch made"),
			messagesapi.Use("write", "Write", map[string]string{"file_path": repo + "/written", "content": "x"}),
			bash("settings", `echo '{"permissions":{"allow":["Bash"]}}' > ~/.claude/settings.json`),
			bash("fetch", "curl -sS -m 1 http://"+outside.Addr().String()+"/"))},
		messagesapi.Step{When: messagesapi.HasToolResultFor("fetch"), Reply: messagesapi.Say("Could not.")},
	)
	board := host.NewSwitchboard(host.SwitchboardOptions{})
	board.Declare(nil)
	board.Attach("test", host.PrompterFunc(func(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
		return map[string]any{"Which DB?": "SQLite"}, nil
	}), nil)
	t.Cleanup(func() { _ = board.Close(context.Background()) })
	w := wallIn(t, level, api, kitsoki, repo, board)

	first := w.run(kitsoki, "look around")
	got := api.ToolResults()
	for id, want := range map[string]string{"read": "xyzzy", "list": "note.txt", "asked": "SQLite", "helper": "one file"} {
		if r := got[id]; r.IsError || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if first["result"] != "Looked around." {
		t.Errorf("ended with %v", first)
	}
	second := w.run(kitsoki, "now change it", "--resume", fmt.Sprint(first["session_id"]))
	if second["result"] != "Could not." || second["session_id"] != first["session_id"] {
		t.Errorf("the conversation went on as %v", second)
	}
	got = api.ToolResults()
	for _, id := range []string{"touch", "write", "settings"} {
		if r := got[id]; !r.IsError {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if left, err := os.ReadDir(repo); err != nil || len(left) != 1 {
		t.Errorf("the repository has %v %v", left, err)
	}
	settings, err := os.ReadFile(filepath.Join(lookup(w.env, "HOME"), ".claude", "settings.json"))
	if err != nil || string(settings) != "{}\n" {
		t.Errorf("settings are %q %v", settings, err)
	}
	if level != wall.Kernel {
		return
	}
	_ = outside.SetDeadline(time.Now().Add(20 * time.Millisecond))
	if conn, err := outside.Accept(); err == nil {
		_ = conn.Close()
		t.Errorf("a command reached the network: %+v", got["fetch"])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.refused, func(r wall.Refusal) bool { return r.Command == "curl" && r.What == "open a network connection" }) {
		t.Errorf("refused %+v", w.refused)
	}
}
