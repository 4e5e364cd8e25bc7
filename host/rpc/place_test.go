package rpc

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Of several that start at once exactly one listens, again and again, and in the end nothing is left.
func TestOnlyOneServerListens(t *testing.T) {
	path := socketPath(t)
	for round := range 30 {
		if round%3 == 1 { // what a kill leaves
			leaveDead(t, path)
		}
		var all sync.WaitGroup
		won := make(chan *Server, 8)
		for range 8 {
			all.Go(func() {
				s, err := Listen(soon(t), path, Methods{"echo": echo}, Options{})
				switch {
				case err == nil:
					won <- s
				case !errors.Is(err, ErrInUse):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("round %d: %d servers listen", round, len(won))
		}
		s := <-won
		if err := dial(t, path, nil).Call(soon(t), "echo", map[string]int{}, nil); err != nil {
			t.Error(err)
		}
		if err := s.Close(soon(t)); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// leaveDead leaves a socket that nobody listens on, and a lock that nobody holds.
func leaveDead(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A lock that was opened before its holder removed it keeps nobody out.
func TestALockThatWasRemovedIsNone(t *testing.T) {
	path := socketPath(t)
	lock, err := os.Create(path + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := os.Remove(lock.Name()); err != nil {
		t.Fatal(err)
	}
	if err := hold(lock, path); !errors.Is(err, errHeld) {
		t.Errorf("with nothing there: %v", err)
	}
	if err := os.WriteFile(lock.Name(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := hold(lock, path); !errors.Is(err, errHeld) {
		t.Errorf("with another one there: %v", err)
	}
}

// Servers that come and go never meet: whoever listens is alone until it has closed.
func TestServersThatComeAndGoNeverMeet(t *testing.T) {
	path := socketPath(t)
	var listening, rounds atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 25 {
				s, err := Listen(soon(t), path, nil, Options{})
				if errors.Is(err, ErrInUse) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if listening.Add(1) != 1 {
					t.Error("two servers listen")
				}
				rounds.Add(1)
				listening.Add(-1)
				if err := s.Close(soon(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if rounds.Load() < 10 {
		t.Errorf("only %d rounds", rounds.Load())
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWhereNoServerCanListen(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string) string
		is      error
		words   string
	}{
		"too long": {func(_ *testing.T, path string) string { return path + strings.Repeat("x", 107) }, ErrPath, "a socket's can have 107"},
		"directory of all": {func(t *testing.T, path string) string {
			if err := os.Chmod(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // that is the fault
				t.Fatal(err)
			}
			return path
		}, ErrPath, "chmod 700"},
		"a file": {func(t *testing.T, path string) string {
			if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, ErrPath, "is no socket"},
		"no directory": {func(_ *testing.T, path string) string { return path + "/a/b" }, ErrPath, "could not be made"},
		"a foreign server": {func(t *testing.T, path string) string {
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			return path
		}, ErrInUse, "another server"},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.prepare(t, socketPath(t))
			before := contents(t, path)
			_, err := Listen(soon(t), path, nil, Options{})
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.words) {
				t.Error(err)
			}
			if after := contents(t, path); after != before {
				t.Errorf("the file was %q and is %q", before, after)
			}
		})
	}
}

func contents(t *testing.T, path string) string {
	t.Helper()
	raw, _ := os.ReadFile(path) // a socket has none
	return string(raw)
}

// A server whose socket somebody removed, and another one made there, leaves that one alone.
func TestAServerLeavesAForeignSocketAlone(t *testing.T) {
	path := socketPath(t)
	s, err := Listen(soon(t), path, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	other, err := Listen(soon(t), path, Methods{"echo": echo}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(soon(t)); err != nil {
		t.Error(err)
	}
	if err := dial(t, path, nil).Call(soon(t), "echo", nil, nil); err != nil {
		t.Error(err)
	}
	if err := other.Close(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestDialingNobody(t *testing.T) {
	if _, err := Dial(context.Background(), socketPath(t), nil); err == nil {
		t.Error("somebody answers")
	}
	if _, err := Dial(context.Background(), strings.Repeat("x", 108), nil); err == nil || !strings.Contains(err.Error(), "108 bytes") {
		t.Error(err)
	}
}
