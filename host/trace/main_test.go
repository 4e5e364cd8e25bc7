package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/kitsoki/host"
)

// The test binary is also the writer that is killed and the one whose files may not grow.
func TestMain(m *testing.M) {
	switch os.Getenv("TRACE_TEST_WRITER") {
	case "endless":
		writeUntilKilled(os.Getenv("TRACE_TEST_PATH"))
		os.Exit(1)
	case "limited":
		os.Exit(writeUnderLimit(os.Getenv("TRACE_TEST_PATH")))
	}
	goleak.VerifyTestMain(m)
}

// story is a session with one answered and one unanswered ask.
func story(id string) []host.Event {
	q := []host.TracedQuestion{
		{Question: "Which database?", Header: "Database", Labels: []string{"Postgres", "SQLite"}},
		{Question: "Which caches?", Header: "Caches", Labels: []string{"Redis", "Disk", "None"}, MultiSelect: true},
	}
	return []host.Event{
		SessionOpened{SessionID: id, Agent: "scripted", Dir: "/project", Access: "edit"},
		TurnStarted{SessionID: id, Turn: 1, Prompt: "start the service", Operator: true},
		AgentStarted{SessionID: id, Turn: 1, Agent: "scripted", Verb: "converse"},
		AgentTool{SessionID: id, Turn: 1, ToolUseID: "t1", Tool: "Bash"},
		AskNormalised{SessionID: id, Turn: 1, QuestionID: "q1", Notes: []Note{{Where: "questions", Text: "a string was read as JSON"}}},
		host.QuestionAsked{SessionID: id, QuestionID: "q1", ToolUseID: "t2", Kind: host.KindQuestion, Questions: q},
		host.QuestionAsked{SessionID: id, QuestionID: "q2", ToolUseID: "t3", Kind: host.KindQuestion, Questions: q[:1]},
		host.QuestionAnswered{SessionID: id, QuestionID: "q1", ToolUseID: "t2", Outcome: host.Answered, Surface: "terminal", DurationMS: 1500, Answers: []host.TracedAnswer{
			{Indexes: []int{1}, Labels: []string{"SQLite"}, Note: "for now"}, {Indexes: []int{0, 2}, Labels: []string{"Redis", "None"}},
		}},
		host.QuestionDelivered{SessionID: id, QuestionID: "q1", Delivered: true},
		host.QuestionUnanswered{SessionID: id, QuestionID: "q2", ToolUseID: "t3", Outcome: host.Declined, Surface: "terminal", Reason: "not now"},
		AgentEnded{SessionID: id, Turn: 1, Agent: "scripted", Outcome: "done"},
		TurnEnded{SessionID: id, Turn: 1, Outcome: "done", CostUSD: 0.0123, Tokens: 1234, DurationMS: 4000},
		SessionClosed{SessionID: id, Reason: "host_closing"},
	}
}

func write(t *testing.T, f *File, events ...host.Event) {
	t.Helper()
	for _, e := range events {
		if err := f.Record(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func closeFile(t *testing.T, f *File) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// stored writes events to a new trace and returns its path.
func storedTrace(t *testing.T, events ...host.Event) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s1", FileName)
	f := NewFile(path, Options{})
	write(t, f, events...)
	closeFile(t, f)
	return path
}

func readAll(t *testing.T, path string) []Record {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []Record
	for rd := NewReader(bytes.NewReader(raw)); ; {
		rec, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, raw)
		}
		out = append(out, rec)
	}
}

func names(recs []Record) []string {
	var out []string
	for _, r := range recs {
		out = append(out, r.Event)
	}
	return out
}

func checkPath(t *testing.T, path string) Report {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return Check(bytes.NewReader(raw), Live(path))
}

func mustHold(t *testing.T, path string) Report {
	t.Helper()
	r := checkPath(t, path)
	for _, v := range r.Violations {
		t.Errorf("record %d: %s", v.Seq, v.Sentence)
	}
	return r
}

// encode writes records as they would stand in a file.
func encode(recs []Record) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	_ = enc.Encode(Header{Format: format, Version: Version, Created: time.Unix(0, 0)})
	for _, r := range recs {
		_ = enc.Encode(r)
	}
	return b.Bytes()
}

func recordsOf(t *testing.T, events []host.Event) []Record {
	t.Helper()
	var out []Record
	for i, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Record{Seq: uint64(i + 1), Time: time.Unix(int64(i), 0).UTC(), Event: e.Name(), Data: data})
	}
	return out
}

func writeUntilKilled(path string) {
	f := NewFile(path, Options{})
	_ = f.Record(context.Background(), SessionOpened{SessionID: "s1"})
	for i := 1; ; i++ {
		if err := f.Record(context.Background(), TurnStarted{SessionID: "s1", Turn: i, Prompt: fmt.Sprintf("%0*d", 1+i*997%30000, i)}); err != nil {
			return
		}
		if err := f.Record(context.Background(), TurnEnded{SessionID: "s1", Turn: i, Outcome: "done"}); err != nil {
			return
		}
		if i == 3 {
			fmt.Println("going")
		}
	}
}
