package teatest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
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

// watch follows the asks of the kitsoki in the terminal.
func (o *office) watch() {
	o.t.Helper()
	all, err := control.All(o.t.Context(), runtimeDir(o.env))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, c := range all {
		if c.PID() == o.PID() {
			o.door = c
		} else {
			_ = c.Close() // another's
		}
	}
	if o.door == nil {
		o.t.Fatalf("none of %d kitsoki is the one in the terminal", len(all))
	}
	w, err := o.door.Watch(o.t.Context(), "", "the test", func(ctx context.Context, a host.Ask, q control.Question) {
		o.asks <- inboxAsk{a, q, ctx.Done()}
		<-ctx.Done()
	})
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { w.Close(); _ = o.door.Close() })
}

// asked waits for the ask which DB.
func (o *office) asked() inboxAsk {
	o.t.Helper()
	a := o.next()
	if got := a.Info().Questions[0].Question; got != "Which DB?" {
		o.t.Fatalf("asked is %q", got)
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

// agentRun is an agent that runs beside the test.
type agentRun struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
}

// runs starts a program in a directory, with nothing on its standard input.
func runs(t *testing.T, dir string, env []string, argv ...string) *agentRun {
	t.Helper()
	r := &agentRun{cmd: exec.CommandContext(t.Context(), argv[0], argv[1:]...), ended: make(chan struct{})}
	r.cmd.Dir, r.cmd.Env, r.cmd.WaitDelay = dir, env, 5*time.Second
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.ended) }() // how it ended is in its state
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
	a := o.asked()
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

// rawServer is the server that agents start, with the test as its agent.
type rawServer struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
}

func newRawServer(t *testing.T, env []string) *rawServer {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), "mcp-operator-ask")
	cmd.Env = env
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err = errors.Join(err, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	s := &rawServer{t: t, in: in, out: bufio.NewReader(out)}
	s.exchange(initialize)
	return s
}

func (s *rawServer) exchange(lines string) string {
	s.t.Helper()
	s.send(lines)
	return s.receive()
}

func (s *rawServer) send(lines string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, lines); err != nil {
		s.t.Fatal(err)
	}
}

func (s *rawServer) receive() string {
	s.t.Helper()
	got := make(chan string, 1)
	go func() { line, _ := s.out.ReadString('\n'); got <- line }() // ends with the server
	select {
	case line := <-got:
		return line
	case <-time.After(20 * time.Second):
		s.t.Fatal("the server does not answer")
		panic("unreachable")
	}
}

// checkNobody checks that a call was answered with an error in words, and with nothing that could pass for an answer.
func checkNobody(t *testing.T, reply, why string) {
	t.Helper()
	if !strings.Contains(reply, `"isError":true`) || !strings.Contains(reply, "operator did not answer; proceed without this input (outcome: no_operator") ||
		!strings.Contains(reply, why) || strings.Contains(reply, "answers") {
		t.Errorf("the call was answered %s, want %q", reply, why)
	}
}

// With no kitsoki open the tool is there, and each call is answered at once; when one is opened, the next call reaches it;
// when that is killed in the middle of an ask, the agent is told at once.
func TestAGuestsOperatorComesAndGoes(t *testing.T) {
	t.Parallel()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	s := newRawServer(t, env)
	if tools := s.exchange(listTools); !strings.Contains(tools, `"name":"ask"`) || strings.Contains(tools, "permit") {
		t.Errorf("the tools are %s", tools)
	}
	question := map[string][]string{"Which DB?": {"Postgres", "SQLite"}}
	checkNobody(t, s.exchange(callOfTool(3, question)), "no kitsoki is running with somebody at it")

	p := tmux.Start(t, 100, 30, env, program(t), "demo", "--cwd", t.TempDir())
	p.WaitFor("This is a demo")
	o := officeOf(t, p, env)
	s.send(callOfTool(4, question))
	o.pick(o.asked(), 1)
	if reply := s.receive(); !strings.Contains(reply, `{\"answers\":{\"Which DB?\":\"SQLite\"}}`) {
		t.Errorf("the call was answered %s", reply)
	}
	s.send(callOfTool(5, question))
	o.asked()
	kill(t, p.PID())
	began := time.Now()
	checkNobody(t, s.receive(), "the kitsoki that was asked is gone")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	checkNobody(t, s.exchange(callOfTool(6, question)), "no kitsoki is running with somebody at it")
}

