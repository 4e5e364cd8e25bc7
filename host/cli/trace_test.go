package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/trace"
)

// The test binary is the program, for the scripts in testdata.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kitsoki": func() { os.Exit(Main(os.Args[1:])) }})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/trace",
		RequireExplicitExec: true,
		Setup:               plainHome,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// record PATH makes a good trace from the events in a file, a line each: a name and its data.
			"record": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(record(ts.MkAbs(args[1]), ts.ReadFile(args[0])))
			},
			// tear PATH TEXT leaves a line that was not finished.
			"tear": func(ts *testscript.TestScript, _ bool, args []string) {
				f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
				ts.Check(err)
				_, err = f.WriteString(args[1])
				ts.Check(errors.Join(err, f.Close()))
			},
		},
	})
}

// plainHome gives a script a home of its own.
func plainHome(env *testscript.Env) error {
	env.Setenv("TZ", "UTC")
	env.Setenv("GORACE", "atexit_sleep_ms=0") // else each program that a script runs under -race ends a second late
	env.Setenv("HOME", env.Cd)
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.Cd, "state"))
	return nil
}

// record writes a trace whose records are a second apart, through the recorder.
func record(path, events string) error {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	f := trace.NewFile(path, trace.Options{Now: func() time.Time { return now }})
	for line := range strings.Lines(events) {
		name, data, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "" {
			continue
		}
		e, err := trace.Record{Event: name, Data: json.RawMessage(data)}.Decode()
		if err != nil {
			return err
		}
		if e == nil {
			return fmt.Errorf("event %s is not known", name)
		}
		if err := f.Record(context.Background(), e); err != nil {
			return err
		}
		now = now.Add(1500 * time.Millisecond)
	}
	return f.Close()
}

// syncBuffer is what a command prints into while a test reads it.
type syncBuffer struct {
	lines chan string
	rest  []byte
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.rest = append(b.rest, p...)
	for {
		i := bytes.IndexByte(b.rest, '\n')
		if i < 0 {
			return len(p), nil
		}
		b.lines <- string(b.rest[:i])
		b.rest = b.rest[i+1:]
	}
}

func TestFollowShowsWhatHappensAndEndsWithTheSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s1", trace.FileName)
	f := trace.NewFile(path, trace.Options{})
	put := func(e host.Event) {
		t.Helper()
		if err := f.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	put(trace.SessionOpened{SessionID: "s1", Agent: "scripted"})
	out := &syncBuffer{lines: make(chan string, 100)}
	cmd := newTrace()
	cmd.SetOut(out)
	cmd.SetArgs([]string{path, "--follow"})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	see := func(want string) {
		t.Helper()
		limit := time.After(10 * time.Second)
		for {
			select {
			case line := <-out.lines:
				if strings.Contains(line, want) {
					return
				}
			case <-limit:
				t.Fatalf("%q was not shown", want)
			}
		}
	}
	see("session s1 opened")
	put(trace.TurnStarted{SessionID: "s1", Turn: 1, Prompt: "go"})
	see("turn 1")
	put(trace.AgentTool{SessionID: "s1", Turn: 1, Tool: "Bash"})
	see("tools: Bash")
	put(trace.TurnEnded{SessionID: "s1", Turn: 1, Outcome: "done"})
	see("turn 1 done")
	if err := f.Close(); err != nil { // as when its process is killed
		t.Fatal(err)
	}
	see("its process ended without closing it")
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the command goes on")
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s1", trace.FileName)
	f := trace.NewFile(path, trace.Options{})
	if err := f.Record(t.Context(), trace.SessionOpened{SessionID: "s1"}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := newTrace()
	cmd.SetOut(&bytes.Buffer{})
	cmd.SetArgs([]string{path, "--follow"})
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the command goes on")
	}
}

func TestSessionsAreCompleted(t *testing.T) {
	f := &traceFlags{state: t.TempDir()}
	for _, id := range []string{"20260101-a", "evil\x1b[2J"} {
		if err := record(filepath.Join(f.state, id, trace.FileName), `session.opened {"session_id":"x"}`); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(f.completions(), " "); got != "last 20260101-a" {
		t.Errorf("completed %q", got)
	}
}

func TestTextsThatOnlyPretendToBeSafe(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                     "plain",
		"\x1b[2J":                   "‹ESC›[2J",
		"‹ESC›[2J":                  "‹ESC›[2J",
		"‹ESC› and \x1b":            "‹<›ESC› and ‹ESC›",
		"‹boo›":                     "‹<›boo›",
		"a ‹redacted API_KEY› b":    "a ‹redacted API_KEY› b",
		"\u202e‹redacted API_KEY›":  "‹U+202E›‹redacted API_KEY›",
		"‹redacted API KEY\x1b[2J›": "‹<›redacted API KEY‹ESC›[2J›",
		"two\nlines":                "two‹LF›lines",
	} {
		if got := kept(in); got != want {
			t.Errorf("kept %q is %q, want %q", in, got, want)
		}
	}
	if got := shown("‹ESC›"); got != "‹<›ESC›" {
		t.Errorf("shown %q", got)
	}
	if got := string(asciiJSON([]byte("{\"a\":\"é\u202e😀\x7f\xff\"}"))); got != `{"a":"\u00e9\u202e\ud83d\ude00\u007f\ufffd"}` {
		t.Errorf("%s", got)
	}
}
