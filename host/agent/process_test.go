package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// leavers are the ways in which processes outlive the agent that started them, and how many there are. Each notes
// its id.
var leavers = map[string]struct {
	script string
	n      int
}{
	"in the background":     {`sh -c "$NOTE; exec sleep 300" >/dev/null &`, 1},
	"that holds stdout":     {`setsid sh -c "$NOTE; exec sleep 300" &`, 1},
	"in its own session":    {`setsid sh -c "$NOTE; exec sleep 300" >/dev/null 2>&1 &`, 1},
	"twice forked":          {`(setsid sh -c "$NOTE; exec sleep 300" >/dev/null 2>&1 & )`, 1},
	"with children":         {`setsid sh -c "$NOTE; setsid sh -c '$NOTE; sleep 300' & wait" >/dev/null 2>&1 &`, 2},
	"with children unnamed": {`setsid sh -c "$NOTE; setsid env -i sh -c '$NOTE; sleep 300' & wait" >/dev/null 2>&1 &`, 2},
	"deaf to signals":       {`setsid sh -c "trap '' TERM HUP INT; $NOTE; while :; do sleep 300; done" >/dev/null 2>&1 &`, 1},
	"stopped":               {`setsid sh -c "$NOTE; kill -STOP \$\$; sleep 300" >/dev/null 2>&1 &`, 1},
}

// The three ways an agent ends: by itself, killed by somebody, stopped by the operator.
func TestNothingOutlivesItsDispatch(t *testing.T) {
	for name, l := range leavers {
		for _, end := range []string{"ends", "is killed", "is stopped"} {
			t.Run(name+", agent "+end, func(t *testing.T) {
				t.Parallel()
				outlives(t, l.script, l.n, end)
			})
		}
	}
}

func outlives(t *testing.T, script string, n int, end string) {
	switch end {
	case "ends":
		script += fmt.Sprintf("\nuntil [ \"$(wc -l <%s)\" -ge %d ]; do sleep 0.02; done 2>/dev/null\n%s", "pids", n, success)
	case "is killed":
		script += fmt.Sprintf("\nuntil [ \"$(wc -l <%s)\" -ge %d ]; do sleep 0.02; done 2>/dev/null\nkill -9 $$", "pids", n)
	default:
		script += "\nsleep 300"
	}
	p := plays(t, script)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	began := time.Now()
	if end == "is stopped" {
		go func() { p.noted(n); began = time.Now(); stop() }()
	}
	_, err := p.run(ctx, Observer{})
	took := time.Since(began)
	p.gone(n)
	switch {
	case end == "ends" && err != nil, end == "is stopped" && !errors.Is(err, context.Canceled),
		end == "is killed" && (err == nil || !strings.Contains(err.Error(), "SIGKILL")):
		t.Errorf("got %v", err)
	}
	if limit := graceStop + sweepFor; took > limit {
		t.Errorf("it took %s, the limit is %s", took, limit)
	}
}

// A stopped process does not hear SIGTERM before it goes on, and dies anyway.
func TestAStoppedAgentHearsThatItIsStopped(t *testing.T) {
	p := plays(t, `trap 'echo heard >>pids2; exit 3' TERM
eval "$NOTE"
while :; do sleep 0.05; done`)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { _, err := p.run(ctx, Observer{}); done <- err }()
	agent := p.noted(1)[0]
	signal(t, agent.pid, unix.SIGSTOP)
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if raw, err := os.ReadFile(p.note + "2"); err != nil || string(raw) != "heard\n" {
		t.Errorf("it heard %q, %v", raw, err)
	}
	p.gone(1)
}

// What goes deaf and stays has two seconds.
func TestADeafAgentIsKilledAfterItsGrace(t *testing.T) {
	p := plays(t, `trap '' TERM
eval "$NOTE"
while :; do sleep 0.05; done`)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { _, err := p.run(ctx, Observer{}); done <- err }()
	p.noted(1)
	began := time.Now()
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took < graceStop || took > graceStop+sweepFor {
		t.Errorf("it took %s", took)
	}
	p.gone(1)
}

