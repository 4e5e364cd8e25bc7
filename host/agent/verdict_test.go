package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// stage dispatches the scripted agent with an operator who answers nothing by himself.
type stage struct {
	t       *testing.T
	d       *Dispatcher
	cmd     Command
	dir     string
	board   *host.Switchboard
	stop    context.CancelCauseFunc // of the run
	notices []string

	headless bool // nobody is there
}

func newStage(t *testing.T, scenario string) *stage {
	t.Helper()
	temp, err := os.MkdirTemp("", "kagent") //nolint:usetesting // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	runtime, err := askbridge.RuntimeDir(func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": temp}[name] })
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, dir: t.TempDir()}
	path := filepath.Join(t.TempDir(), "scenario.yaml")
	head := "name: n\ndescription: d\npace: \"0\"\nwithout_operator: Nobody can be asked.\n"
	if err := os.WriteFile(path, []byte(head+scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	self := []string{os.Args[0]}
	s.d, s.cmd = &Dispatcher{Self: self, Runtime: runtime, Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0")}, Scripted(self, path)
	board := host.NewSwitchboard(host.SwitchboardOptions{})
	board.Declare(nil)
	board.Attach("test", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}), nil)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		if err := board.Close(ctx); err != nil {
			t.Error(err)
		}
		left, err := os.ReadDir(runtime)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the runtime directory: %v, %v", left, err)
		}
	})
	s.board = board
	return s
}

func (s *stage) run(seen func(StreamEvent)) (Result, error) {
	s.t.Helper()
	return s.runs(Request{Verb: Converse}, Observer{Event: func(e StreamEvent, _ []string) { seen(e) }})
}

// runs dispatches a request, with what every one here has in common.
func (s *stage) runs(req Request, obs Observer) (Result, error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	if !s.headless {
		ctx = host.WithOperatorPrompter(ctx, s.board)
	}
	ctx, s.stop = context.WithCancelCause(ctx)
	defer s.stop(nil)
	req.SessionID, req.Dir = "s", s.dir
	if req.Prompt == "" {
		req.Prompt = "go"
	}
	obs.Notice = func(n string) { s.notices = append(s.notices, n) }
	return s.d.Run(ctx, s.cmd, req, obs)
}

const (
	failedServer  = `{"type":"system","subtype":"init","mcp_servers":[{"name":"operator","status":"failed"}]}`
	pendingServer = `{"type":"system","subtype":"init","mcp_servers":[{"name":"operator","status":"pending"}]}`
	othersFailed  = `{"type":"system","subtype":"init","mcp_servers":[{"name":"operator","status":"connected"},{"name":"db","status":"failed"}]}`
)

// What the operator reads after each way to end, and what is kept of the run. An empty sentence means that all
// went well.
func TestVerdicts(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		sentence string
		text     string
	}{
		"well": {"- say: all done", "", "all done"},
		"API 400": {
			"- result: {error: true, text: 'API Error: 400 bad request', exit: 1}", "the agent failed: API Error: 400 bad request", "API Error: 400 bad request",
		},
		"an error with exit code 0": {
			"- result: {error: true, subtype: error_during_execution, errors: [it broke], exit: 0}", "the agent failed: it broke", "",
		},
		"max turns": {
			"- result: {error: true, subtype: error_max_turns, terminal_reason: max_turns, errors: [Reached maximum number of turns (1)]}",
			"the agent failed: Reached maximum number of turns (1)", "",
		},
		"interrupted": {
			"- result: {error: true, subtype: error_during_execution, terminal_reason: aborted_tools, errors: ['[diagnostic] x'], exit: 0}",
			"something outside interrupted the agent before it was done (aborted_tools)", "",
		},
		"an error without words": {
			"- result: {error: true, text: ' ', subtype: error_odd, terminal_reason: odd_reason}", "the agent failed: odd_reason", " ",
		},
		"an error of many lines": {
			`- result: {error: true, text: "first\n\n  second\n"}`, "the agent failed: first second", "first\n\n  second\n",
		},
		"a good result with a bad exit code": {"- result: {text: fine, exit: 3}", "", "fine"},
		"no result":                          {"- die: {code: 7}", "the agent ended without a result (exit code 7)", ""},
		"no result and exit code 0":          {"- die: {code: 0}", "the agent ended without a result (exit code 0)", ""},
		"killed":                             {"- die: {signal: KILL}", "the agent ended without a result (something outside ended it with SIGKILL)", ""},
		"SIGTERM, as a runtime's 143":        {"- die: {code: 143}", "the agent ended without a result (something outside ended it with SIGTERM)", ""},
		"garbage alone": {
			"- garbage: 'Usage: claude [options]'\n- die: {code: 2}", "the agent ended without a result (exit code 2): Usage: claude [options]", "",
		},
		"garbage between events": {"- garbage: '{\"type\":'\n- garbage: \"\\e[2J\"\n- say: over", "", "over"},
		"a line of 10 MB":        {"- line: {bytes: 10485760}\n- say: over", "", "over"},
		"a flood":                {"- flood: {lines: 5000}\n- say: over", "", "over"},
		"two results":            {"- say: first\n- result: {}\n- say: second\n- result: {text: second}", "", "second"},
		"two results, the last one bad": {
			"- result: {text: first}\n- result: {error: true, text: the background broke}", "the agent failed: the background broke", "the background broke",
		},
		"our server failed":       {"- garbage: '" + failedServer + "'\n- hang: {}", "the agent could not start kitsoki's MCP server, so it cannot ask; the turn was stopped", ""},
		"our server is pending":   {"- garbage: '" + pendingServer + "'\n- hang: {}", "the agent did not wait for kitsoki's MCP server, so it cannot ask; the turn was stopped, try again", ""},
		"another server failed":   {"- garbage: '" + othersFailed + "'\n- say: over", "", "over"},
		"words beyond all bounds": {"- result: {error: true, text: '" + strings.Repeat("x", 5000) + "'}", "the agent failed: " + strings.Repeat("x", maxWords) + "…", strings.Repeat("x", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "steps:\n"+c.scenario+"\n")
			res, err := s.run(func(StreamEvent) {})
			sentence := ""
			var failure *Failure
			if errors.As(err, &failure) {
				sentence = failure.Sentence
			} else if err != nil {
				t.Errorf("%v is no verdict", err)
			}
			if sentence != c.sentence || res.Text != c.text || strings.ContainsAny(sentence, "\n\r") {
				t.Errorf("the operator reads %q, want %q; the text is %.80q, want %.80q", sentence, c.sentence, res.Text, c.text)
			}
			if len(s.notices) > 0 {
				t.Errorf("notices: %q", s.notices)
			}
		})
	}
}

