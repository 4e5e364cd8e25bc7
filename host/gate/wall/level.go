package wall

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Level is how much of a wall a machine can build. A level is kept whole, or the agent is not started.
type Level string

// The levels, from the best.
const (
	Kernel    Level = "kernel"    // Landlock for files, seccomp with a supervisor for the rest
	Files     Level = "files"     // Landlock and a filter, without a supervisor
	Namespace Level = "namespace" // a user namespace with read-only mounts and a filter, for kernels without Landlock
	None      Level = "none"      // nothing is held
)

// State is what a machine has for a wall.
type State struct {
	Landlock   int    // version; 0: none
	Filters    bool   // seccomp filters, and this machine's system calls are known
	Notify     bool   // seccomp asks a supervisor, which can take a descriptor of the asking process
	Namespaces bool   // user namespaces without privileges
	Why        string // why the level is not Kernel; empty when it is
}

// Probe looks at the machine. It changes nothing, and takes some milliseconds, for a process that it starts.
func Probe() State {
	s := State{Landlock: landlockVersion(), Filters: arch != 0 && filters(), Namespaces: namespacesWork()}
	var why string
	switch {
	case arch == 0:
		why = "the system calls of this kind of machine are not listed"
	case !s.Filters:
		why = "the kernel has no seccomp filters"
	default:
		why = whyNoNotify()
		s.Notify = why == ""
	}
	if s.Landlock < minLandlock {
		why = fmt.Sprintf("the kernel's Landlock is of version %d and %d is needed (Linux 6.2)", s.Landlock, minLandlock)
		if s.Landlock == 0 {
			why = "the kernel has no Landlock, or it is switched off"
		}
	}
	s.Why = why
	return s
}

// Level is the best that the machine can do.
func (s State) Level() Level {
	switch {
	case s.Landlock >= minLandlock && s.Filters && s.Notify:
		return Kernel
	case s.Landlock >= minLandlock && s.Filters:
		return Files
	case s.Namespaces && s.Filters:
		return Namespace
	}
	return None
}

// Short is the sentence for the screen.
func (l Level) Short() string {
	switch l {
	case Kernel:
		return "the kernel holds files, network and local services"
	case Files, Namespace:
		return "the kernel holds files; network and local services are asked only"
	}
	return "asked only, not enforced"
}

// Doctor is the sentence for the report on the machine.
func (s State) Doctor() string {
	switch l := s.Level(); l {
	case Kernel:
		text := fmt.Sprintf("Landlock %d and a supervised seccomp filter: what the operator did not allow cannot change files, reach the network or a local service", s.Landlock)
		if s.Landlock < landlockScopes {
			text += "; signals to other processes of yours are not held before Landlock " + strconv.Itoa(landlockScopes) + " (Linux 6.12)"
		}
		return text
	case Files:
		return fmt.Sprintf("Landlock %d: files cannot be changed without the operator, but commands reach the network and local services (%s)", s.Landlock, s.Why)
	case Namespace:
		return fmt.Sprintf("a read-only view of the files: they cannot be changed without the operator, but commands reach the network and local services (%s)", s.Why)
	}
	return fmt.Sprintf("nothing is enforced, the operator is only asked: %s, and user namespaces cannot be used", s.Why)
}

// filters reports whether the kernel filters system calls. Without a program it says what it would do: a bad
// address is further than an unknown operation.
func filters() bool {
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0)
	return errno == unix.EFAULT
}

// listening are the flags with which the filter is installed: with a supervisor, whom a caller waits for without
// being woken by every signal (Linux 5.19), so that nothing is done twice.
const listening = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

// whyNoNotify is what is missing for a supervisor; nothing, when there can be one.
func whyNoNotify() string {
	action := uint32(unix.SECCOMP_RET_USER_NOTIF)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return "seccomp cannot ask a supervisor here"
	}
	if _, _, errno = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, listening, 0); errno != unix.EFAULT {
		return "seccomp cannot ask a supervisor here (Linux 5.19 is needed)"
	}
	if err := takesDescriptors(); err != nil {
		return fmt.Sprintf("a supervisor cannot take a descriptor of another process: %v", err)
	}
	// Scope 1 lets ancestors, which the host is; 2 and 3 let nobody.
	raw, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if scope, _ := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && scope > 1 {
		return fmt.Sprintf("kernel.yama.ptrace_scope is %d, and above 1 a supervisor may not look at what it supervises", scope)
	}
	return ""
}

func takesDescriptors() error {
	self, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(self) }()
	fd, err := unix.PidfdGetfd(self, self, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// Levels are all that the machine can do, from the best. The last is None.
func (s State) Levels() []Level {
	var out []Level
	if s.Filters && s.Landlock >= minLandlock {
		if s.Notify {
			out = append(out, Kernel)
		}
		out = append(out, Files)
	}
	if s.Filters && s.Namespaces {
		out = append(out, Namespace)
	}
	return append(out, None)
}
