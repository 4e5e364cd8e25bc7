package teatest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/serve"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
	"example.com/kitsoki/teatest/claudecli"
)

// serveScenario is an agent that says what it was told, once it has done what its prompt asks for.
const serveScenario = `name: n
description: d
pace: "0"
without_operator: Nobody can be asked.
steps:
  - told: {words: please hang, then: [{hang: {}}]}
  - told: {words: please flood, then: [{flood: {lines: 8000, text: "a line of some length, of which there are many, so that nobody can keep all of them in a buffer"}}]}
  - told: {words: say little, then: [{say: As little as that.}], else: [{say: 'I was told: {{.Prompt}}'}]}
`

// serveCmd is kitsoki agent-serve, a real process.
type serveCmd struct {
	t      *testing.T
	env    []string
	cmd    *exec.Cmd
	path   string // of the socket
	stderr bytes.Buffer
	exited chan struct{}
}

// serveEnv is an environment whose scripted agent plays serveScenario.
func serveEnv(t *testing.T) []string {
	t.Helper()
	return claudecli.Env(t, "http://127.0.0.1:9")
}

// startServe starts a server and waits until it says where it listens.
func startServe(t *testing.T, env []string, args ...string) *serveCmd {
	t.Helper()
	s := &serveCmd{t: t, env: env, exited: make(chan struct{})}
	s.cmd = exec.Command(program(t), append([]string{"agent-serve", "--json"}, args...)...)
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = env, t.TempDir(), &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make(chan []byte, 1)
	go func() {
		in := bufio.NewReader(out)
		line, _ := in.ReadBytes('\n') // an empty one is no JSON
		first <- line
		_, _ = io.Copy(io.Discard, in)
		_ = s.cmd.Wait()
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has ended already, unless the test failed
		<-s.exited
		checkNobodyLeft(t, env)
	})
	var ready struct {
		Listening string
		PID       int
		Parallel  int
	}
	select {
	case line := <-first:
		if err := json.Unmarshal(line, &ready); err != nil || ready.PID != s.cmd.Process.Pid || ready.Parallel == 0 {
			t.Fatalf("it says %q, %v; %s", line, err, s.stderr.String())
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not say that it listens")
	}
	s.path = ready.Listening
	return s
}

// startScripted starts a server whose agents play serveScenario.
func startScripted(t *testing.T, env []string, args ...string) *serveCmd {
	t.Helper()
	return startServe(t, env, append([]string{"--agent", "scripted", "--scenario", scenarioFile(t, serveScenario)}, args...)...)
}

// ends tells the server to end and checks that it does, in time, and that nothing of it is left.
func (s *serveCmd) ends() {
	s.t.Helper()
	signal(s.t, s.cmd.Process.Pid, unix.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(limitOfEnd):
		s.t.Fatal("it does not end")
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("exit code %d: %s", code, s.stderr.String())
	}
	if left := family(s.env); len(left) > 0 {
		s.t.Errorf("processes are left: %v", left)
	}
	checkNothingLeft(s.t, s.env)
	if _, err := os.Stat(s.path); !errors.Is(err, os.ErrNotExist) {
		s.t.Errorf("the socket is left: %v", err)
	}
}

// descriptors counts what the server has open.
func (s *serveCmd) descriptors() int {
	s.t.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(entries)
}

// checkSessions checks that there are so many sessions, each closed with a trace that holds, and that kitsoki says so
// too.
func (s *serveCmd) checkSessions(n int) {
	s.t.Helper()
	all, err := trace.Sessions(filepath.Join(lookup(s.env, "XDG_STATE_HOME"), "kitsoki", "sessions"))
	if err != nil || len(all) != n {
		s.t.Errorf("%d sessions, %d were to be, %v", len(all), n, err)
	}
	for _, one := range all {
		raw, err := os.ReadFile(one.Path)
		if err != nil {
			s.t.Fatal(err)
		}
		report := trace.Check(bytes.NewReader(raw), false)
		if report.State != trace.Closed || len(report.Violations) > 0 {
			s.t.Errorf("session %s is %s: %v", one.ID, report.State, report.Violations)
		}
	}
	check := exec.Command(program(s.t), "trace", "--check")
	check.Env = s.env
	if out, err := check.CombinedOutput(); n > 0 && err != nil {
		s.t.Errorf("kitsoki trace --check: %v\n%s", err, out)
	}
}

