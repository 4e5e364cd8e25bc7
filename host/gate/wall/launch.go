package wall

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inherited is the descriptor of the launcher's end: the first behind the standard ones.
const inherited = 3

// Launch builds the wall around the calling process and becomes the program: it returns only when it failed, and
// then nothing was started. The error is a sentence for a person. It is the child's half of [Wall.Wrap].
func Launch(program string, args []string, env []string) error {
	// Every right below is given up by this thread alone, and it is the one that becomes the program.
	runtime.LockOSThread()
	unix.CloseOnExec(inherited)
	o, err := taken()
	if err != nil {
		return fmt.Errorf("the agent was not started: its launcher was not told what to build: %w", err)
	}
	path, err := exec.LookPath(program)
	if err == nil {
		err = o.build()
	}
	if err == nil {
		err = settled()
	}
	if err == nil {
		err = syscall.Exec(path, append([]string{program}, args...), env)
	}
	err = fmt.Errorf("the agent was not started, because it could not be walled in: %w", err)
	_ = report(inherited, err.Error(), -1) // there may be nobody left to read it
	return err
}

func taken() (order, error) {
	kind, err := unix.GetsockoptInt(inherited, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return order{}, errors.New("kitsoki starts it, nobody else")
	}
	buf := make([]byte, maxPacket)
	n, err := ignoringEINTR(func() (int, error) { return unix.Read(inherited, buf) })
	if err != nil {
		return order{}, err
	}
	var o order
	return o, json.Unmarshal(buf[:n], &o)
}

// build gives up all that the level promises, and tells the host.
func (o order) build() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forgo new privileges: %w", err)
	}
	var err error
	switch o.Level {
	case Kernel, Files:
		err = confine(o.Landlock, o.Spec)
	case Namespace:
		err = readOnly(o.Spec)
	default:
		err = fmt.Errorf("there is no level %q", o.Level)
	}
	if err != nil {
		return err
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	// The signal at the host's death belongs to the thread that was asked for it, and exec keeps this one.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("end with the host: %w", err)
	}
	listener, err := install(assemble(policy(o.Level), lastCall), o.Level == Kernel)
	if err != nil {
		return err
	}
	return report(inherited, built, listener)
}

// settled waits for the host's word and marks every descriptor but the standard ones to be closed by exec.
func settled() error {
	var word [1]byte
	n, err := ignoringEINTR(func() (int, error) { return unix.Read(inherited, word[:]) })
	if err == nil && n == 0 {
		err = errors.New("the host is gone")
	}
	if err != nil {
		return fmt.Errorf("wait for the supervisor: %w", err)
	}
	return unix.CloseRange(inherited, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// install applies the filter to the calling thread. The listener is -1 when nobody supervises.
func install(program []unix.SockFilter, supervised bool) (listener int, err error) {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	flags := uintptr(0)
	if supervised {
		flags = listening
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	switch {
	case errno == unix.EBUSY:
		return -1, errors.New("filter system calls: this runs behind another wall already")
	case errno != 0:
		return -1, fmt.Errorf("filter system calls: %w", errno)
	case !supervised:
		return -1, nil
	}
	return int(fd), nil
}

// dropCapabilities leaves an administrator's agent the one right to read everything, and others nothing.
func dropCapabilities() error {
	const reading = unix.CAP_DAC_READ_SEARCH
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&hdr, &caps[0]); err != nil {
		return err
	}
	if caps[0].Effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); c < 64; c++ {
			if c == reading {
				continue
			}
			err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
			if err != nil && !errors.Is(err, unix.EINVAL) { // behind the last
				return err
			}
		}
	}
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err != nil {
		return err
	}
	left := [2]unix.CapUserData{{Effective: caps[0].Effective & (1 << reading), Permitted: caps[0].Permitted & (1 << reading)}}
	return unix.Capset(&hdr, &left[0])
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err == nil || !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