// The sweep of one dispatch leaves alone what another has started, what the test has, and what only looks alike.
func TestNothingElseIsEnded(t *testing.T) {
	other := plays(t, `setsid sh -c "$NOTE; exec sleep 300" >/dev/null 2>&1 &
sleep 300`)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { _, err := other.run(ctx, Observer{}); done <- err }()
	neighbour := other.noted(1)[0].pid
	spared := map[string]int{
		"another dispatch's": neighbour,
		"marked by another":  sleeper(t, newOwner("/run/a", nil).mark.String()).Process.Pid,
		"marked with noise":  sleeper(t, "x : 1:2:3 :::: a:b:-1:c").Process.Pid,
		"without a mark":     sleeper(t, "").Process.Pid,
	}
	p := plays(t, `setsid sh -c "$NOTE; exec sleep 300" >/dev/null 2>&1 &
until [ -s pids ]; do sleep 0.02; done
`+success)
	if _, err := p.run(context.Background(), Observer{}); err != nil {
		t.Fatal(err)
	}
	p.gone(1)
	for name, pid := range spared {
		if !alive(pid) {
			t.Errorf("a process %s was ended", name)
		}
	}
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the other dispatch ended with %v", err)
	}
	other.gone(1)
}

// We are who has to reap what the agents' families leave; see adoptOrphans.
func TestNoZombieIsLeft(t *testing.T) {
	before := children(t)
	p := plays(t, `(sh -c "$NOTE" & )
(setsid env -i sh -c "$NOTE" & )
until [ "$(wc -l <pids)" -ge 2 ]; do sleep 0.02; done
`+success)
	if _, err := p.run(context.Background(), Observer{}); err != nil {
		t.Fatal(err)
	}
	p.gone(2)
	if after := children(t); len(after) != len(before) {
		t.Errorf("children are %+v, were %+v", after, before)
	}
}

// A process has no environment in the moment in which it becomes another program, and one that is just being forked
// is not in the process table: the agent ends while its children are in both states.
func TestChildrenThatAreJustBeingStarted(t *testing.T) {
	before := len(children(t))
	p := plays(t, strings.Repeat("setsid sleep 300 </dev/null >/dev/null 2>&1 &\n", 3)+success)
	for range 20 {
		if _, err := p.run(context.Background(), Observer{}); err != nil {
			t.Fatal(err)
		}
	}
	if after := children(t); len(after) != before {
		t.Errorf("%d children, %d before: %+v", len(after), before, after)
	}
}

func TestNoDescriptorIsLeft(t *testing.T) {
	run := func() {
		for _, script := range []string{success, "kill -9 $$", "setsid sleep 300 &\n" + success, "exit 3"} {
			_, _ = plays(t, script).run(context.Background(), Observer{})
		}
		p := plays(t, success)
		p.cmd.Path = "/dev/null"
		_, _ = p.run(context.Background(), Observer{})
		p = plays(t, success)
		p.note = "/gone/pids" // its directory is the working directory
		_, _ = p.run(context.Background(), Observer{})
	}
	run()                                            // what the runtime opens once
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what was forgotten
	before := descriptors(t)
	run()
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// Whoever holds the agent's output keeps nobody waiting.
func TestOutputOfALeaverIsNotWaitedFor(t *testing.T) {
	p := plays(t, `setsid sh -c "$NOTE; exec sleep 300" &
until [ -s pids ]; do sleep 0.02; done
`+success)
	began := time.Now()
	res, err := p.run(context.Background(), Observer{})
	if err != nil || res.Text != "done" {
		t.Errorf("got %+v, %v", res, err)
	}
	if took := time.Since(began); took > sweepFor {
		t.Errorf("it took %s", took)
	}
}

// An observer that is slower than the agent, and than every bound, still gets all that it wrote.
func TestNoOutputIsLostToASlowObserver(t *testing.T) {
	p := plays(t, `eval "$NOTE"
echo '{"type":"first"}'
until [ -e seen ]; do sleep 0.02; done
`+success)
	res, err := p.run(context.Background(), Observer{Event: func(e StreamEvent, _ []string) {
		if u, ok := e.(Unknown); !ok || u.Type != "first" {
			return
		}
		agent := p.noted(1)[0].pid
		if err := os.WriteFile(filepath.Join(filepath.Dir(p.note), "seen"), nil, 0o600); err != nil {
			t.Error(err)
		}
		eventually(t, "the agent's end", func() bool { return !alive(agent) })
		time.Sleep(300 * time.Millisecond) //nolint:forbidigo // slowness itself is what is tested
	}})
	if err != nil || res.Text != "done" {
		t.Errorf("got %+v, %v", res, err)
	}
}
