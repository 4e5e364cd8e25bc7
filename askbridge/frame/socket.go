package frame

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// MaxSocketPath is what a unix socket's path can have, in bytes: sun_path is 108 with its end.
const MaxSocketPath = 107

// Listen binds a unix socket, mode 0600. There must be nothing at the path yet.
func Listen(path string) (*net.UnixListener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// The socket's file takes the mode that its descriptor has when it is bound, so no moment is left in
		// which it is wider; a umask would be the whole process's.
		var chmod error
		return errors.Join(c.Control(func(fd uintptr) { chmod = unix.Fchmod(int(fd), 0o600) }), chmod)
	}}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil //nolint:errcheck,forcetypeassert // what the network "unix" gives
}

// Peer returns the process and the user at the other end, as they were when they connected.
func Peer(conn net.Conn) (pid, uid int, err error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0, errors.New("not a unix socket")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var cred *unix.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) { cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, inner); err != nil {
		return 0, 0, err
	}
	return int(cred.Pid), int(cred.Uid), nil
}

// Ours reports whether a peer runs as our user.
func Ours(uid int) bool { return uid == os.Getuid() }

// PrivateDir creates a directory that only its owner can enter, or checks that the one that is there is ours and like
// that; as in tmux, a planted one is not used. what is how errors call it.
func PrivateDir(dir, what string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("the %s could not be made: %w", what, err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("the %s: %w", what, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; remove it", dir)
	case !ok || int(stat.Uid) != os.Getuid():
		return fmt.Errorf("%s belongs to somebody else; set XDG_RUNTIME_DIR, or name a directory of your own", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s can be entered by others; run: chmod 700 %s", dir, dir)
	}
	return nil
}
