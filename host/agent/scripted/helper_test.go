package scripted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host/agent/scripted"
)

const (
	askTool   = "mcp__operator__ask"
	question  = "Which database should the new service use?"
	postgres  = `{"answers":{"Which database should the new service use?":"Postgres"}}`
	bound     = 20 * time.Second // of every wait; the machine may be busy
	longAfter = 1900 * time.Millisecond
)

func jsonRaw(text string) json.RawMessage { return json.RawMessage(text) }

// bench is one run of the agent with its surroundings.
type bench struct {
	t       *testing.T
	log     string // what the operator's server read
	servers map[string]any
	args    []string
	env     map[string]string
	prompt  string
}

func newBench(t *testing.T) *bench {
	return &bench{
		t: t, log: filepath.Join(t.TempDir(), "server.log"), servers: map[string]any{},
		args:   []string{"-p", "--output-format", "stream-json", "--verbose"},
		env:    map[string]string{scripted.EnvPace: "0"},
		prompt: "Build a service for invoices.\nWith care.",
	}
}

// operator gives the run the operator's server, whose ask does as told, and permits the tool.
func (b *bench) operator(ask string, env ...string) *bench {
	b.server("operator", "operator", append(env, "TEST_ASK="+ask)...)
	return b.with("--allowedTools", askTool)
}

func (b *bench) server(name, role string, env ...string) *bench {
	vars := map[string]string{envRole: role, "TEST_LOG": b.log}
	for _, kv := range env {
		key, value, _ := strings.Cut(kv, "=")
		vars[key] = value
	}
	b.servers[name] = map[string]any{"type": "stdio", "command": os.Args[0], "env": vars, "alwaysLoad": true}
	return b
}

func (b *bench) with(args ...string) *bench {
	b.args = append(b.args, args...)
	return b
}

// plays takes a scenario from a text.
func (b *bench) plays(scenario string) *bench {
	path := filepath.Join(b.t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(path, []byte(scenario), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.env[scripted.EnvScenario] = path
	return b
}

func (b *bench) argv() []string {
	args := b.args
	if len(b.servers) > 0 {
		config, err := json.Marshal(map[string]any{"mcpServers": b.servers})
		if err != nil {
			b.t.Fatal(err)
		}
		args = append(args, "--mcp-config", string(config))
	}
	return args
}

// run runs the agent in this process.
func (b *bench) run() *outcome {
	b.t.Helper()
	return b.runUnder(b.t.Context())
}

func (b *bench) runUnder(ctx context.Context) *outcome {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	code := scripted.Run(ctx, b.argv(), strings.NewReader(b.prompt), &stdout, &stderr, func(key string) string { return b.env[key] })
	return &outcome{t: b.t, code: code, raw: stdout.String(), stderr: stderr.String(), log: b.log}
}

// process is the agent as a process of its own.
type process struct {
	b              *bench
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
}

func (b *bench) start() *process {
	b.t.Helper()
	p := &process{b: b, cmd: exec.Command(os.Args[0], b.argv()...)}
	p.cmd.Env = append(os.Environ(), envRole+"=agent", "GORACE=atexit_sleep_ms=0")
	for key, value := range maps.All(b.env) {
		p.cmd.Env = append(p.cmd.Env, key+"="+value)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = strings.NewReader(b.prompt), &p.stdout, &p.stderr
	p.cmd.WaitDelay = bound
	if err := p.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

func (p *process) signal(sig os.Signal) {
	p.b.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.b.t.Fatal(err)
	}
}

// wait waits for the end and tells how long it took from now.
func (p *process) wait() (*outcome, time.Duration) {
	p.b.t.Helper()
	begun := time.Now()
	_ = p.cmd.Wait() // the code says it
	took := time.Since(begun)
	return &outcome{t: p.b.t, code: p.cmd.ProcessState.ExitCode(), raw: p.stdout.String(), stderr: p.stderr.String(), log: p.b.log}, took
}

// eventually waits until the server's log has what it should.
func (b *bench) eventually(what string) {
	b.t.Helper()
	look, end := time.NewTicker(5*time.Millisecond), time.After(bound)
	defer look.Stop()
	for {
		if raw, err := os.ReadFile(b.log); err == nil && strings.Contains(string(raw), what) {
			return
		}
		select {
		case <-look.C:
		case <-end:
			b.t.Fatalf("the server did not read %q within %s", what, bound)
		}
	}
}

// outcome is what came out of a run.
type outcome struct {
	t           *testing.T
	code        int
	raw, stderr string
	log         string
	parsed      []event
}

type event struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	SessionID string          `json:"session_id"`
	UUID      string          `json:"uuid"`
	Parent    string          `json:"parent_tool_use_id"`
	Message   message         `json:"message"`
	Event     json.RawMessage `json:"event"`

	Tools      []string                        `json:"tools"`
	Servers    []struct{ Name, Status string } `json:"mcp_servers"`
	Model      string                          `json:"model"`
	Permission string                          `json:"permissionMode"`

	IsError  bool            `json:"is_error"`
	Result   string          `json:"result"`
	Reason   string          `json:"terminal_reason"`
	Turns    int             `json:"num_turns"`
	Denials  []any           `json:"permission_denials"`
	Errors   []string        `json:"errors"`
	Value    json.RawMessage `json:"structured_output"`
	ToolName string          `json:"tool_name"`
}

type message struct {
	ID      string  `json:"id"`
	Content []block `json:"content"`
}

type block struct {
	Type, Text, ID, Name string
	Input                json.RawMessage
	ToolUseID            string `json:"tool_use_id"`
	Content              json.RawMessage
	IsError              *bool `json:"is_error"`
}

// UnmarshalJSON lets a message be anything: permission_denied carries a text there.
func (m *message) UnmarshalJSON(raw []byte) error {
	type plain message
	if raw[0] != '{' {
		return nil
	}
	return json.Unmarshal(raw, (*plain)(m))
}

func (o *outcome) events() []event {
	o.t.Helper()
	if o.parsed != nil {
		return o.parsed
	}
	for line := range strings.Lines(o.raw) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			o.t.Fatalf("line is no event: %v\n%.200s", err, line)
		}
		o.parsed = append(o.parsed, e)
	}
	return o.parsed
}

