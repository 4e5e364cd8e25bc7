package teatest

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
	"example.com/kitsoki/teatest/claudecli"
)

// seat is kitsoki on a terminal, with an agent whose children leave its group.
type seat struct {
	*terminal
	env   []string
	agent string
}

// takeSeat starts kitsoki; scenario is what its agent plays.
func takeSeat(t *testing.T, scenario string) *seat {
	t.Helper()
	bin := program(t)
	play := strings.Replace(leaving, `exec "$@"`, `exec "`+bin+`" agent-scripted "$@"`, 1)
	s := &seat{agent: script(t, "claude", play)}
	s.env = claudecli.Env(t, "http://127.0.0.1:9", agent.EnvClaudeBin+"="+s.agent, "KITSOKI_SCENARIO="+scenarioFile(t, scenario))
	s.open(t)
	t.Cleanup(func() { checkNobodyLeft(t, s.env) })
	return s
}

// open starts kitsoki in the same environment, again after it was killed.
func (s *seat) open(t *testing.T, more ...string) {
	t.Helper()
	s.terminal = openTerminal(t, s.env, append([]string{program(t), "--cwd", t.TempDir()}, more...)...)
	s.waitFor("idle")
}

func (s *seat) send(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.ptm, keys); err != nil {
		s.t.Fatal(err)
	}
}

// turn starts a turn and waits until its ask is shown.
func (s *seat) turn() {
	s.t.Helper()
	s.send("begin")
	s.waitFor("begin")
	s.send("\r")
	s.waitFor("Port?")
}

// quits ends kitsoki by SIGTERM, which is quicker than keys, and checks the exit code.
func (s *seat) quits() {
	s.t.Helper()
	signal(s.t, s.cmd.Process.Pid, unix.SIGTERM)
	if code := s.waitExit(); code != 130 {
		s.t.Errorf("exit code %d", code)
	}
}

// checkUnended checks that the trace of a killed host holds together as one, and can be told from all others.
func (s *seat) checkUnended(t *testing.T) (path string) {
	t.Helper()
	path = traceFile(t, s.env)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	report := trace.Check(f, false)
	if report.State != trace.Killed || len(report.Violations) > 0 {
		t.Errorf("the trace is %s: %+v", report.State, report.Violations)
	}
	return path
}

// The agent dies with its host, the grandchild with its agent; the next start removes the directory, and its first
// turn what had left the group.
func TestHostIsKilledWhileAnAskIsOpen(t *testing.T) {
	for name, before := range map[string]func(s *seat){
		"running":   func(*seat) {},
		"suspended": func(s *seat) { signal(s.t, s.cmd.Process.Pid, unix.SIGSTOP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := takeSeat(t, scenarioHead+askSteps)
			s.turn()
			family1 := family(s.env)
			agentPID, grandchild := member(t, s.env, "stream-json"), member(t, s.env, "mcp-operator-ask")
			before(s)
			signal(t, s.cmd.Process.Pid, unix.SIGKILL)
			<-s.exited
			if !eventually(func() bool { return arguments(agentPID)[0] == "" && arguments(grandchild)[0] == "" }) {
				t.Fatal("the agent or its grandchild outlives the host")
			}
			left := family(s.env)
			if len(left) == 0 || len(left) >= len(family1) {
				t.Errorf("%d of %d are left for the next start", len(left), len(family1))
			}
			killed := s.checkUnended(t)
			s.open(t)
			checkNothingLeft(t, s.env, fmt.Sprintf("control-%d-", s.cmd.Process.Pid))
			s.turn()
			for _, pid := range left {
				if arguments(pid)[0] != "" {
					t.Errorf("process %d has outlived the next start: %q", pid, arguments(pid))
				}
			}
			s.quits()
			checkNobodyLeft(t, s.env)
			checkNothingLeft(t, s.env)
			if err := os.RemoveAll(filepath.Dir(killed)); err != nil {
				t.Fatal(err)
			}
			checkTrace(t, s.env)
		})
	}
}

// A host that is suspended answers nothing: the grandchild gives up ten seconds after the ask's deadline and tells
// the agent so. Going on, the host finds everything ended.
func TestHostIsSuspendedWhileAnAskIsOpen(t *testing.T) {
	t.Parallel()
	s := takeSeat(t, scenarioHead+askSteps)
	s.quits()
	if err := os.RemoveAll(filepath.Join(lookup(s.env, "XDG_STATE_HOME"), "kitsoki")); err != nil {
		t.Fatal(err)
	}
	s.open(t, "--ask-wait", "5s")
	s.turn()
	s.waitFor("more time") // the form is open
	agentPID := member(t, s.env, "stream-json")
	signal(t, s.cmd.Process.Pid, unix.SIGSTOP)
	if !eventually(func() bool { p := arguments(agentPID); return p[0] == "" }) {
		t.Error("the agent still waits")
	}
	signal(t, s.cmd.Process.Pid, unix.SIGCONT)
	s.waitFor("This ask is over")
	quiet()
	s.send("\x1b")
	s.waitFor("went on without")
	s.quits()
	checkNobodyLeft(t, s.env)
	checkNothingLeft(t, s.env)
	for id, outcome := range checkTrace(t, s.env) {
		if outcome != "timed_out" && outcome != "asker_gone" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
}

// The host is told to end while its agent is deaf and suspended: it is out within its bound, with all of them.
func TestHostEndsWithADeafAgent(t *testing.T) {
	t.Parallel()
	s := takeSeat(t, "deaf: true\n"+scenarioHead+"  - together:\n    - ask: {questions: [{question: Port?}]}\n  - hang: {}\n")
	s.turn()
	signal(t, member(t, s.env, "stream-json"), unix.SIGSTOP)
	began := time.Now()
	s.quits()
	if took := time.Since(began); took > limitOfEnd {
		t.Errorf("it took %s", took)
	}
	if left := family(s.env); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	checkNothingLeft(t, s.env)
	for id, outcome := range checkTrace(t, s.env) {
		if outcome != "host_closing" {
			t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
}
