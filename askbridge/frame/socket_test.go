package frame_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/kitsoki/askbridge/frame"
)

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kf") //nolint:usetesting // sockets need a short path; that of t.TempDir carries the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// pair is a connection over a socket of ours, from both ends.
func pair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	path := filepath.Join(shortDir(t), "s")
	l, err := frame.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	if client, err = net.Dial("unix", path); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

func TestWhoIsAtTheOtherEnd(t *testing.T) {
	_, server := pair(t)
	pid, uid, err := frame.Peer(server)
	if err != nil || pid != os.Getpid() || !frame.Ours(uid) || frame.Ours(uid+1) {
		t.Errorf("process %d of user %d, %v", pid, uid, err)
	}
	one, other := net.Pipe()
	defer func() { _, _ = one.Close(), other.Close() }()
	if _, _, err := frame.Peer(one); err == nil {
		t.Error("somebody is at the other end of a pipe")
	}
}

// A peer that does not read blocks its writer no longer than was said.
func TestAWriterIsNotBlockedForEver(t *testing.T) {
	client, _ := pair(t)
	err := frame.NewWriter(client, 50*time.Millisecond).WriteLine(make([]byte, 8<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func TestPrivateDirs(t *testing.T) {
	dir := filepath.Join(shortDir(t), "own")
	for range 2 { // made, then found
		if err := frame.PrivateDir(dir, "directory"); err != nil {
			t.Fatal(err)
		}
	}
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := frame.PrivateDir(link, "directory"); err == nil {
		t.Error("a planted link was taken")
	}
	if err := os.Chmod(dir, 0o750); err != nil { //nolint:gosec // that is the fault
		t.Fatal(err)
	}
	if err := frame.PrivateDir(dir, "directory"); err == nil {
		t.Error("a directory that others can enter was taken")
	}
}
