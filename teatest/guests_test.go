package teatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/tmux"
)

// office is an operator with a kitsoki open, whose asks are worked on from this process as well.
type office struct {
	*tmux.Pane
	t    *testing.T
	env  []string // of kitsoki, and but for the API's address of all agents
	asks chan inboxAsk
	door *control.Client
}

// inboxAsk is an ask as another process sees it.
type inboxAsk struct {
	host.Ask
	question control.Question
	ended    <-chan struct{}
}

// openOffice starts a kitsoki in a terminal and connects to it.
func openOffice(t *testing.T) *office {
	t.Helper()
	p, env := demo(t, 100, 30)
	p.WaitFor("This is a demo")
	return officeOf(t, p, env)
}

// officeOf connects to the kitsoki in a terminal.
func officeOf(t *testing.T, p *tmux.Pane, env []string) *office {
	t.Helper()
	o := &office{Pane: p, t: t, env: env, asks: make(chan inboxAsk, 16)}
	o.watch()
	return o
}

// runtimeDir is where the sockets of an environment are.
func runtimeDir(env []string) string { return filepath.Join(lookup(env, "XDG_RUNTIME_DIR"), "kitsoki") }

// watch follows the asks of the only kitsoki there is.
func (o *office) watch() {
	o.t.Helper()
	all, err := control.All(o.t.Context(), runtimeDir(o.env))
	if err != nil || len(all) != 1 {
		o.t.Fatalf("%d kitsoki can be reached: %v", len(all), err)
	}
	w, err := all[0].Watch(o.t.Context(), "", "the test", func(ctx context.Context, a host.Ask, q control.Question) {
		o.asks <- inboxAsk{a, q, ctx.Done()}
		<-ctx.Done()
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.door = all[0]
	o.t.Cleanup(func() { w.Close(); _ = o.door.Close() })
}

// asked waits for an ask with this question.
func (o *office) asked(question string) inboxAsk {
	o.t.Helper()
	a := o.next()
	if got := a.Info().Questions[0].Question; got != question {
		o.t.Fatalf("asked is %q, want %q", got, question)
	}
	return a
}

// pick answers a question of one row.
func (o *office) pick(a inboxAsk, row int) {
	o.t.Helper()
	if err := a.Answer(o.t.Context(), []host.Answer{{Picked: []int{row}}}); err != nil {
		o.t.Errorf("the answer was not taken: %v", err)
	}
}

// agentOf is the environment of an agent that the operator starts by hand, with a home of its own, and the sockets of
// the office. More of Claude Code's own files are given by name.
func (o *office) agentOf(api *messagesapi.Server, dir string, files map[string]any) []string {
	o.t.Helper()
	return agentEnv(o.t, api, dir, files, "XDG_RUNTIME_DIR="+lookup(o.env, "XDG_RUNTIME_DIR"))
}

// agentEnv is an environment for Claude Code in which nothing is left to be asked before it starts in dir: what an
// operator clicks through on the first day has been. Files are merged over it, by their path below the home.
func agentEnv(t *testing.T, api *messagesapi.Server, dir string, files map[string]any, more ...string) []string {
	t.Helper()
	env := claudecli.Env(t, api.URL(), more...)
	state := map[string]any{
		"hasCompletedOnboarding": true, "lastOnboardingVersion": string(claudecli.Current), "theme": "dark",
		"customApiKeyResponses": map[string]any{"approved": []string{messagesapi.FakeKey}},
		"projects":              map[string]any{dir: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	}
	if own, ok := files[".claude.json"].(map[string]any); ok {
		maps.Copy(state, own)
	}
	written := map[string]any{".claude/settings.json": map[string]any{}}
	maps.Copy(written, files)
	written[".claude.json"] = state
	for name, content := range written {
		raw, err := json.Marshal(content)
		path := filepath.Join(lookup(env, "HOME"), name)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, raw, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

// realDir is a scratch directory by the path that programs in it see.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// printed runs a command of kitsoki's and returns what it prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("kitsoki %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// guestFiles are Claude Code's files with what kitsoki prints for them in place.
func guestFiles(t *testing.T) map[string]any {
	t.Helper()
	entry := json.RawMessage(printed(t, "mcp", "config", "claude", "--json"))
	parts := strings.Split(printed(t, "mcp", "config", "claude"), "# ")
	_, settings, _ := strings.Cut(parts[2], "\n")
	if !json.Valid([]byte(settings)) || !strings.HasPrefix(parts[2], "~/.claude/settings.json") {
		t.Fatalf("printed are %q", parts)
	}
	return map[string]any{
		".claude.json":          map[string]any{"mcpServers": map[string]any{"operator": entry}},
		".claude/settings.json": json.RawMessage(settings),
	}
}

// process is an agent that runs beside the test.
type agentRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan error
}

// runs starts a program in a directory, with nothing on its standard input.
func runs(t *testing.T, dir string, env []string, argv ...string) *agentRun {
	t.Helper()
	r := &agentRun{cmd: exec.CommandContext(t.Context(), argv[0], argv[1:]...), ended: make(chan error, 1)}
	r.cmd.Dir, r.cmd.Env, r.cmd.WaitDelay = dir, env, 5*time.Second
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// wait returns the exit code.
func (r *agentRun) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-r.ended:
		return r.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		t.Fatalf("the agent did not end: %s%s", r.stdout.String(), r.stderr.String())
		panic("unreachable")
	}
}

// An agent that the operator started by hand, with what kitsoki prints in its own configuration, asks in the inbox.
func TestAnAgentOfTheOperatorsOwnAsks(t *testing.T) { eachClaude(t, guestAsks) }

func guestAsks(t *testing.T, v claudecli.Version) {
	o := openOffice(t)
	api := messagesapi.Start(t, ask("Postgres", "SQLite, in a file"), goOn("toolu_db", "Going on with it."))
	dir := realDir(t)
	env := o.agentOf(api, dir, guestFiles(t))
	r := runs(t, dir, env, claudecli.Require(t, v), "-p", "build it")
	a := o.asked("Which DB?")
	info := a.Info()
	if !info.Asker.Guest || !strings.HasPrefix(info.Asker.Agent, "claude-code "+string(v)) || info.Asker.Dir != dir ||
		!slices.Contains(info.Asker.Path, processOf(r.cmd.Process.Pid)) || info.ToolUseID != "toolu_db" || info.Kind != host.KindQuestion {
		t.Errorf("the asker is %+v", info)
	}
	o.pick(a, 1)
	if code := r.wait(t); code != 0 || r.stdout.String() != "Going on with it.\n" {
		t.Errorf("it ended with %d: %s%s", code, r.stdout.String(), r.stderr.String())
	}
	if got := api.ToolResults()["toolu_db"]; got.IsError || got.Text != `{"answers":{"Which DB?":"SQLite, in a file"}}` {
		t.Errorf("the API saw %+v", got)
	}
	quit(t, o.Pane)
}

func processOf(pid int) string {
	comm, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return strings.TrimSpace(string(comm)) + " (" + strconv.Itoa(pid) + ")"
}
