package teatest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// Fifty calls over five connections: each gets its own result, those with events their own events.
func TestServeFiftyCallsAtOnce(t *testing.T) {
	program(t)
	t.Parallel()
	s := startScripted(t, serveEnv(t))
	before := s.descriptors()
	var mu sync.Mutex
	sessions := map[string]bool{}
	var all sync.WaitGroup
	var clients []*serveClient
	for i := range 5 {
		c := s.dial()
		clients = append(clients, c)
		for j := range 10 {
			all.Go(func() {
				prompt := fmt.Sprintf("call %d of client %d", j, i)
				got, err := c.call([]string{"ask", "task", "converse"}[j%3], serveParams{"prompt": prompt, "events": i == 0})
				if err != nil || got.Text != "I was told: "+prompt || got.Outcome != "done" || got.Turn != 1 {
					t.Errorf("%s: %+v, %v", prompt, got, err)
				}
				mu.Lock()
				defer mu.Unlock()
				sessions[got.Session] = true
			})
		}
	}
	all.Wait()
	for _, c := range clients {
		c.leave()
	}
	c := s.dial()
	if len(sessions) != 50 || len(c.listed()) > 0 {
		t.Errorf("%d sessions, in hand are %v", len(sessions), c.listed())
	}
	c.leave()
	if !eventually(func() bool { return s.descriptors() <= before }) {
		t.Errorf("%d descriptors are open, %d were before", s.descriptors(), before)
	}
	s.ends()
	s.checkSessions(50)
}

// Clients that are killed in the middle: their agents end, no session stays open, and other calls are untouched.
func TestServeClientsThatGoAway(t *testing.T) {
	program(t)
	t.Parallel()
	s := startScripted(t, serveEnv(t), "--parallel", "5")
	stays := s.dial()
	_, done := stays.started("turn_started", "please hang, mine")
	if !eventually(func() bool { return len(agents(s.env)) == 1 }) {
		t.Fatal("no agent was started")
	}
	mine := agents(s.env)[0]
	// A process that is killed, and connections that are closed.
	client := s.process(`{"jsonrpc":"2.0","id":1,"method":"agent.task","params":{"prompt":"please hang"}}`)
	var gone []*serveClient
	for range 3 {
		c := s.dial()
		_, _ = c.started("turn_started", "please hang")
		gone = append(gone, c)
	}
	if !eventually(func() bool { return len(agents(s.env)) == 5 }) {
		t.Errorf("%d agents run", len(agents(s.env)))
	}
	waits := s.dial()
	_, queued := waits.started("queued", "after them")
	kill(t, client.Process.Pid)
	_ = client.Wait()
	for _, c := range gone {
		c.leave()
	}
	if err := <-queued; err != nil {
		t.Errorf("the call that waited: %v", err)
	}
	if !eventually(func() bool { return len(stays.listed()) == 1 && len(agents(s.env)) == 1 }) {
		t.Errorf("in hand are %+v, agents %v", stays.listed(), agents(s.env))
	}
	if left := agents(s.env); len(left) != 1 || left[0] != mine {
		t.Errorf("of agent %d and others there is %v", mine, left)
	}
	select {
	case err := <-done:
		t.Errorf("the call that stays has ended: %v", err)
	default:
	}
	s.ends()
	if err := <-done; outcomeOf(err) != "stopped" {
		t.Errorf("the call that stays: %v", err)
	}
	s.checkSessions(6)
}

// A call can be taken back while it runs and while it waits.
func TestServeCancel(t *testing.T) {
	program(t)
	t.Parallel()
	s := startScripted(t, serveEnv(t), "--parallel", "1")
	a, b := s.dial(), s.dial()
	first, firstDone := a.started("turn_started", "please hang")
	_, secondDone := b.started("queued", "please hang")
	third, thirdDone := a.started("queued", "and then")
	if err := a.Call(aMinute(t), "agent.cancel", serveParams{"id": first.ID}, nil); err != nil {
		t.Error(err)
	}
	if err := <-firstDone; outcomeOf(err) != "stopped" {
		t.Errorf("the first call: %v", err)
	}
	b.await("turn_started") // its turn has come
	var calls []string
	for _, l := range a.listed() {
		calls = append(calls, l.Call+" "+l.State)
	}
	if len(calls) != 2 || calls[0] != "2 running" || calls[1] != third.Call+" queued" {
		t.Errorf("in hand are %v", calls)
	}
	if err := b.Call(aMinute(t), "agent.cancel", serveParams{"call": third.Call}, nil); err != nil {
		t.Error(err)
	}
	if err := <-thirdDone; outcomeOf(err) != "stopped" {
		t.Errorf("the third call: %v", err)
	}
	if err := a.Notify("$/cancelRequest", serveParams{"id": 99}, true); err != nil { // of nobody
		t.Error(err)
	}
	s.ends()
	if err := <-secondDone; outcomeOf(err) != "stopped" {
		t.Errorf("the second call: %v", err)
	}
	s.checkSessions(2) // the third was never begun
}

