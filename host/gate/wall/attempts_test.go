package wall_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/gate/wall"
	"example.com/kitsoki/teatest/needs"
)

// attempt is one way to change what is not allowed. It is a shell's, or one of the attacks of this test binary, and
// it is run by a process that the agent starts, in the repository.
type attempt struct {
	name   string
	sh     string
	attack string
	root   bool                 // it works for the administrator alone, even without a wall
	needs  string               // a program
	only   wall.Level           // the one level that holds it; empty: all do
	done   func(f *field) bool  // nil: the attempt says so itself, by its exit code
	before func(f *field) error // nil: nothing to prepare
}

// field is a ground with what stands around it: services that listen, and a process of the operator's.
type field struct {
	ground
	allowed         net.Listener // in the spec
	stream, packets net.Listener
	abstract, tcp   net.Listener
	dgram, udp      net.PacketConn
	victim          *exec.Cmd
}

func newField(t *testing.T) *field {
	t.Helper()
	f := &field{ground: newGround(t)}
	for _, l := range []struct {
		to            *net.Listener
		network, name string
	}{
		{&f.allowed, "unix", f.root + "/allowed.sock"}, {&f.stream, "unix", f.root + "/outside.sock"}, {&f.packets, "unixpacket", f.root + "/packets.sock"},
		{&f.abstract, "unix", "@" + f.root}, {&f.tcp, "tcp", "127.0.0.1:0"},
	} {
		var err error
		if *l.to, err = net.Listen(l.network, l.name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*l.to).Close() })
	}
	for _, l := range []struct {
		to            *net.PacketConn
		network, name string
	}{{&f.dgram, "unixgram", f.root + "/dgram.sock"}, {&f.udp, "udp", "127.0.0.1:0"}} {
		var err error
		if *l.to, err = net.ListenPacket(l.network, l.name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*l.to).Close() })
	}
	f.victim = exec.Command("sleep", "60")
	if err := f.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.victim.Process.Kill()
		_ = f.victim.Wait()
	})
	f.env = append(f.env, "SELF="+self(t), "ALLOWED="+f.root+"/allowed.sock", "VICTIM="+strconv.Itoa(f.victim.Process.Pid), "HOST="+strconv.Itoa(os.Getpid()),
		"TCP="+f.tcp.Addr().String(), "UDP="+f.udp.LocalAddr().String(),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "GIT_OPTIONAL_LOCKS=0")
	return f
}

// spec is the ground's, and one socket.
func (f *field) spec() wall.Spec {
	spec := f.ground.spec()
	spec.Sockets = []string{f.root + "/allowed.sock"}
	return spec
}

// isSoon bounds how long a local message may be under way: it is there when the sender has sent it.
const isSoon = 20 * time.Millisecond

func reached(l net.Listener) bool {
	d, ok := l.(interface{ SetDeadline(time.Time) error })
	if !ok || d.SetDeadline(time.Now().Add(isSoon)) != nil {
		return false
	}
	conn, err := l.Accept()
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func told(c net.PacketConn) bool {
	var buf [64]byte
	if c.SetReadDeadline(time.Now().Add(isSoon)) != nil {
		return false
	}
	_, _, err := c.ReadFrom(buf[:])
	return err == nil
}

func exists(path string) func(*field) bool {
	return func(f *field) bool {
		_, err := os.Lstat(filepath.Join(f.root, path))
		return err == nil
	}
}

func matches(pattern string) func(*field) bool {
	return func(f *field) bool {
		found, err := filepath.Glob(filepath.Join(f.root, pattern))
		return err != nil || len(found) > 0
	}
}

func gone(path string) func(*field) bool {
	return func(f *field) bool { return !exists(path)(f) }
}

func altered(path, was string) func(*field) bool {
	return func(f *field) bool {
		now, err := os.ReadFile(filepath.Join(f.root, path))
		return err != nil || string(now) != was
	}
}

func file(f *field) bool { return altered("repo/file", "as it was\n")(f) }

func stat(path string, differs func(info os.FileInfo) bool) func(*field) bool {
	return func(f *field) bool {
		info, err := os.Lstat(filepath.Join(f.root, path))
		return err != nil || differs(info)
	}
}

func mode(path string, perm os.FileMode) func(*field) bool {
	return stat(path, func(info os.FileInfo) bool { return info.Mode().Perm() != perm })
}

var (
	dated = stat("repo/file", func(info os.FileInfo) bool { return time.Since(info.ModTime()) > time.Hour })
	owned = stat("repo/file", func(info os.FileInfo) bool {
		s, ok := info.Sys().(*syscall.Stat_t)
		return !ok || int(s.Uid) != os.Getuid()
	})
)

func attributed(f *field) bool {
	n, err := unix.Listxattr(f.repo+"/file", make([]byte, 512))
	return err == nil && n > 0
}

func killed(f *field) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.victim.Process.Pid))
	return err != nil || strings.Contains(string(raw), ") Z ") || strings.Contains(string(raw), ") T ")
}