// One that was stopped does not keep a guest from another that is there.
func TestAGuestPassesOverAKitsokiThatHangs(t *testing.T) {
	t.Parallel()
	hung, env := demo(t, 100, 30)
	hung.WaitFor("This is a demo")
	p := tmux.Start(t, 100, 30, env, program(t), "demo", "--cwd", t.TempDir())
	p.WaitFor("This is a demo")
	o := officeOf(t, p, env)
	signal(t, hung.PID(), unix.SIGSTOP)
	t.Cleanup(func() { signal(t, hung.PID(), unix.SIGKILL) })
	s := newRawServer(t, o.env)
	s.send(callOfTool(3, map[string][]string{"Which DB?": {"Postgres", "SQLite"}}))
	o.pick(o.asked(), 0)
	if reply := s.receive(); !strings.Contains(reply, "Postgres") {
		t.Errorf("the call was answered %s", reply)
	}
}

// Within a dispatch an entry of the operator's own is no guest, whatever else is open: the run has a tool of its own, or
// was started without anybody.
func TestAnEntryOfTheOperatorsInADispatch(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, variable := range []string{"KITSOKI_OPERATOR_ASK_SOCK=", "KITSOKI_DISPATCH=a:b:1:1"} {
		s := newRawServer(t, append(slices.Clone(o.env), variable))
		checkNobody(t, s.exchange(callOfTool(3, map[string][]string{"Which DB?": {"a", "b"}})), "no operator takes part in this run")
	}
	checkRows(t, o)
}

// The operator's own configuration has a server operator, and another like it; a dispatch has its own. There is one tool
// of the first name, and its asks are the session's; the other asks nobody a second time.
func TestADispatchBesideAnEntryOfTheOperators(t *testing.T) { eachClaude(t, dispatchBeside) }

func dispatchBeside(t *testing.T, v claudecli.Version) {
	const second = "mcp__second__ask"
	api := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.ToolOffered(second), Reply: messagesapi.Call("toolu_second", second, askInput(map[string][]string{"Which DB?": {"a", "b"}}))},
		messagesapi.Step{When: messagesapi.HasToolResultFor("toolu_second"), Reply: ask("Postgres", "SQLite").Reply},
		goOn("toolu_db", "Going on with it."))
	dir := realDir(t)
	entry := json.RawMessage(printed(t, "mcp", "config", "claude", "--json"))
	env := agentEnv(t, api, dir, map[string]any{
		".claude.json":          map[string]any{"mcpServers": map[string]any{"operator": entry, "second": entry}},
		".claude/settings.json": map[string]any{"permissions": map[string]any{"allow": []string{second}}},
	}, agent.EnvClaudeBin+"="+claudecli.Require(t, v))
	p := tmux.Start(t, 100, 30, env, program(t), "--access", "edit", "--cwd", dir)
	p.WaitFor("idle")
	o := officeOf(t, p, env)
	d := &desk{t: t, api: api, Pane: p, env: env}
	d.prompt("build it")
	a := o.asked()
	d.asked("Which DB?")
	if asker := a.Info().Asker; asker.Guest || a.Info().ToolUseID != "toolu_db" {
		t.Errorf("asked by %+v, with %q", asker, a.Info().ToolUseID)
	}
	o.pick(a, 0)
	d.WaitFor("This ask is over")
	d.Keys("Escape")
	d.WaitFor("Going on with it.")
	got := api.ToolResults()
	if got["toolu_db"].Text != `{"answers":{"Which DB?":"Postgres"}}` || !strings.Contains(got["toolu_second"].Text, "no operator takes part in this run") {
		t.Errorf("the API saw %+v", got)
	}
	tools := slices.DeleteFunc(slices.Clone(api.WaitRequest(1).Tools), func(name string) bool { return name != askTool })
	if len(tools) != 1 {
		t.Errorf("the tool is there %d times", len(tools))
	}
	d.WaitFor("idle")
	d.leave("answered")
}
