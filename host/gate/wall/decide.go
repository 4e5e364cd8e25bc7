package wall

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Nothing here goes by what a pointer points to at the moment: another thread of the caller can change it until
// the kernel reads it. Arguments are copied once, judged, and acted on by us, on files that we hold open.

func (s *supervisor) decide(listener uintptr, c call, who process) action {
	switch c.nr {
	case unix.SYS_SOCKET:
		return s.socket(who)
	case unix.SYS_CONNECT:
		return s.connect(listener, c, who)
	case sysChmod:
		return s.chmodAt(listener, c, who, unix.AT_FDCWD, c.args[0], c.args[1], 0)
	case unix.SYS_FCHMOD:
		return s.chmodAt(listener, c, who, int(int32(c.args[0])), 0, c.args[1], unix.AT_EMPTY_PATH)
	case unix.SYS_FCHMODAT:
		return s.chmodAt(listener, c, who, int(int32(c.args[0])), c.args[1], c.args[2], 0)
	case unix.SYS_FCHMODAT2:
		return s.chmodAt(listener, c, who, int(int32(c.args[0])), c.args[1], c.args[2], int(int32(c.args[3])))
	case unix.SYS_UTIMENSAT:
		return s.utimensAt(listener, c, who)
	}
	return deny(unix.EPERM, fmt.Sprintf("make system call %d", c.nr))
}

// socket decides on the network families; the filter has sorted out all others.
func (s *supervisor) socket(who process) action {
	if who.agent && s.spec.AgentConnects {
		return letThrough()
	}
	return deny(unix.EACCES, "open a network connection")
}

// resolvers are the local services that turn names into addresses. The agent's own process may use them where it
// may connect at all; for others they would be a way out.
func resolvers() []string {
	return []string{"/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket"}
}

func (s *supervisor) connect(listener uintptr, c call, who process) action {
	size := uint32(c.args[2])
	if size < 2 || size > unix.SizeofSockaddrAny {
		return deny(unix.EINVAL, "")
	}
	addr := make([]byte, size)
	if err := who.read(c.args[1], addr); err != nil {
		return done(err)
	}
	if binary.NativeEndian.Uint16(addr) != unix.AF_UNIX {
		if who.agent && s.spec.AgentConnects {
			return letThrough()
		}
		return deny(unix.EACCES, "open a network connection")
	}
	// An abstract name begins with a zero. A path ends at the first one, or with the address.
	name, _, _ := strings.Cut(string(addr[2:]), "\x00")
	if name == "" {
		return deny(unix.EACCES, "connect to an abstract socket")
	}
	allowed := s.spec.Sockets
	if who.agent && s.spec.AgentConnects {
		allowed = slices.Concat(allowed, resolvers())
	}
	target, err := who.open(unix.AT_FDCWD, name, 0)
	if err != nil {
		return done(err)
	}
	defer func() { _ = unix.Close(target) }()
	if !slices.ContainsFunc(allowed, func(path string) bool { return same(target, path) }) {
		return deny(unix.EACCES, "connect to "+absolute(who, name))
	}
	if err := s.waits(listener, c); err != nil {
		return done(err)
	}
	socket, err := who.take(int(int32(c.args[0])))
	if err != nil {
		return done(err)
	}
	defer func() { _ = unix.Close(socket) }()
	return done(join(socket, target))
}

func absolute(who process, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(who.link("cwd"), name)
}

// join connects a stream socket to the socket that target holds, without waiting: where the kernel would, the
// caller reads EAGAIN. The caller shares the socket, and its mode is put back.
func join(socket, target int) error {
	kind, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	family, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	if family != unix.AF_UNIX || kind != unix.SOCK_STREAM {
		return unix.EPROTOTYPE
	}
	flags, err := unix.FcntlInt(uintptr(socket), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if flags&unix.O_NONBLOCK == 0 {
		if _, err := unix.FcntlInt(uintptr(socket), unix.F_SETFL, flags|unix.O_NONBLOCK); err != nil {
			return err
		}
		defer func() { _, _ = unix.FcntlInt(uintptr(socket), unix.F_SETFL, flags) }()
	}
	return unix.Connect(socket, &unix.SockaddrUnix{Name: held(target)})
}