func (o *outcome) init() event {
	o.t.Helper()
	first := o.events()[0]
	if first.Type != "system" || first.Subtype != "init" {
		o.t.Fatalf("the first event is %s/%s, not system/init", first.Type, first.Subtype)
	}
	return first
}

func (o *outcome) results() []event {
	o.t.Helper()
	var results []event
	for _, e := range o.events() {
		if e.Type == "result" {
			results = append(results, e)
		}
	}
	return results
}

// result is the one result event, which is the last.
func (o *outcome) result() event {
	o.t.Helper()
	all := o.events()
	if n := len(o.results()); n != 1 || all[len(all)-1].Type != "result" {
		o.t.Fatalf("%d result events; stdout:\n%s\nstderr: %s", n, o.raw, o.stderr)
	}
	return all[len(all)-1]
}

// succeeded checks that the run went well and returns the agent's last words.
func (o *outcome) succeeded() string {
	o.t.Helper()
	if o.code != 0 || o.stderr != "" {
		o.t.Fatalf("exit code %d, stderr %q", o.code, o.stderr)
	}
	r := o.result()
	if r.IsError || r.Subtype != "success" || r.Reason != "completed" {
		o.t.Fatalf("the result is %+v", r)
	}
	return r.Result
}

// uses lists the tool calls of the stream by tool name, with the event they are in.
func (o *outcome) uses(name string) []block {
	o.t.Helper()
	var uses []block
	for _, e := range o.events() {
		for _, b := range e.Message.Content {
			if b.Type == "tool_use" && b.Name == name {
				uses = append(uses, b)
			}
		}
	}
	return uses
}

// toolResult is what the stream says came of a call.
func (o *outcome) toolResult(useID string) block {
	o.t.Helper()
	for _, e := range o.events() {
		for _, b := range e.Message.Content {
			if b.Type == "tool_result" && b.ToolUseID == useID {
				return b
			}
		}
	}
	o.t.Fatalf("no tool_result for %s in\n%s", useID, o.raw)
	return block{}
}

// requests are the messages of a method that the server read.
func (o *outcome) requests(method string) []request {
	o.t.Helper()
	raw, err := os.ReadFile(o.log)
	if err != nil {
		o.t.Fatal(err)
	}
	var list []request
	for line := range strings.Lines(string(raw)) {
		var r request
		if json.Unmarshal([]byte(line), &r) == nil && r.Method == method {
			list = append(list, r)
		}
	}
	return list
}

// serverPIDs are the processes that wrote the log.
func (o *outcome) serverPIDs() []int {
	o.t.Helper()
	raw, err := os.ReadFile(o.log)
	if err != nil {
		o.t.Fatal(err)
	}
	var pids []int
	for line := range strings.Lines(string(raw)) {
		var pid int
		if _, err := fmt.Sscanf(line, "start %d", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	if len(pids) == 0 {
		o.t.Fatal("no server has started")
	}
	return pids
}

// processState is the letter that ps shows, empty when there is no such process.
func processState(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(raw), ") ")
	return after[:1]
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			UseID string `json:"claudecode/toolUseId"`
		} `json:"_meta"`
	} `json:"params"`
}
