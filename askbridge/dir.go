package askbridge

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/askbridge/frame"
)

// Names within the directory of a dispatch.
const (
	socketName = "ask.sock"
	tokenName  = "token"
	lockName   = "lock"
)

// dirNameBytes is the random part of a dispatch's directory.
const dirNameBytes = 6

// RuntimeDir returns the directory that dispatches get theirs in, and creates it: $XDG_RUNTIME_DIR/kitsoki, else
// kitsoki-<uid> in the directory for temporary files, else (where a socket's path would become too long) that in
// /tmp. It is an error when it exists and is not a directory of ours that nobody else can enter; as in tmux, a
// planted one is not used.
func RuntimeDir(getenv func(string) string) (string, error) {
	var candidates []string
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		candidates = append(candidates, filepath.Join(dir, "kitsoki"))
	}
	temp := getenv("TMPDIR")
	if !filepath.IsAbs(temp) {
		temp = "/tmp"
	}
	own := fmt.Sprintf("kitsoki-%d", os.Getuid())
	candidates = append(candidates, filepath.Join(temp, own), filepath.Join("/tmp", own))
	for _, dir := range candidates {
		if len(filepath.Join(dir, hex.EncodeToString(make([]byte, dirNameBytes)), socketName)) <= frame.MaxSocketPath {
			return dir, frame.PrivateDir(dir, "runtime directory")
		}
	}
	return "", errors.New("no directory is short enough for a socket") // /tmp always is
}

// Dir is the private directory of one dispatch, with its socket, its token and whatever else only the agent may
// find. It is locked as long as it is in use, so that Sweep can tell what a killed process left behind.
type Dir struct {
	path  string
	token string
	lock  *os.File
}

// NewDir makes one in the runtime directory: mode 0700, named at random, with the token (0600) in it.
func NewDir(runtime string) (*Dir, error) {
	done, err := lockDir(runtime)
	if err != nil {
		return nil, err
	}
	defer done()
	d := &Dir{path: filepath.Join(runtime, random(dirNameBytes)), token: random(32)}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, fmt.Errorf("the dispatch's directory: %w", err)
	}
	if d.lock, err = os.OpenFile(d.Join(lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		err = unix.Flock(int(d.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		err = os.WriteFile(d.Join(tokenName), []byte(d.token), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the dispatch's directory: %w", err), d.remove())
	}
	return d, nil
}

// Path returns the directory.
func (d *Dir) Path() string { return d.path }

// Socket returns the path of the dispatch's socket.
func (d *Dir) Socket() string { return d.Join(socketName) }

// Join returns the path of a file in the directory.
func (d *Dir) Join(name string) string { return filepath.Join(d.path, name) }

// Remove removes the directory and all that is in it.
func (d *Dir) Remove() error {
	// A sweep takes a directory without its lock for one whose process was killed. Where the runtime directory
	// itself is gone, nobody sweeps it.
	if done, err := lockDir(filepath.Dir(d.path)); err == nil {
		defer done()
	}
	return d.remove()
}

func (d *Dir) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
		d.lock = nil
	}
	return err
}

// Sweep removes the directories of dispatches whose process is gone, and returns how many there were.
func Sweep(runtime string) (int, error) {
	done, err := lockDir(runtime)
	if err != nil {
		return 0, err
	}
	defer done()
	entries, err := os.ReadDir(runtime)
	if err != nil {
		return 0, fmt.Errorf("the runtime directory: %w", err)
	}
	swept := 0
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(runtime, e.Name())
		if !e.IsDir() || !isDirName(e.Name()) || !abandoned(dir) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		swept++
	}
	return swept, errors.Join(errs...)
}

// isDirName reports whether NewDir makes such names.
func isDirName(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == dirNameBytes && hex.EncodeToString(b) == name
}

// abandoned reports whether nobody holds the lock of a dispatch's directory. Where there is none, its process was
// killed while it made or removed the directory.
func abandoned(dir string) bool {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = lock.Close() }()
	return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// lockDir keeps two processes from making, removing and sweeping at once: a directory is locked only a moment
// after it was made, and no more a moment before it is gone.
func lockDir(dir string) (done func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("the runtime directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("the runtime directory: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // crypto/rand.Read never fails
	return hex.EncodeToString(b)
}