func repository(f *field) error {
	cmd := exec.Command("sh", "-c", "git init -q && git add file")
	cmd.Dir, cmd.Env = f.repo, f.env
	return cmd.Run()
}

// try runs the attempt behind a wall, or without one for level None, and reports whether it did what it wanted.
func (a attempt) try(t *testing.T, level wall.Level) (bool, outcome) {
	t.Helper()
	f := newField(t)
	if a.before != nil {
		if err := a.before(f); err != nil {
			t.Fatal(err)
		}
	}
	race := "10s" // it ends when it is won
	if level != wall.None {
		race = "300ms"
	}
	f.env = append(f.env, "RACE="+race, "TRY="+a.sh)
	argv := []string{"sh", "-c", `sh -c "$TRY"; exit $?`} // a shell is the agent, and starts another
	if a.attack != "" {
		argv = []string{self(t), "agent", self(t), "attack", a.attack}
	}
	o := f.behind(t, level, f.spec(), argv...)
	if a.done != nil {
		return a.done(f), o
	}
	return o.code == 0, o
}

func TestAttempts(t *testing.T) {
	levels := wall.Probe().Levels()
	for _, a := range attempts() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.possible(t)
			if happened, o := a.try(t, wall.None); !happened {
				t.Fatalf("without a wall it does not work either, so that this says nothing: %+v", o)
			}
			for _, level := range levels {
				if level == wall.None || (a.only != "" && a.only != level) {
					continue
				}
				if happened, o := a.try(t, level); happened || o.run != nil {
					t.Errorf("it happened behind the wall of level %s: %+v", level, o)
				}
			}
		})
	}
}

// possible skips what cannot be tried here.
func (a attempt) possible(t *testing.T) {
	t.Helper()
	if a.root && os.Getuid() != 0 {
		t.Skip("only the administrator could do this at all")
	}
	if a.needs != "" {
		if _, err := exec.LookPath(a.needs); err != nil {
			needs.Missing(t, "%s is not installed", a.needs)
		}
	}
}

// The attempts say something only where a wall is built.
func TestThisMachineHasWalls(t *testing.T) {
	for _, level := range []wall.Level{wall.Kernel, wall.Files, wall.Namespace} {
		t.Run(string(level), func(t *testing.T) { need(t, level) })
	}
}

// poked is written to by one of the attacks, in the memory of its parent.
var poked byte

// attack runs one of the attacks in a process that the agent started.
func attack(name string) error {
	do, ok := attacks()[name]
	if !ok {
		return fmt.Errorf("there is no attack %q", name)
	}
	runtime.LockOSThread()
	return do()
}

// number is a variable that the field set.
func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		panic(err)
	}
	return n
}

// err0 is the error of a raw system call.
func err0(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

var errNothing = errors.New("nothing happened")