// serveEvent is what a client is told of its call.
type serveEvent struct {
	Call     string
	ID       json.RawMessage
	Kind     string
	Session  string
	Position int
	Missed   int
	Text     string
}

// serveClient is a connection to a server.
type serveClient struct {
	*rpc.Conn
	t      *testing.T
	events chan serveEvent
}

func (s *serveCmd) dial() *serveClient {
	s.t.Helper()
	c := &serveClient{t: s.t, events: make(chan serveEvent, 100_000)}
	conn, err := rpc.Dial(aMinute(s.t), s.path, rpc.Methods{"agent.event": func(_ context.Context, r *rpc.Request) rpc.Work {
		var e serveEvent
		if err := json.Unmarshal(r.Params, &e); err != nil {
			s.t.Error(err)
		}
		c.events <- e
		return nil
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	c.Conn = conn
	s.t.Cleanup(func() { c.leave() })
	return c
}

// leave closes the connection.
func (c *serveClient) leave() {
	if err := c.Close(aMinute(c.t)); err != nil {
		c.t.Error(err)
	}
}

type serveParams = map[string]any

func (c *serveClient) call(verb string, params serveParams) (session.Report, error) {
	var report session.Report
	err := c.Call(aMinute(c.t), "agent."+verb, params, &report)
	return report, err
}

// started calls a verb, waits until an event of its call came, and hands over the end.
func (c *serveClient) started(kind, prompt string) (serveEvent, <-chan error) {
	c.t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := c.call("task", serveParams{"prompt": prompt, "events": true})
		done <- err
	}()
	return c.await(kind), done
}

func (c *serveClient) await(kind string) serveEvent {
	c.t.Helper()
	for end := time.After(20 * time.Second); ; {
		select {
		case e := <-c.events:
			if e.Kind == kind {
				return e
			}
		case <-end:
			c.t.Fatalf("the event %s did not come", kind)
		}
	}
}

// listed are the calls that are in hand.
func (c *serveClient) listed() []serve.Listed {
	c.t.Helper()
	var list struct{ Calls []serve.Listed }
	if err := c.Call(aMinute(c.t), "agent.list", nil, &list); err != nil {
		c.t.Fatal(err)
	}
	return list.Calls
}

// outcomeOf is the outcome in an error's data.
func outcomeOf(err error) string {
	var e *rpc.Error
	var data struct{ Outcome string }
	if !errors.As(err, &e) || json.Unmarshal(e.Data, &data) != nil {
		return fmt.Sprintf("no outcome: %v", err)
	}
	return data.Outcome
}

// rawClient is a client that minds no protocol.
type rawClient struct {
	*net.UnixConn
	t  *testing.T
	in *bufio.Reader
}

func (s *serveCmd) raw() *rawClient {
	s.t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: s.path})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &rawClient{UnixConn: conn, t: s.t, in: bufio.NewReader(conn)}
}

// process is a client that is another process: it sends a line, and holds its connection until it is killed.
func (s *serveCmd) process(line string) *exec.Cmd {
	s.t.Helper()
	conn := s.raw()
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	held, err := conn.File()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	cmd.ExtraFiles = []*os.File{held}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() }) // it was killed by then, unless the test failed
	_, _ = held.Close(), conn.Close()
	return cmd
}

// says sends a line and returns the one that comes back.
func (c *rawClient) says(line string) string {
	c.t.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
	answer, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%.80s: %v", line, err)
	}
	return answer
}

// agents are the agents that run in an environment.
func agents(env []string) (pids []int) {
	for _, pid := range family(env) {
		if strings.Contains(strings.Join(arguments(pid), " "), "agent-scripted") {
			pids = append(pids, pid)
		}
	}
	return pids
}