// Garbage, half lines, a megabyte, a line without an end: each is refused in words or ends its own connection, and a
// call beside them goes on.
func TestServeMindsNoGarbage(t *testing.T) {
	program(t)
	t.Parallel()
	s := startScripted(t, serveEnv(t))
	c := s.dial()
	_, done := c.started("turn_started", "please hang")
	raw := s.raw()
	deep := strings.Repeat(`{"a":`, 100_000)
	for line, words := range map[string]string{
		"garbage": "-32700", deep: "-32700", `{"jsonrpc":"2.0","id":1,"method":"agent.nope"}`: "-32601", "[]": "-32600",
		`{"jsonrpc":"2.0","id":1,"method":"agent.decide","params":{"prompt":"p"}}`:                                                                                     "schema: ",
		`{"jsonrpc":"2.0","id":1,"method":"agent.decide","params":{"prompt":"p","schema":` + strings.Repeat(`{"not":`, 3000) + "{}" + strings.Repeat("}", 3000) + `}}`: "nested deeper",
		`{"jsonrpc":"2.0","id":1,"method":"agent.ask","params":{"prompt":"` + strings.Repeat("x", 5<<20) + `"}}`:                                                       "longer than 4194304 bytes",
		`[{"jsonrpc":"2.0","id":1,"method":"agent.ask","params":{"prompt":"one"}},{"jsonrpc":"2.0","id":2,"method":"agent.ask","params":{"prompt":"two"}}]`:            "told: two",
		`{"jsonrpc":"2.0","id":1,"method":"agent.ask","params":{"prompt":"say little of ` + strings.Repeat("m", 1<<20) + `"}}`:                                         "As little as that.",
	} {
		if got := raw.says(line); !strings.Contains(got, words) {
			t.Errorf("%.100s: %.300s", line, got)
		}
	}
	half := s.raw()
	_, _ = io.WriteString(half, `{"jsonrpc":"2.0","id":1,"method":"agent.ask","par`)
	_ = half.Close()
	endless := s.raw()
	chunk := []byte(strings.Repeat("x", 1<<20))
	for n := 0; ; n++ {
		if _, err := endless.Write(chunk); err != nil {
			break
		}
		if n > 200 {
			t.Fatal("a line without an end is read for ever")
		}
	}
	if got, err := c.call("ask", serveParams{"prompt": "still there?"}); err != nil || got.Text != "I was told: still there?" {
		t.Errorf("got %+v, %v", got, err)
	}
	select {
	case err := <-done:
		t.Errorf("the call beside them has ended: %v", err)
	default:
	}
	if kib := peakMemory(t, s.cmd.Process.Pid); kib > 600<<10 { // the race detector takes several times what is asked for
		t.Errorf("the server took %d KiB", kib)
	}
	s.ends()
	if err := <-done; outcomeOf(err) != "stopped" {
		t.Errorf("the call beside them: %v", err)
	}
	s.checkSessions(5)
}

// peakMemory is the most that a process had in memory, in KiB.
func peakMemory(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(raw), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib
}

