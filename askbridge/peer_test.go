package askbridge_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/askbridge"
)

// The modes keep other users out; should somebody have widened them, the socket still knows its own user, and a
// token that leaked is worth nothing to another.
func TestAProcessOfAnotherUserIsTurnedAway(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user for a moment")
	}
	h := &handler{ask: func(context.Context, *askbridge.Call) askbridge.Final {
		t.Error("the ask reached the host")
		return askbridge.Final{}
	}}
	b := listen(t, h, askbridge.ListenOptions{})
	for path := b.dir.Path(); path != os.TempDir(); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(b.dir.Socket(), 0o666); err != nil {
		t.Fatal(err)
	}
	conn := connectAs(t, 65534, b.dir.Socket())
	_, _ = conn.Write([]byte(b.askFrame("id", simple))) // which may be too late already
	r := receive(t, "the refusal", h.refused)
	if r.UID != 65534 || !strings.Contains(r.Reason, "a process of user 65534 connected") {
		t.Errorf("refused as %+v", r)
	}
}

// connectAs connects while this thread, and no other, has another user's id.
func connectAs(t *testing.T, uid int, path string) net.Conn {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() { _ = file.Close() }()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: a thread that cannot be trusted ends with its goroutine
		const keep = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); errno != 0 {
			done <- errno
			return
		}
		done <- unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}()
	if err := receive(t, "the connection", done); err != nil {
		t.Fatal(err)
	}
	conn, err := net.FileConn(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}
