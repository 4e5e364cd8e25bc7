package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bound is far more than any of these takes on a busy machine; what a test claims to be quick has a claim of its own.
const bound = 20 * time.Second

// success is the last line of an agent that ends well.
const success = `echo '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"c"}'`

// played is an agent made of a shell script. What the script starts notes its process id with `note`.
type played struct {
	t    *testing.T
	d    *Dispatcher
	cmd  Command
	note string
}

func plays(t *testing.T, script string) *played {
	t.Helper()
	for _, tool := range []string{"sh", "setsid", "sleep", "env"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here: %v", tool, err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "agent")
	head := "#!/bin/sh\ncat >/dev/null\nNOTE='echo $$ >>'" + dir + "/pids\n"
	if err := os.WriteFile(path, []byte(head+script+"\n"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	return &played{t: t, d: &Dispatcher{Env: os.Environ(), Runtime: dir}, cmd: Command{Name: "script", Path: path}, note: filepath.Join(dir, "pids")}
}

func (p *played) run(ctx context.Context, obs Observer) (Result, error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return p.d.Run(ctx, p.cmd, Request{Verb: Converse, Prompt: "go", Dir: filepath.Dir(p.note)}, obs)
}

// noted waits until n processes have noted their ids, and returns these.
func (p *played) noted(n int) []proc {
	p.t.Helper()
	var out []proc
	eventually(p.t, fmt.Sprintf("%d notes", n), func() bool {
		raw, _ := os.ReadFile(p.note) // not there yet
		lines := strings.Fields(string(raw))
		if len(lines) < n {
			return false
		}
		out = nil
		for _, l := range lines {
			pid, err := strconv.Atoi(l)
			if err != nil {
				p.t.Fatal(err)
			}
			here, _ := processOf(pid)
			here.pid = pid
			out = append(out, here)
		}
		return true
	})
	return out
}

// gone checks that none of the noted is there any more, dead or alive.
func (p *played) gone(n int) {
	p.t.Helper()
	for _, was := range p.noted(n) {
		if now, ok := processOf(was.pid); ok {
			p.t.Errorf("process %d is still there: %+v", was.pid, now)
		}
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(bound); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// sleeper is a process of the test's own, which no dispatch may touch. Its value of EnvDispatch is given.
func sleeper(t *testing.T, marks string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	cmd.Env = append(os.Environ(), EnvDispatch+"="+marks)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // an error means that it has ended
		_ = cmd.Wait()
	})
	// Until it has become sleep its environment is the test's.
	eventually(t, "the sleeper", func() bool {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		return err == nil && strings.TrimSpace(string(raw)) == "sleep"
	})
	return cmd
}

func alive(pid int) bool {
	p, ok := processOf(pid)
	return ok && !p.dead
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children lists the processes that this one would have to reap.
func children(t *testing.T) []proc {
	t.Helper()
	var out []proc
	for _, p := range processes() {
		if p.parent == os.Getpid() {
			out = append(out, p)
		}
	}
	return out
}

func signal(t *testing.T, pid int, sig unix.Signal) {
	t.Helper()
	if err := unix.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}
