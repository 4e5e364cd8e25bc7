package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/askbridge/frame"
)

var (
	// ErrInUse means that a server listens on the socket already.
	ErrInUse = errors.New("another server listens there")
	// ErrPath means that a path can hold no socket of ours.
	ErrPath = errors.New("no socket can be made there")
)

// place is a socket's path, held for one server: by a lock on a file beside it, which a kill lets go.
type place struct {
	path   string
	lock   *os.File
	socket os.FileInfo // as it was bound; nil before
}

// Bounds of taking a place.
const (
	takeWithin = 2 * time.Second // a server that is just ending lets go by then; so does a process that is just being started from one
	takeEvery  = 20 * time.Millisecond
)

// takePlace waits until the path is free, for a moment. It removes what a server that was killed left behind.
func takePlace(ctx context.Context, path string) (*place, error) {
	if len(path) > frame.MaxSocketPath {
		return nil, fmt.Errorf("%w: the path has %d bytes, a socket's can have %d; choose a shorter one", ErrPath, len(path), frame.MaxSocketPath)
	}
	if err := frame.PrivateDir(filepath.Dir(path), "socket's directory"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPath, err)
	}
	ctx, cancel := context.WithTimeout(ctx, takeWithin)
	defer cancel()
	for {
		p, err := tryPlace(path)
		if !errors.Is(err, errHeld) {
			return p, err
		}
		if answers(path) {
			return nil, ErrInUse
		}
		select {
		case <-ctx.Done():
			return nil, ErrInUse
		case <-time.After(takeEvery):
		}
	}
}

// errHeld means that somebody holds the lock.
var errHeld = errors.New("the lock is held")

func tryPlace(path string) (*place, error) {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPath, err)
	}
	if err := hold(lock, path); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return &place{path: path, lock: lock}, nil
}

// hold takes the lock, and with it the path.
func hold(lock *os.File, path string) error {
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return errHeld // or it cannot be locked, which looks the same to whoever waits
	}
	if !sameFile(lock, path+".lock") {
		return errHeld // whoever held it has just removed it: this lock keeps nobody out any more
	}
	return clearDead(path)
}

func sameFile(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(held, there)
}

// clearDead removes a socket that nobody listens on any more.
func clearDead(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrPath, err)
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%w: %s is no socket; remove it, or choose another path", ErrPath, path)
	case answers(path):
		return ErrInUse // a program that knows nothing of the lock
	}
	return os.Remove(path)
}

// answers reports whether anybody listens on a socket. One whose backlog is full does.
func answers(path string) bool {
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil || (!errors.Is(err, unix.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist))
}

// bind makes the socket.
func (p *place) bind() (*net.UnixListener, error) {
	l, err := frame.Listen(p.path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPath, err)
	}
	l.SetUnlinkOnClose(false) // leave removes it, if it is still ours
	if p.socket, err = os.Lstat(p.path); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrPath, err), l.Close())
	}
	return l, nil
}

// leave removes the socket and the lock, where they are still ours.
func (p *place) leave() error {
	var errs []error
	if there, err := os.Lstat(p.path); p.socket != nil && err == nil && os.SameFile(p.socket, there) {
		errs = append(errs, os.Remove(p.path))
	}
	if sameFile(p.lock, p.path+".lock") {
		errs = append(errs, os.Remove(p.path+".lock"))
	}
	return errors.Join(append(errs, p.lock.Close())...)
}
