package wall_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func processAttacks() map[string]func() error {
	return map[string]func() error{
		"pidfd-signal": func() error {
			fd, err := unix.PidfdOpen(number("VICTIM"), 0)
			if err != nil {
				return err
			}
			if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
				return err
			}
			pause()
			return nil
		},
		"setown": func() error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			for _, set := range [][2]int{{unix.F_SETOWN, number("VICTIM")}, {unix.F_SETSIG, int(unix.SIGKILL)}, {unix.F_SETFL, unix.O_ASYNC}} {
				if _, err := unix.FcntlInt(uintptr(pair[0]), set[0], set[1]); err != nil {
					return err
				}
			}
			_, err = unix.Write(pair[1], []byte("x"))
			pause()
			return err
		},
		"prlimit": func() error {
			var old unix.Rlimit
			if err := unix.Prlimit(number("VICTIM"), unix.RLIMIT_CORE, nil, &old); err != nil {
				return err
			}
			return unix.Prlimit(number("VICTIM"), unix.RLIMIT_CORE, &unix.Rlimit{Max: old.Max}, nil)
		},
		"ptrace":       func() error { return unix.PtraceSeize(number("VICTIM")) },
		"ptrace-agent": func() error { return unix.PtraceSeize(os.Getppid()) },
		"ptrace-child": func() error {
			cmd := exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
			if err := cmd.Start(); err != nil {
				return err
			}
			_ = cmd.Process.Kill()
			return nil
		},
		"poke": func() error {
			// The same program at the same place: what is ours is our parent's.
			x := byte('x')
			local := []unix.Iovec{{Base: &x, Len: 1}}
			n, err := unix.ProcessVMWritev(os.Getppid(), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&poked)), Len: 1}}, 0)
			if err == nil && n != 1 {
				err = errNothing
			}
			return err
		},
		"getfd": func() error {
			fd, err := unix.PidfdOpen(os.Getppid(), 0)
			if err != nil {
				return err
			}
			_, err = unix.PidfdGetfd(fd, 1, 0)
			return err
		},
		"io-uring": func() error {
			var params [120]byte
			return err0(unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0))
		},
		"clone": func() error {
			cmd := exec.Command("true")
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
			return cmd.Run()
		},
		"clone3": func() error {
			args := struct{ flags, pidfd, child, parent, signal, stack, size, tls uint64 }{flags: unix.CLONE_NEWUSER, signal: uint64(unix.SIGCHLD)}
			return born(syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0))
		},
		"fsopen": func() error { _, err := unix.Fsopen("tmpfs", 0); return err },
		"setns": func() error {
			fd, err := unix.PidfdOpen(number("HOST"), 0)
			if err != nil {
				return err
			}
			return unix.Setns(fd, unix.CLONE_NEWNET)
		},
		"key": func() error {
			_, err := unix.AddKey("user", "kitsoki-wall-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		},
		"mq": func() error {
			name := fmt.Sprintf("kitsoki-wall-%d", os.Getpid())
			if err := err0(unix.Syscall6(unix.SYS_MQ_OPEN, text(name), unix.O_CREAT|unix.O_RDWR, 0o600, 0, 0, 0)); err != nil {
				return err
			}
			return err0(unix.Syscall(unix.SYS_MQ_UNLINK, text(name), 0, 0))
		},
		"shm": func() error {
			id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
			if err != nil {
				return err
			}
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
			return err
		},
		"bpf": func() error {
			attr := struct{ kind, key, value, entries uint32 }{2, 4, 4, 1} // an array
			return err0(unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr)))
		},
		"perf": func() error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Config: unix.PERF_COUNT_SW_CPU_CLOCK}
			_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
			return err
		},
		"userfaultfd": func() error { return err0(unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)) },
		// Without a terminal it fails for another reason; only that the call is refused says something.
		"tiocsti": func() error {
			err := unix.IoctlSetPointerInt(1, unix.TIOCSTI, 'x')
			if err == unix.EPERM {
				return err
			}
			return nil
		},
	}
}

// pause lets a signal arrive that was sent to another process.
func pause() { time.Sleep(50 * time.Millisecond) } //nolint:forbidigo // there is nothing to wait for when it works

