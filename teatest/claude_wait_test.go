package teatest

import (
	"testing"
	"time"

	"example.com/kitsoki/teatest/claudecli"
)

// longWait is longer than the minute after which many clients give a silent call up.
const longWait = 75 * time.Second

// T3 (openclaw#85581), in real time: an answer after 75 s is delivered. This is the one test that takes long by
// intent; it runs beside the others, and once, because both releases wait alike.
func TestClaudeWaits75Seconds(t *testing.T) {
	if testing.Short() {
		t.Skip("waits 75 s in real time, and -short was given")
	}
	program(t)
	t.Parallel()
	d := sit(t, claudecli.Current, nil,
		ask("Postgres", "SQLite"),
		goOn("toolu_db", "It was worth the wait."),
	)
	d.prompt("build it")
	d.asked("Which DB?")
	began := time.Now()
	<-time.After(longWait)
	d.Keys("2", "Enter")
	d.WaitFor("It was worth the wait.")
	d.WaitFor("idle")
	if r := d.api.ToolResults()["toolu_db"]; r.IsError || r.Text != `{"answers":{"Which DB?":"SQLite"}}` {
		t.Errorf("after %v the API saw %+v", time.Since(began), r)
	}
	d.leave("answered")
	for _, r := range d.traced("operator.question.answered") {
		if ms, _ := r.Data["duration_ms"].(float64); ms < float64(longWait.Milliseconds()) {
			t.Errorf("answered after %v ms", ms)
		}
	}
}
