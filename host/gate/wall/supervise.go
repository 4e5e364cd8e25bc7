package wall

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call that waits for us: struct seccomp_notif.
type call struct {
	id    uint64
	tid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// verdict is what becomes of it: struct seccomp_notif_resp.
type verdict struct {
	id    uint64
	val   int64
	errno int32 // negative
	flags uint32
}

// supervisor answers the calls of one agent and of what it starts, one after the other. Whatever it cannot find
// out is a refusal.
type supervisor struct {
	spec     Spec
	agent    int // process id
	life     int // pidfd of the agent, so that its id means nobody else later
	listener *os.File
	refused  func(Refusal)
	told     map[Refusal]bool
}

// maxRefusals bounds how many different refusals of a wall are told.
const maxRefusals = 200

func newSupervisor(spec Spec, agent int, listener *os.File, refused func(Refusal)) (*supervisor, error) {
	life, err := unix.PidfdOpen(agent, 0)
	if err != nil {
		return nil, err
	}
	return &supervisor{spec: spec, agent: agent, life: life, listener: listener, refused: refused, told: map[Refusal]bool{}}, nil
}

func (s *supervisor) close() { _ = unix.Close(s.life) }

// serve ends when nobody is left behind the wall, or the listener is closed.
func (s *supervisor) serve() error {
	raw, err := s.listener.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var c call
		over := false
		var inner error
		err := raw.Read(func(fd uintptr) bool {
			ready, gone := poll(int(fd))
			if !ready {
				over = gone
				return gone
			}
			c = call{} // the kernel wants zeros
			inner = control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&c))
			return true
		})
		switch {
		case over, errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			return err
		case errors.Is(inner, unix.ENOENT), errors.Is(inner, unix.EINTR):
			continue // the caller was killed in between
		case inner != nil:
			return inner
		}
		if err := raw.Control(func(fd uintptr) { s.answer(fd, c) }); err != nil {
			return nil //nolint:nilerr // the listener was closed: the wait is over
		}
	}
}

// poll says whether a call waits, and whether nobody is left who could make one.
func poll(fd int) (ready, gone bool) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := ignoringEINTR(func() (int, error) { return unix.Poll(fds, 0) })
	return err == nil && fds[0].Revents&unix.POLLIN != 0, err != nil || fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

func (s *supervisor) answer(fd uintptr, c call) {
	v := verdict{id: c.id}
	who, err := caller(int(c.tid))
	if err == nil {
		who.agent = who.pid == s.agent && s.alive()
		// A caller that was killed frees its id: only while the call waits is it the caller's that we looked at.
		err = s.waits(fd, c)
	}
	act := deny(unix.EACCES, "")
	if err == nil && c.arch == arch {
		act = s.decide(fd, c, who)
	}
	v.errno, v.flags = -int32(act.errno), act.flags
	if act.what != "" {
		s.tell(Refusal{PID: who.pid, Command: who.name, What: act.what})
	}
	_ = control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&v)) // fails when the caller was killed
}

// waits fails when the caller is no longer there.
func (s *supervisor) waits(fd uintptr, c call) error {
	id := c.id
	return control(fd, notifIDValid, unsafe.Pointer(&id))
}

// notifIDValid is SECCOMP_IOCTL_NOTIF_ID_VALID, which x/sys lacks.
const notifIDValid = 0x40082102

func (s *supervisor) alive() bool {
	ready, gone := poll(s.life)
	return !ready && !gone
}

func (s *supervisor) tell(r Refusal) {
	once := Refusal{Command: r.Command, What: r.What}
	if s.told[once] || len(s.told) >= maxRefusals {
		return
	}
	s.told[once] = true
	s.refused(r)
}

// action is what the supervisor decided. What is told to the host, when it is not empty.
type action struct {
	errno unix.Errno
	flags uint32
	what  string
}

func deny(errno unix.Errno, what string) action { return action{errno: errno, what: what} }

// done is a call that the supervisor made itself, with what came of it.
func done(err error) action {
	var errno unix.Errno
	switch {
	case err == nil:
		return action{}
	case errors.As(err, &errno):
		return action{errno: errno}
	}
	return action{errno: unix.EACCES}
}

// letThrough lets the kernel make the call as it stands in memory by then: for the agent's own process, and where
// all arguments are numbers.
func letThrough() action { return action{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE} }

// process is who makes a call.
type process struct {
	tid, pid int
	name     string
	agent    bool // the agent's own process, and not one that it started
}

func caller(tid int) (process, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return process{}, err
	}
	p := process{tid: tid}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":\t")
		switch name {
		case "Name":
			p.name = value
		case "Tgid":
			_, err := fmt.Sscanf(value, "%d", &p.pid)
			return p, err
		}
	}
	return process{}, errors.New("no thread group")
}

func control(fd, request uintptr, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg))
	if errno != 0 {
		return errno
	}
	return nil
}
