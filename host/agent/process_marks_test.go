package agent

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMarksAreReadBack(t *testing.T) {
	outer := newOwner("/run/a", nil)
	inner := newOwner("/run/a", outer.environ([]string{"A=1"}))
	env := inner.environ([]string{"A=1", EnvDispatch + "=old"})
	if got := marksOfEnviron(env); !reflect.DeepEqual(got, []mark{outer.mark, inner.mark}) {
		t.Errorf("got %v of %v", got, env)
	}
	if n := len(slices.DeleteFunc(env, func(kv string) bool { return !strings.HasPrefix(kv, EnvDispatch) })); n != 1 {
		t.Errorf("%d values", n)
	}
	for _, noise := range []string{"", " ", "x", "a:b:c:d", "a:b:1", ":b:1:2", "a:b:-1:2", "a:b:0:2"} {
		if got := marksIn(noise); got != nil {
			t.Errorf("%q has the marks %v", noise, got)
		}
	}
	deep := outer
	for range 20 {
		deep = newOwner("/run/a", deep.environ(nil))
	}
	if got := marksOfEnviron(deep.environ(nil)); len(got) != maxMarks || got[len(got)-1] != deep.mark {
		t.Errorf("twenty deep has %d marks", len(got))
	}
}

func TestStatIsReadWhateverTheName(t *testing.T) {
	for _, name := range []string{"sh", "a b", ") R 1 1", "((", "x)"} {
		raw := fmt.Sprintf("7 (%s) Z 3 5 5 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 1 2\n", name)
		got, ok := parseStat(7, []byte(raw))
		want := proc{identity: identity{pid: 7, started: 4711}, parent: 3, group: 5, dead: true}
		if !ok || got != want {
			t.Errorf("%q: %+v, %v", name, got, ok)
		}
	}
	for _, raw := range []string{"", "7 (sh", "7 (sh) S 1", "7 (sh) S a b c d e f g h i j k l m n o p q r s t"} {
		if _, ok := parseStat(7, []byte(raw)); ok {
			t.Errorf("%q was read", raw)
		}
	}
}

// What a killed host left is known by a mark whose owner is gone. All that differs from that is spared.
func TestSweepOfAKilledHost(t *testing.T) {
	runtime := t.TempDir()
	dead := newOwner(runtime, nil).mark
	dead.started++ // the id is ours, the process another
	alone, foreign := newOwner(runtime, nil).mark, dead
	foreign.namespace = "1"
	elsewhere := dead
	elsewhere.namespace = namespaceOf("/run/a")
	inside := dead
	inside.id = "inside"
	left := sleeper(t, dead.String())
	spared := map[string]int{
		"of a living host":              sleeper(t, alone.String()).Process.Pid,
		"of a living host inside":       sleeper(t, dead.String()+" "+alone.String()).Process.Pid,
		"of another namespace":          sleeper(t, foreign.String()).Process.Pid,
		"of another runtime directory":  sleeper(t, elsewhere.String()).Process.Pid,
		"that we were started from":     sleeper(t, inside.String()).Process.Pid,
		"without a mark":                sleeper(t, "").Process.Pid,
		"with something else's content": sleeper(t, "dispatch").Process.Pid,
	}
	if n := SweepKilled(runtime, []string{EnvDispatch + "=" + inside.String()}); n != 1 {
		t.Errorf("%d processes were ended", n)
	}
	if alive(left.Process.Pid) {
		t.Error("what the killed host left is alive")
	}
	for name, pid := range spared {
		if !alive(pid) {
			t.Errorf("a process %s was ended", name)
		}
	}
	if n := SweepKilled(runtime, []string{EnvDispatch + "=" + inside.String()}); n != 0 {
		t.Errorf("the second sweep ended %d", n)
	}
}

// doomedRole is the test binary as a host: it dispatches the agent that it is given and is killed meanwhile.
const doomedRole = "doomed-host"

func doomed() {
	d := &Dispatcher{Env: os.Environ(), Runtime: os.Args[3]}
	_, _ = d.Run(context.Background(), Command{Name: "script", Path: os.Args[2]}, Request{Verb: Converse, Prompt: "go", Dir: os.Args[3]},
		Observer{Line: func(l []byte) { fmt.Println(string(l)) }})
}

// Killed, the host takes the agent along; what the agent started lives until the next start, which is a new
// dispatcher's first dispatch.
func TestAKilledHostsFamilyEndsWithTheNextStart(t *testing.T) {
	p := plays(t, `eval "$NOTE"
setsid sh -c "$NOTE; exec sleep 300" >/dev/null 2>&1 &
sh -c "$NOTE; exec sleep 300" &
until [ "$(wc -l <pids)" -ge 3 ]; do sleep 0.02; done
echo ready; wait`)
	host := exec.Command(os.Args[0], doomedRole, p.cmd.Path, p.d.Runtime)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the host says %q, %v", line, err)
	}
	family := p.noted(3)
	signal(t, host.Process.Pid, unix.SIGKILL)
	_ = host.Wait()
	eventually(t, "the end of the agent", func() bool { return !alive(family[0].pid) })
	if !alive(family[1].pid) || !alive(family[2].pid) {
		t.Fatal("nothing is left to sweep")
	}
	next := plays(t, success)
	next.d.Runtime = p.d.Runtime
	if _, err := next.run(context.Background(), Observer{}); err != nil {
		t.Fatal(err)
	}
	for _, was := range family {
		if alive(was.pid) {
			t.Errorf("process %d is alive", was.pid)
		}
	}
}
