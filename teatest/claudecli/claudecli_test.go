package claudecli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// result is the event that a run ends with.
type result struct {
	Type    string
	Subtype string
	IsError bool `json:"is_error"`
	Result  string
	Status  int `json:"api_error_status"`
}

// each runs a test with every pinned release.
func each(t *testing.T, test func(t *testing.T, v claudecli.Version)) {
	for _, v := range claudecli.Versions() {
		t.Run(string(v), func(t *testing.T) { test(t, v) })
	}
}

// claude runs the CLI headless in dir and gives its events and exit code.
func claude(t *testing.T, v claudecli.Version, dir string, env []string, prompt string, args ...string) ([]json.RawMessage, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args = append([]string{"-p", "--output-format", "stream-json", "--verbose"}, args...)
	cmd := exec.CommandContext(ctx, claudecli.Require(t, v), args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = dir, env, strings.NewReader(prompt), 5*time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		t.Fatalf("claude: %v: %s", err, stderr.String())
	}
	var events []json.RawMessage
	scan := bufio.NewScanner(&stdout)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		events = append(events, slices.Clone(scan.Bytes()))
	}
	if err := scan.Err(); err != nil || len(events) == 0 {
		t.Fatalf("claude printed %d events (%v): %s", len(events), err, stderr.String())
	}
	return events, cmd.ProcessState.ExitCode()
}

func last(t *testing.T, events []json.RawMessage) result {
	t.Helper()
	var r result
	if err := json.Unmarshal(events[len(events)-1], &r); err != nil || r.Type != "result" {
		t.Fatalf("the last event is no result (%v): %s", err, events[len(events)-1])
	}
	return r
}

func TestTheRealCLIWorksOffAScript(t *testing.T) { each(t, theRealCLIWorksOffAScript) }

func theRealCLIWorksOffAScript(t *testing.T, v claudecli.Version) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("the magic word is xyzzy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	api := messagesapi.Start(t,
		messagesapi.Step{
			When:  messagesapi.All(messagesapi.ToolOffered("Read"), messagesapi.PromptContains("What does the note say?")),
			Reply: messagesapi.Call("read-1", "Read", map[string]string{"file_path": filepath.Join(dir, "note.txt")}),
		},
		messagesapi.Step{When: messagesapi.HasToolResultFor("read-1"), Reply: messagesapi.Say("It says xyzzy – 繁體.")},
	)
	events, code := claude(t, v, dir, claudecli.Env(t, api.URL()), "What does the note say?")
	if r := last(t, events); code != 0 || r.IsError || r.Subtype != "success" || r.Result != "It says xyzzy – 繁體." {
		t.Errorf("exit code %d, %+v", code, r)
	}
	if got := api.ToolResults()["read-1"]; got.IsError || !strings.Contains(got.Text, "xyzzy") {
		t.Errorf("the model got %+v", got)
	}
	if first := api.WaitRequest(1); first.Prompt() != "What does the note say?" || first.Kind != messagesapi.Conversation {
		t.Errorf("first request: %s, prompt %q", first.Kind, first.Prompt())
	}
	if n := len(api.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

func TestTheRealCLIReportsAnErrorOfTheAPI(t *testing.T) { each(t, theRealCLIReportsAnErrorOfTheAPI) }

func theRealCLIReportsAnErrorOfTheAPI(t *testing.T, v claudecli.Version) {
	api := messagesapi.Start(t, messagesapi.Step{Repeat: true, Reply: messagesapi.Fail(400, "the scripted refusal")})
	events, code := claude(t, v, t.TempDir(), claudecli.Env(t, api.URL()), "hello")
	if r := last(t, events); code == 0 || !r.IsError || r.Status != 400 || !strings.Contains(r.Result, "the scripted refusal") {
		t.Errorf("exit code %d, %+v", code, r)
	}
}

// A sub-agent's requests are told apart from its parent's by what the CLI says
// of itself, so this holds only as long as the pinned CLI says it.
func TestTheRealCLIsSubAgentsAreToldApart(t *testing.T) { each(t, theRealCLIsSubAgentsAreToldApart) }

func theRealCLIsSubAgentsAreToldApart(t *testing.T, v claudecli.Version) {
	api := messagesapi.Start(t,
		messagesapi.Step{
			When: messagesapi.All(messagesapi.OfKind(messagesapi.SubAgent), messagesapi.PromptContains("count the files")), Reply: messagesapi.Say("none"),
		},
		messagesapi.Step{
			When: messagesapi.PromptContains("delegate"),
			Reply: messagesapi.Call("agent-1", "Agent", map[string]any{
				"description": "count", "prompt": "count the files", "subagent_type": "general-purpose", "run_in_background": false,
			}),
		},
		messagesapi.Step{When: messagesapi.OfKind(messagesapi.Conversation), Repeat: true, Reply: messagesapi.Say("there are none")},
	)
	events, code := claude(t, v, t.TempDir(), claudecli.Env(t, api.URL()), "delegate")
	if r := last(t, events); code != 0 || r.IsError || r.Result != "there are none" {
		t.Errorf("exit code %d, %+v", code, r)
	}
}

func TestTheCLIIsThePinnedOne(t *testing.T) { each(t, theCLIIsThePinnedOne) }

func theCLIIsThePinnedOne(t *testing.T, v claudecli.Version) {
	cmd := exec.CommandContext(t.Context(), claudecli.Require(t, v), "--version")
	cmd.Env = claudecli.Env(t, "http://127.0.0.1:1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if version, _, _ := strings.Cut(string(out), " "); version != string(v) || version != claudecli.Pinned(t, v) {
		t.Errorf("the CLI is %q, package.json pins %q", version, claudecli.Pinned(t, v))
	}
}

func TestTheEnvironmentIsBuiltFromNothing(t *testing.T) {
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "of the machine")
	got := map[string]string{}
	for _, entry := range claudecli.Env(t, "http://127.0.0.1:1", "LANG=de_DE.UTF-8") {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	for _, name := range []string{"CLAUDECODE", "ANTHROPIC_AUTH_TOKEN"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s=%s came along", name, v)
		}
	}
	if got["HOME"] == os.Getenv("HOME") || got["ANTHROPIC_API_KEY"] != messagesapi.FakeKey || got["LANG"] != "de_DE.UTF-8" {
		t.Errorf("environment %v", got)
	}
	if info, err := os.Stat(got["XDG_RUNTIME_DIR"]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("XDG_RUNTIME_DIR: %v %v", info, err)
	}
}
