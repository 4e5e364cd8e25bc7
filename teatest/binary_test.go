package teatest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/host/trace"
)

// program builds kitsoki, with the race detector, once for the whole package: TestMain gives it its place.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv(builtEnv)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	build := exec.Command("go", "build", "-race", "-o", path, "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// builtEnv tells the tests of this package where the program is built to.
const builtEnv = "KITSOKI_TEST_PROGRAM"

// quiet is an operator who reads before answering: real programs have a real clock, and their guard drops keys
// that come within 400 ms of an ask.
func quiet() {
	time.Sleep(600 * time.Millisecond) //nolint:forbidigo // time itself is what the program waits for
}

// eventually waits for a condition, 20 s at most, and reports whether it came.
func eventually(ok func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); <-tick.C {
		if ok() {
			return true
		}
	}
	return false
}

func lookup(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// record is one line of a session's trace.
type record struct {
	Seq   uint64
	Event string
	Data  map[string]any
}

// traceFile returns the trace of the only session of an environment.
func traceFile(t *testing.T, env []string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(lookup(env, "XDG_STATE_HOME"), "kitsoki", "sessions", "*", "trace.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("traces: %v, %v", files, err)
	}
	return files[0]
}

// traceOf reads the trace of the only session of an environment.
func traceOf(t *testing.T, env []string) []record {
	t.Helper()
	path := traceFile(t, env)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the trace is readable by others: %v, %v", info.Mode(), err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	var out []record
	for _, line := range lines[1:] {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("trace line %q: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

// checkTrace checks that a trace holds together (see trace.Check), and that its session was closed. It returns the
// outcomes of the asks by id.
func checkTrace(t *testing.T, env []string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(traceFile(t, env))
	if err != nil {
		t.Fatal(err)
	}
	report := trace.Check(bytes.NewReader(raw), false)
	for _, v := range report.Violations {
		t.Errorf("the trace does not hold together: %v", v)
	}
	if report.State != trace.Closed {
		t.Errorf("the trace is %s, its session was to be closed", report.State)
	}
	outcomes := map[string]string{}
	for _, r := range traceOf(t, env) {
		if id, _ := r.Data["question_id"].(string); r.Event == "operator.question.answered" || r.Event == "operator.question.unanswered" {
			outcomes[id], _ = r.Data["outcome"].(string)
		}
	}
	return outcomes
}

// checkTraces checks every trace below a directory, as kitsoki trace --check does.
func checkTraces(t *testing.T, dir string) {
	t.Helper()
	all, err := trace.Under(dir)
	if err != nil {
		t.Error(err)
	}
	for _, s := range all {
		raw, err := os.ReadFile(s.Path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, v := range trace.Check(bytes.NewReader(raw), false).Violations {
			t.Errorf("the trace of %s does not hold together: %v", s.ID, v)
		}
	}
}

// checkNothingLeft checks that no socket, token or directory of a dispatch is left in the runtime directory, beside
// what has one of the prefixes.
func checkNothingLeft(t *testing.T, env []string, but ...string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(lookup(env, "XDG_RUNTIME_DIR"), "kitsoki", "*"))
	left = slices.DeleteFunc(left, func(path string) bool {
		return slices.ContainsFunc(but, func(prefix string) bool { return strings.HasPrefix(filepath.Base(path), prefix) })
	})
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
