package agent

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
)

// EnvDispatch marks every process of a dispatch: agents start others that leave their process group (setsid) and
// outlive them, and an environment is inherited where a group is not. Its value is a list of marks, because a
// kitsoki that runs inside an agent dispatches agents too.
const EnvDispatch = "KITSOKI_DISPATCH"

// maxMarks bounds the list of nested dispatches; the outermost are forgotten first.
const maxMarks = 8

// mark names a dispatch and the process that owns it. A process id comes back one day and is another's in another
// namespace, so the owner is known by all three.
type mark struct {
	id        string
	namespace string // see namespaceOf
	host      int
	started   uint64 // of the host, in clock ticks since the machine was booted
}

func (m mark) String() string {
	return fmt.Sprintf("%s:%s:%d:%d", m.id, m.namespace, m.host, m.started)
}

// marksIn reads the value of EnvDispatch. What is no mark is left out.
func marksIn(value string) []mark {
	var out []mark
	for field := range strings.FieldsSeq(value) {
		parts := strings.Split(field, ":")
		if len(parts) != 4 || parts[0] == "" {
			continue
		}
		pid, err := strconv.Atoi(parts[2])
		started, err2 := strconv.ParseUint(parts[3], 10, 64)
		if err != nil || err2 != nil || pid <= 0 {
			continue
		}
		out = append(out, mark{id: parts[0], namespace: parts[1], host: pid, started: started})
	}
	return out
}

// marksOfEnviron reads the marks of an environment. The last of several values counts, as it does for a shell.
func marksOfEnviron(env []string) []mark {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, EnvDispatch+"="); ok {
			return marksIn(value)
		}
	}
	return nil
}

// namespaceOf names the namespace that our process ids are from, together with the runtime directory: as with the
// directories in it, those who share one sweep up after each other, and nobody else does.
func namespaceOf(runtime string) string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		name = "unknown"
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, runtime) // never fails
	return fmt.Sprintf("%s-%x", strings.Trim(strings.TrimPrefix(name, "pid:"), "[]"), h.Sum64())
}

// owner is one dispatch's hold on its processes.
type owner struct {
	mark  mark
	outer []mark // of the dispatches that we run inside of
	group int    // the agent's process group

	known     map[identity]bool // processes that were seen to be the dispatch's
	silent    map[identity]bool // processes without any environment, when they were last looked at
	strangers map[identity]int  // in how many rounds those that cannot be told were seen
}

func newOwner(runtime string, env []string) *owner {
	self, _ := processOf(os.Getpid()) // without /proc there is no sweep anyway
	outer := marksOfEnviron(env)
	if over := len(outer) - (maxMarks - 1); over > 0 {
		outer = outer[over:]
	}
	return &owner{
		mark:  mark{id: host.NewID()[:16], namespace: namespaceOf(runtime), host: os.Getpid(), started: self.started},
		outer: outer, known: map[identity]bool{}, silent: map[identity]bool{}, strangers: map[identity]int{},
	}
}

// environ is the agent's environment with the mark in it.
func (o *owner) environ(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, EnvDispatch+"=") })
	var marks []string
	for _, m := range append(slices.Clone(o.outer), o.mark) {
		marks = append(marks, m.String())
	}
	return append(env, EnvDispatch+"="+strings.Join(marks, " "))
}

// adoptOrphans makes this process the one that orphans below it become children of (PR_SET_CHILD_SUBREAPER).
// Otherwise what outlives an agent becomes a child of init, where nobody can tell any more whose it was. It is the
// whole process's and stays, because orphans can come as long as there are processes below; doing it again does
// nothing. The price is that we are who has to reap them; see [owner.sweep].
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