// A second server on the same socket is refused, with a code and words; one that was killed is swept by the next, and
// nothing of its agents is left.
func TestServeOneServerASocket(t *testing.T) {
	bin := program(t)
	t.Parallel()
	env := serveEnv(t)
	s := startScripted(t, env)
	second := exec.Command(bin, "agent-serve", "--agent", "scripted")
	second.Env = env
	out, _ := second.CombinedOutput()
	if code := second.ProcessState.ExitCode(); code != 3 || !strings.Contains(string(out), "another server listens there") {
		t.Errorf("exit code %d: %s", code, out)
	}
	c := s.dial()
	_, done := c.started("turn_started", "please hang")
	if !eventually(func() bool { return len(agents(env)) == 1 }) {
		t.Fatal("no agent was started")
	}
	signal(t, s.cmd.Process.Pid, unix.SIGKILL)
	<-s.exited
	if err := <-done; !errors.Is(err, rpc.ErrGone) {
		t.Errorf("the call of a killed server: %v", err)
	}
	if _, err := os.Lstat(s.path); err != nil {
		t.Errorf("what is to be swept is not there: %v", err)
	}
	next := startScripted(t, env)
	if next.path != s.path {
		t.Errorf("the next one listens on %s", next.path)
	}
	if got, err := next.dial().call("ask", serveParams{"prompt": "again"}); err != nil || got.Text != "I was told: again" {
		t.Errorf("got %+v, %v", got, err)
	}
	if left := agents(env); len(left) > 0 {
		t.Errorf("of the killed server there are %v", left)
	}
	next.ends()
	// What no socket can be made of.
	long := filepath.Join(filepath.Dir(s.path), strings.Repeat("x", 100))
	for path, words := range map[string]string{long: "a socket's can have 107", filepath.Join(t.TempDir(), "s"): "chmod 700"} {
		other := exec.Command(bin, "agent-serve", "--agent", "scripted", "--socket", path)
		other.Env = env
		if words == "chmod 700" {
			if err := os.Chmod(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // that is the fault
				t.Fatal(err)
			}
		}
		out, _ := other.CombinedOutput()
		if code := other.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), words) {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
}

// A client that does not read its events holds nobody up; when it reads, it is told that it missed some, and has its
// result.
func TestServeSlowReader(t *testing.T) {
	program(t)
	t.Parallel()
	s := startScripted(t, serveEnv(t))
	slow, other := s.raw(), s.dial()
	if _, err := io.WriteString(slow, `{"jsonrpc":"2.0","id":1,"method":"agent.task","params":{"prompt":"please flood","events":true}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return len(other.listed()) == 1 }) || !eventually(func() bool { return len(other.listed()) == 0 }) {
		t.Fatal("the call does not end while its client does not read")
	}
	if got, err := other.call("ask", serveParams{"prompt": "hi"}); err != nil || got.Text != "I was told: hi" {
		t.Errorf("got %+v, %v", got, err)
	}
	missed, last := 0, ""
	for {
		line, err := slow.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			ID     int
			Params serveEvent
			Result struct{ Text string }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID == 1 {
			if m.Result.Text != "I was told: please flood" {
				t.Errorf("got %.300s", line)
			}
			break
		}
		missed += m.Params.Missed
		last = m.Params.Kind
	}
	if missed == 0 || last != "resync" {
		t.Errorf("%d events were missed, the last one is %s", missed, last)
	}
	s.ends()
	s.checkSessions(2)
}

// The real agent decides, and a conversation goes on by its session; nobody can be asked, and it is told so.
func TestServeClaude(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	program(t)
	t.Parallel()
	api := messagesapi.Start(t,
		messagesapi.Step{When: messagesapi.PromptContains("which database"), Reply: value("SQLite")},
		messagesapi.Step{When: messagesapi.PromptContains("begin"), Reply: messagesapi.Say("Begun.")},
		messagesapi.Step{When: messagesapi.PromptContains("go on"), Reply: messagesapi.Say("Done.")})
	s := startServe(t, claudecli.Env(t, api.URL(), "KITSOKI_AGENT_CLAUDE_BIN="+bin))
	c := s.dial()
	dir := t.TempDir()
	got, err := c.call("decide", serveParams{"prompt": "which database", "dir": dir, "schema": dbSchema, "limit_seconds": 60})
	if err != nil || string(got.Value) != `{"db":"SQLite"}` || got.CostUSD <= 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	one, err := c.call("converse", serveParams{"prompt": "begin", "dir": dir, "events": true})
	if err != nil || one.Text != "Begun." {
		t.Errorf("got %+v, %v", one, err)
	}
	c.await("said")
	two, err := c.call("converse", serveParams{"prompt": "go on", "session": one.Session})
	if err != nil || two.Text != "Done." || two.Session != one.Session || two.Turn != 2 || two.Conversation != one.Conversation {
		t.Errorf("got %+v, %v", two, err)
	}
	for i, r := range api.Requests() {
		for _, tool := range r.Tools {
			if tool == "AskUserQuestion" || strings.Contains(tool, "operator") {
				t.Errorf("request %d offers %s", i, tool)
			}
		}
	}
	if last := api.Requests()[len(api.Requests())-1]; !strings.Contains(fmt.Sprint(last), "Begun.") {
		t.Error("the conversation is not continued")
	}
	s.ends()
	s.checkSessions(2)
}
