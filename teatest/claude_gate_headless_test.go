package teatest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// page is a web page on loopback, and how often it was looked at.
func page(t *testing.T) (url string, looks *atomic.Int32) {
	t.Helper()
	looks = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { looks.Add(1) }))
	t.Cleanup(s.Close)
	return s.URL, looks
}

// secrets puts files into a directory that may be secrets, and one that is none.
func secrets(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{".env": "TOKEN=hush\n", "key.pem": "hush\n", "note.txt": "a note\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".env", filepath.Join(dir, "innocent")); err != nil {
		t.Fatal(err)
	}
}

// G7 (claude-code#76867): without an operator what only reads passes, everything else is denied without anybody being
// asked, also the secrets that the agent's own program would have let it read; and a turn with denials is no plain
// success, whatever the agent says at its end.
func TestGateHeadless(t *testing.T) {
	t.Parallel()
	bin := claudecli.Require(t, claudecli.Current)
	kitsoki := program(t)
	url, looks := page(t)
	dir := t.TempDir()
	secrets(t, dir)
	file := func(name string) string { return filepath.Join(dir, name) }
	type try struct {
		tool    string
		input   map[string]string
		happens bool
	}
	tries := []try{
		{"Bash", bash("cat note.txt | wc -l"), true},
		{"Read", map[string]string{"file_path": file("note.txt")}, true},
		{"Grep", map[string]string{"pattern": "note", "path": file("note.txt"), "output_mode": "content"}, true},
		{"Glob", map[string]string{"pattern": "*.txt"}, true},
		{"Bash", bash("cat .env"), false},
		{"Read", map[string]string{"file_path": file(".env")}, false},
		{"Read", map[string]string{"file_path": file("innocent")}, false},
		{"Grep", map[string]string{"pattern": "h", "path": file("key.pem"), "output_mode": "content"}, false},
		{"Bash", bash("touch made"), false},
		{"Write", map[string]string{"file_path": file("made"), "content": "x"}, false},
		{"Edit", map[string]string{"file_path": file("note.txt"), "old_string": "a note", "new_string": "gone"}, false},
		{"Bash", bash("curl -s " + url), false},
		{"WebFetch", map[string]string{"url": url, "prompt": "read it"}, false},
	}
	var steps []messagesapi.Step
	last := ""
	for i, a := range tries {
		id := "t_" + string(rune('a'+i))
		steps = append(steps, do(last, id, a.tool, a.input))
		last = id
	}
	api := messagesapi.Start(t, append(steps, goOn(last, "All went fine."))...)
	env := claudecli.Env(t, api.URL(), agent.EnvClaudeBin+"="+bin)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, kitsoki, "turn", "go", "--access", "ask", "--json", "--cwd", dir)
	cmd.Env = env
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("it ended with %v, and printed %s", err, out)
	}
	var report session.Report
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	denied := 0
	for i, a := range tries {
		got, was := api.ToolResults()["t_"+string(rune('a'+i))]
		if !a.happens {
			denied++
		}
		if !was || got.IsError == a.happens || !a.happens && !strings.Contains(got.Text, "nobody can be asked") || strings.Contains(got.Text, "hush") {
			t.Errorf("%s %v: the model read %+v", a.tool, a.input, got)
		}
	}
	if report.Outcome != session.DeniedTurn || report.Denials != denied || report.Text != "All went fine." {
		t.Errorf("%d were denied, and the report is %+v", denied, report)
	}
	if !strings.Contains(string(exit.Stderr), "denied: nobody can be asked in this run") {
		t.Errorf("it was said: %s", exit.Stderr)
	}
	if looks.Load() != 0 || exists(file("made")) || !holds(file("note.txt"), "a note") {
		t.Errorf("something happened: %d looks at the page, made: %v", looks.Load(), exists(file("made")))
	}
	if r := api.WaitRequest(1); slices.Contains(r.Tools, askTool) || slices.Contains(r.Tools, agent.PermitTool) || !strings.Contains(r.System, "Nobody can be asked during this run") {
		t.Errorf("the agent was offered %v", r.Tools)
	}
	if asks := checkTrace(t, env); len(asks) != 0 {
		t.Errorf("somebody was asked: %v", asks)
	}
	verdicts := 0
	for _, r := range traceOf(t, env) {
		if r.Event == "machine.write_mode_granted" && r.Data["granted"] == false && r.Data["by"] == "nobody" {
			verdicts++
		}
	}
	if verdicts != denied {
		t.Errorf("the trace has %d denials", verdicts)
	}
	checkNothingLeft(t, env)
}
