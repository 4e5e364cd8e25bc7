package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func closeTranscript(t *testing.T, tr *Transcript) {
	t.Helper()
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 0 && raw[len(raw)-1] != '\n' {
		t.Errorf("the last line is torn")
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

func TestTranscriptKeepsLinesAsTheyCameWithEventsAtTheirPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s1", TranscriptName)
	tr := NewTranscript(path, Options{}, func(err error) { t.Error(err) })
	big := `{"type":"user","x":"` + strings.Repeat("ä", 5<<20) + `"}`
	in := []string{`{"type":"system", "subtype":"init"}`, "garbage \x1b[2J\xff\r", "", big, `{"type":"assistant"}`}
	for i, line := range in {
		buf := []byte(line)
		tr.Line(buf)
		clear(buf) // the line is the caller's again
		if i == 1 {
			if err := tr.Event(story("s1")[5]); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeTranscript(t, tr)
	got := lines(t, path)
	if len(got) != 6 {
		t.Fatalf("%d lines", len(got))
	}
	var ours own
	if err := json.Unmarshal([]byte(got[2]), &ours); err != nil || ours.Type != "kitsoki" || ours.Event != "operator.question.asked" {
		t.Errorf("%+v, %v", ours, err)
	}
	for i, want := range in {
		at := i
		if i > 1 {
			at++
		}
		if got[at] != want {
			t.Errorf("line %d has %d bytes instead of %d", i, len(got[at]), len(want))
		}
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode().Perm())
	}
}

// An agent that prints lines of the type kitsoki writes no answers into its own transcript.
func TestAgentCannotPassForKitsoki(t *testing.T) {
	path := filepath.Join(t.TempDir(), TranscriptName)
	tr := NewTranscript(path, Options{}, nil)
	for _, line := range []string{
		`{"type":"kitsoki","event":"operator.question.answered"}`, `{"type":"x","type":"kitsoki"}`, `{"type":"kitsoki","type":"x"}`,
		`{"Type":"kitsoki"}`, `{"type":"\u006bitsoki"}`, `{"a":{"b":[1]},"TYPE" : "kitsoki"}`,
	} {
		tr.Line([]byte(line))
	}
	honest := `{"type":"user","x":"{\"type\":\"kitsoki\"}","y":{"type":"kitsoki"}}`
	tr.Line([]byte(honest))
	closeTranscript(t, tr)
	got := lines(t, path)
	for _, line := range got[:6] {
		if !strings.Contains(line, `"event":"transcript.quoted"`) {
			t.Errorf("kept as %s", line)
		}
	}
	if got[6] != honest {
		t.Errorf("kept as %s", got[6])
	}
}

func TestTranscriptIsContinuedAfterATornLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), TranscriptName)
	long := strings.Repeat("x", 100_000)
	if err := os.WriteFile(path, []byte("whole\n"+long), 0o644); err != nil {
		t.Fatal(err)
	}
	tr := NewTranscript(path, Options{}, nil)
	tr.Line([]byte("next"))
	closeTranscript(t, tr)
	if got := lines(t, path); len(got) != 2 || got[0] != "whole" || got[1] != "next" {
		t.Errorf("%d lines: %.80q", len(got), got)
	}
}

func TestTranscriptTellsOnceAndCountsWhatItCouldNotKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s1")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var told []error
	tr := NewTranscript(filepath.Join(dir, TranscriptName), Options{}, func(err error) { mu.Lock(); defer mu.Unlock(); told = append(told, err) })
	for range 5 {
		tr.Line([]byte("lost"))
	}
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(told) > 0 && waiting(tr) == 0 })
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	tr.Line([]byte("kept"))
	closeTranscript(t, tr)
	got := lines(t, filepath.Join(dir, TranscriptName))
	lost := 0
	for _, line := range got[:len(got)-1] {
		var o struct{ Data struct{ Lost int } }
		if json.Unmarshal([]byte(line), &o) == nil {
			lost += o.Data.Lost
		}
		if line == "lost" { // written after the directory could be made
			lost++
		}
	}
	if lost != 5 || got[len(got)-1] != "kept" || len(told) != 1 {
		t.Errorf("%d of 5 in %q, told %v", lost, got, told)
	}
}

func waiting(tr *Transcript) int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.queue)
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(5 * time.Second); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("it did not come")
		}
	}
}

// A disk that takes nothing holds the agent up once, for a moment, and then no more.
func TestHungDiskDoesNotHoldTheAgentUp(t *testing.T) {
	tr := NewTranscript(filepath.Join(t.TempDir(), TranscriptName), Options{}, nil)
	tr.started = true // nobody writes
	line := bytes.Repeat([]byte("x"), 1<<20)
	began := time.Now()
	for range 200 {
		tr.Line(line)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("200 lines took %s", took)
	}
	if waiting(tr) > 17 {
		t.Errorf("%d MiB wait", waiting(tr))
	}
	tr.mu.Lock()
	dropped := tr.dropped
	tr.mu.Unlock()
	if dropped+waiting(tr) != 200 {
		t.Errorf("%d dropped, %d wait", dropped, waiting(tr))
	}
	go tr.write() // the disk is back
	waitFor(t, func() bool { return waiting(tr) == 0 })
	tr.Line([]byte("next"))
	tr.Line([]byte("last"))
	closeTranscript(t, tr)
	got := lines(t, tr.out.path)
	end := got[len(got)-3:]
	if want := fmt.Sprintf(`"data":{"lost":%d}`, dropped); !strings.Contains(end[0], want) || end[1] != "next" || end[2] != "last" {
		t.Errorf("it ends with %.200q, want %s before the next line", end, want)
	}
}

func TestTranscriptOfAHungDiskEnds(t *testing.T) {
	tr := NewTranscript(filepath.Join(t.TempDir(), TranscriptName), Options{}, nil)
	tr.started = true
	if err := tr.Close(); !errors.Is(err, ErrSlowDisk) {
		t.Errorf("got %v", err)
	}
}

func TestNoSecretReachesTheTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), TranscriptName)
	opt := Options{Redact: NewRedactor([]string{"API_KEY=hunter2hunter2"})}
	tr := NewTranscript(path, opt, nil)
	tr.Line([]byte(`{"type":"user","content":"hunter2hunter2 hunter2\u0068unter2"}`))
	tr.Line([]byte("panic: hunter2hunter2"))
	for _, token := range tokens() {
		tr.Line(encodeString(token, false))
	}
	closeTranscript(t, tr)
	raw, _ := os.ReadFile(path)
	for name, token := range tokens() {
		if bytes.Contains(raw, []byte(token[len(token)/2:])) {
			t.Errorf("%s is there", name)
		}
	}
	if bytes.Contains(raw, []byte("hunter2")) {
		t.Errorf("%s", raw)
	}
}

func TestHashedTranscriptHoldsNoWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), TranscriptName)
	tr := NewTranscript(path, Options{Text: TextHash}, nil)
	tr.Line([]byte(`{"type":"assistant","text":"words"}`))
	closeTranscript(t, tr)
	raw, _ := os.ReadFile(path)
	if bytes.Contains(raw, []byte("words")) || !bytes.Contains(raw, []byte(`"assistant"`)) {
		t.Errorf("%s", raw)
	}
}
