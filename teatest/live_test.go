package teatest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// The live check itself, against a scripted model that asks when a decision is missing: what it counts is what happened,
// and it stops at its cap.
func TestLiveCheckCounts(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	t.Parallel()
	live := filepath.Join(t.TempDir(), "live")
	if out, err := exec.Command("go", "build", "-o", live, "./live").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	asks := messagesapi.Call("toolu_db", askTool, map[string]any{"questions": []any{map[string]any{"question": "Which database?", "options": []string{"Postgres", "SQLite"}}}})
	api := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.All(messagesapi.ToolOffered(askTool), messagesapi.PromptContains("config.yaml"), messagesapi.Not(messagesapi.HasToolResult())), Reply: asks, Repeat: true},
		messagesapi.Step{Reply: messagesapi.Say("I am done."), Repeat: true},
	)
	env := claudecli.Env(t, api.URL(), "KITSOKI_AGENT_CLAUDE_BIN="+bin)
	live1 := func(args ...string) (string, error) {
		var out, errs bytes.Buffer
		cmd := exec.Command(live, args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &errs
		err := cmd.Run()
		return out.String() + errs.String(), err
	}
	if out, err := live1(); err == nil || !strings.Contains(out, "say what it may cost at most") {
		t.Errorf("without a cap: %v, %s", err, out)
	}
	out, err := live1("--most", "1", "--only", "database", "--json")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type run struct {
		Outcome string   `json:"outcome"`
		Asks    int      `json:"asks"`
		Mended  []string `json:"mended"`
		Words   string   `json:"words"`
		Error   string   `json:"error"`
	}
	got := map[string]run{}
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var r run
		if err := dec.Decode(&r); err != nil {
			t.Fatalf("%v in %s", err, out)
		}
		got[r.Outcome] = r
	}
	for outcome, n := range map[string]int{"answered": 1, "declined": 1, "timed_out": 1, "no_operator": 0} {
		r := got[outcome]
		if r.Asks != n || r.Words != "I am done." || r.Error != "" || len(r.Mended) > 0 != (n > 0) {
			t.Errorf("%s: %+v", outcome, r)
		}
	}
	if out, err := live1("--most", "0.021", "--only", "count"); err != nil || !strings.Contains(out, "nothing missing") {
		t.Errorf("%v: %s", err, out)
	}
	checkNothingLeft(t, env)
}