// An agent that says nothing any more can be stopped, and the operator reads that it was.
func TestASilentAgentCanBeStopped(t *testing.T) {
	for name, scenario := range map[string]string{"silent": "steps:\n- hang: {}\n", "silent and deaf": "deaf: true\nsteps:\n- hang: {}\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, scenario)
			why := &host.Unanswered{Outcome: host.Cancelled, Reason: "the operator stopped the turn"}
			var began time.Time
			_, err := s.run(func(e StreamEvent) {
				if _, ok := e.(Init); ok {
					began = time.Now()
					s.stop(why)
				}
			})
			if !errors.Is(err, why) || err.Error() != "the turn was stopped" {
				t.Errorf("got %v", err)
			}
			if took := time.Since(began); took > graceStop+sweepFor {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A stop that comes after a result, while sub-agents work in the background, is a stop; the result is kept.
func TestAStopAfterAResultIsAStop(t *testing.T) {
	s := newStage(t, "steps:\n- say: so far\n- result: {}\n- hang: {}\n")
	res, err := s.run(func(e StreamEvent) {
		if _, ok := e.(Ended); ok {
			s.stop(context.Canceled)
		}
	})
	if !errors.Is(err, context.Canceled) || res.Text != "so far" {
		t.Errorf("got %+v, %v", res, err)
	}
}

// An agent that calls its model although it was never told of the tool would go on without asking.
func TestTheToolWasNeverListed(t *testing.T) {
	s := newStage(t, "steps: [{say: x}]\n")
	p := plays(t, `echo '{"type":"system","subtype":"init","session_id":"c1"}'
echo '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"I guess."}]}}'
sleep 300`)
	s.cmd = p.cmd
	res, err := s.run(func(StreamEvent) {})
	want := "the agent called its model before it knew of the ask tool, so it cannot ask; the turn was stopped"
	if err == nil || err.Error() != want || res.Conversation != "c1" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestACrashIsToldFromAKill(t *testing.T) {
	_, err := plays(t, "echo oops >&2\nkill -SEGV $$").run(context.Background(), Observer{})
	if want := "the agent ended without a result (it crashed with SIGSEGV): oops"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// A server that cannot even be started, as the agent reports it.
func TestOurServerCannotBeStarted(t *testing.T) {
	s := newStage(t, "steps: [{say: x}]\n")
	s.d.Self = []string{filepath.Join(t.TempDir(), "kitsoki")}
	_, err := s.run(func(StreamEvent) {})
	if want := "the agent could not start kitsoki's MCP server, so it cannot ask; the turn was stopped"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestAgentsThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, noProgram := file("plain", "x", 0o600), file("noprogram", "\x00\x01", 0o700)
	for name, c := range map[string]struct {
		path, dir string
		sentence  string
		is        error
	}{
		"missing":          {filepath.Join(dir, "none"), dir, `the agent "a" was not found: there is no program ` + filepath.Join(dir, "none"), ErrNotFound},
		"not on PATH":      {"kitsoki-has-no-such-program", dir, `the agent "a" was not found: there is no program kitsoki-has-no-such-program`, ErrNotFound},
		"not executable":   {plain, dir, fmt.Sprintf(`the agent "a" cannot be run, because %s is not an executable file; try chmod +x on it`, plain), fs.ErrPermission},
		"a directory":      {dir, dir, "the agent \"a\" was not found: there is no program " + dir, nil},
		"no program":       {noProgram, dir, fmt.Sprintf(`the agent "a" could not be started: %s is not a program for this machine`, noProgram), nil},
		"directory gone":   {"sh", filepath.Join(dir, "gone"), fmt.Sprintf(`the agent "a" could not be started: its working directory %s is gone`, filepath.Join(dir, "gone")), fs.ErrNotExist},
		"directory a file": {"sh", plain, fmt.Sprintf(`the agent "a" could not be started: its working directory %s is gone`, plain), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "steps: [{say: x}]\n")
			s.cmd, s.dir = Command{Name: "a", Path: c.path}, c.dir
			_, err := s.run(func(StreamEvent) {})
			if err == nil || err.Error() != c.sentence || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("got %q, want %q", err, c.sentence)
			}
		})
	}
}