func networkAttacks() map[string]func() error {
	outside := os.Getenv("ROOT") + "/outside.sock"
	stream := func(name string) func() error {
		return func() error { return dial(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: name}) }
	}
	return map[string]func() error{
		"unix":          stream(outside),
		"unix-relative": stream("../outside.sock"),
		"unix-root":     stream("/proc/self/root" + outside),
		"unix-moved":    stream(os.Getenv("TMPDIR") + "/s"),
		"unix-link": func() error {
			link := os.Getenv("TMPDIR") + "/l"
			if err := os.Symlink(outside, link); err != nil {
				return err
			}
			return stream(link)()
		},
		"unix-fd": func() error {
			dir, err := unix.Open(os.Getenv("ROOT"), unix.O_PATH, 0)
			if err != nil {
				return err
			}
			return stream("/proc/self/fd/" + itoa(dir) + "/outside.sock")()
		},
		"unix-race": func() error {
			const family = "\x01\x00" // AF_UNIX
			return race(family+os.Getenv("ALLOWED"), family+outside, func(addr *byte) bool {
				fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0) // not to wait when it is full
				if err != nil {
					return false
				}
				defer func() { _ = unix.Close(fd) }()
				size := 2 + max(len(outside), len(os.Getenv("ALLOWED"))) + 1
				_ = err0(unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(addr)), uintptr(size)))
				peer, err := unix.Getpeername(fd)
				if err != nil {
					return false
				}
				name, ok := peer.(*unix.SockaddrUnix)
				return ok && name.Name == outside
			})
		},
		"nested":   nested,
		"abstract": stream("@" + os.Getenv("ROOT")),
		"packets": func() error {
			return dial(unix.AF_UNIX, unix.SOCK_SEQPACKET, &unix.SockaddrUnix{Name: os.Getenv("ROOT") + "/packets.sock"})
		},
		"dgram": func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fd, []byte("x"), 0, &unix.SockaddrUnix{Name: os.Getenv("ROOT") + "/dgram.sock"})
		},
		"dgram-pair": func() error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: os.Getenv("ROOT") + "/dgram.sock"})
		},
		"tcp": func() error { return dial(unix.AF_INET, unix.SOCK_STREAM, inet("TCP")) },
		"fastopen": func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, inet("TCP"))
		},
		"tcp-fork": func() error { return child(func() uintptr { return connectRaw(inet("TCP")) }) },
		"udp": func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			return unix.Sendto(fd, []byte("x"), 0, inet("UDP"))
		},
		"raw":    func() error { return open(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
		"packet": func() error { return open(unix.AF_PACKET, unix.SOCK_RAW, 0) },
		"vsock":  func() error { return open(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
		"uevent": func() error { return open(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT) },
	}
}

func open(family, kind, protocol int) error {
	_, err := unix.Socket(family, kind, protocol)
	return err
}

func dial(family, kind int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	return unix.Connect(fd, to)
}

func inet(name string) *unix.SockaddrInet4 {
	addr, err := net.ResolveTCPAddr("tcp4", os.Getenv(name))
	if err != nil {
		panic(err)
	}
	return &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}
}

// connectRaw connects with system calls alone; what comes back is an error number.
//
//go:nosplit
//go:norace
func connectRaw(to *unix.SockaddrInet4) uintptr {
	raw := unix.RawSockaddrInet4{Family: unix.AF_INET, Port: uint16(to.Port>>8) | uint16(to.Port<<8), Addr: to.Addr}
	fd, _, errno := syscall.RawSyscall(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, 0)
	if errno != 0 {
		return uintptr(errno)
	}
	_, _, errno = syscall.RawSyscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&raw)), unix.SizeofSockaddrInet4)
	return uintptr(errno)
}

// child does something in a child of this process that has run no program, with system calls alone.
func child(do func() uintptr) error {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if pid == 0 && errno == 0 {
		code := do()
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, code, 0, 0)
	}
	return awaited(pid, errno)
}

// born ends in the child, and gives its fate in the parent.
func born(pid, _ uintptr, errno syscall.Errno) error {
	if pid == 0 && errno == 0 {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	return awaited(pid, errno)
}

func awaited(pid uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(int(pid), &status, 0, nil); err != nil {
		return err
	}
	if status.ExitStatus() != 0 {
		return syscall.Errno(status.ExitStatus())
	}
	return nil
}

// nested filters connect once more, with a supervisor of its own that lets it go on: the newest filter with an
// answer of a kind is the one that is asked.
func nested() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CONNECT, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	go func() { // on a thread that is not filtered so
		var req [80]byte
		if err0(unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&req)))) != nil {
			return
		}
		resp := struct {
			id           uint64
			val          int64
			errno, flags uint32
		}{id: *(*uint64)(unsafe.Pointer(&req[0])), flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_ = err0(unix.Syscall(unix.SYS_IOCTL, fd, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&resp))))
	}()
	return dial(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: os.Getenv("ROOT") + "/outside.sock"})
}
