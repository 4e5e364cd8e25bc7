package wall

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The host and the launcher talk over a socket pair of sequenced packets: the host's order, the launcher's
// listener (or the sentence why there is none), the host's word that it supervises. The launcher's end closes when
// it becomes the agent.

// order is what the launcher is to build.
type order struct {
	Level    Level
	Landlock int
	Spec     Spec
}

// maxPacket bounds an order, which is paths.
const maxPacket = 64 << 10

// built is what the launcher says when every part stands.
const built = "built"

// socketPair is the host's end and the launcher's. The host learns with each packet which process sent it.
func socketPair() (host, child *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	err = errors.Join(unix.SetNonblock(fds[0], true), unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1),
		unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 2*maxPacket))
	host, child = os.NewFile(uintptr(fds[0]), "wall"), os.NewFile(uintptr(fds[1]), "wall of the agent")
	if err != nil {
		_ = host.Close()
		_ = child.Close()
		return nil, nil, err
	}
	return host, child, nil
}

// give sends an order; it fits into the socket, so nothing is waited for.
func give(host *os.File, o order) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if len(raw) > maxPacket {
		return fmt.Errorf("the wall's paths are too many: %d bytes of %d", len(raw), maxPacket)
	}
	_, err = host.Write(raw)
	return err
}

// report is the launcher's: the sentence, and the listener (-1: none).
func report(fd int, sentence string, listener int) error {
	var rights []byte
	if listener >= 0 {
		rights = unix.UnixRights(listener)
	}
	return unix.Sendmsg(fd, []byte(sentence), rights, nil, 0)
}

// reported waits for the report: the process that sent it, and its listener, which may be missing. It ends when
// the file is closed.
func reported(host *os.File) (pid int, listener *os.File, err error) {
	raw, err := host.SyscallConn()
	if err != nil {
		return 0, nil, err
	}
	text, oob := make([]byte, 4096), make([]byte, 256)
	var n, oobn int
	var inner error
	err = raw.Read(func(fd uintptr) bool {
		n, oobn, _, _, inner = unix.Recvmsg(int(fd), text, oob, unix.MSG_CMSG_CLOEXEC)
		return !errors.Is(inner, unix.EAGAIN) && !errors.Is(inner, unix.EINTR)
	})
	if err = errors.Join(err, inner); err != nil {
		return 0, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return 0, nil, err
	}
	for _, m := range messages {
		if cred, err := unix.ParseUnixCredentials(&m); err == nil {
			pid = int(cred.Pid)
		}
		if fds, err := unix.ParseUnixRights(&m); err == nil && len(fds) == 1 {
			// Nonblocking, so that it is waited for as Go waits, and closing it ends the wait.
			if err := unix.SetNonblock(fds[0], true); err != nil {
				_ = unix.Close(fds[0])
				return 0, nil, err
			}
			listener = os.NewFile(uintptr(fds[0]), "seccomp listener")
		}
	}
	switch said := string(text[:n]); {
	case n == 0:
		err = io.ErrUnexpectedEOF
	case said != built:
		err = errors.New(said)
	}
	if err != nil && listener != nil {
		_ = listener.Close()
		listener = nil
	}
	return pid, listener, err
}
