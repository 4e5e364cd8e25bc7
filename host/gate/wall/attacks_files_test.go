package wall_test

import (
	"errors"
	"maps"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attacks are what a shell cannot do. They run in the repository, in a child of the agent; nil says that the
// attack believes in its success.
func attacks() map[string]func() error {
	all := fileAttacks()
	maps.Copy(all, processAttacks())
	maps.Copy(all, networkAttacks())
	return all
}

func fileAttacks() map[string]func() error {
	return map[string]func() error{
		"truncate": func() error { return unix.Truncate("file", 0) },
		"exchange": func() error {
			return unix.Renameat2(unix.AT_FDCWD, "file", unix.AT_FDCWD, os.Getenv("TMPDIR")+"/mine", unix.RENAME_EXCHANGE)
		},
		"mknod": func() error { return unix.Mknod("new", unix.S_IFSOCK|0o600, 0) },
		"bind": func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			if err != nil {
				return err
			}
			return unix.Bind(fd, &unix.SockaddrUnix{Name: "new"})
		},
		"tmpfile": func() error {
			fd, err := unix.Open(".", unix.O_TMPFILE|unix.O_RDWR, 0o600)
			if err != nil {
				return err
			}
			return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+itoa(fd), unix.AT_FDCWD, "new", unix.AT_SYMLINK_FOLLOW)
		},
		"copy": func() error {
			return between(func(from, to int) error { _, err := unix.CopyFileRange(from, nil, to, nil, 4, 0); return err })
		},
		"sendfile": func() error {
			return between(func(from, to int) error { _, err := unix.Sendfile(to, from, nil, 4); return err })
		},
		"splice": func() error {
			return between(func(from, to int) error {
				var p [2]int
				if err := unix.Pipe(p[:]); err != nil {
					return err
				}
				if _, err := unix.Splice(from, nil, p[1], nil, 4, 0); err != nil {
					return err
				}
				_, err := unix.Splice(p[0], nil, to, nil, 4, 0)
				return err
			})
		},
		"map": func() error {
			// The second way needs no right to write, if the kernel forgot to look.
			var errs []error
			for _, how := range []int{unix.O_RDWR, unix.O_RDONLY} {
				fd, err := unix.Open("file", how, 0)
				if err == nil {
					var mem []byte
					if mem, err = unix.Mmap(fd, 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
						mem[0] = 'X'
						return unix.Msync(mem, unix.MS_SYNC)
					}
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		"fchmod": func() error { return reading(func(fd int) error { return unix.Fchmod(fd, 0o777) }) },
		"fchmod-proc": func() error {
			return reading(func(fd int) error { return unix.Chmod("/proc/self/fd/"+itoa(fd), 0o777) })
		},
		"fchmodat2": func() error {
			return unix.Fchmodat(unix.AT_FDCWD, "file", 0o777, unix.AT_SYMLINK_NOFOLLOW) // which needs fchmodat2
		},
		"chmod-race": func() error {
			return race(os.Getenv("TMPDIR")+"/mine", os.Getenv("ROOT")+"/repo/file", func(path *byte) bool {
				at := unix.AT_FDCWD
				_ = err0(unix.Syscall6(unix.SYS_FCHMODAT, uintptr(at), uintptr(unsafe.Pointer(path)), 0o777, 0, 0, 0))
				var now unix.Stat_t
				return unix.Stat("file", &now) == nil && now.Mode&0o777 == 0o777
			})
		},
		"futimens": func() error {
			return reading(func(fd int) error {
				old := [2]unix.Timespec{{Sec: 1e9}, {Sec: 1e9}}
				return err0(unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&old)), 0, 0, 0))
			})
		},
		"utimes":   func() error { return unix.Futimesat(unix.AT_FDCWD, "file", []unix.Timeval{{Sec: 1e9}, {Sec: 1e9}}) },
		"fchown":   func() error { return reading(func(fd int) error { return unix.Fchown(fd, 1, 1) }) },
		"setxattr": func() error { return unix.Setxattr("file", "user.x", []byte("x"), 0) },
		"fsetxattr": func() error {
			return reading(func(fd int) error { return unix.Fsetxattr(fd, "user.x", []byte("x"), 0) })
		},
		"setxattrat": func() error {
			value := []byte("x")
			args := struct {
				value       uint64
				size, flags uint32
			}{uint64(uintptr(unsafe.Pointer(&value[0]))), 1, 0}
			at := unix.AT_FDCWD
			defer runtime.KeepAlive(value)
			return err0(unix.Syscall6(unix.SYS_SETXATTRAT, uintptr(at), text("file"), 0, text("user.x"), uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args)))
		},
		"setflags": func() error {
			const noDump = 0x40
			return reading(func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, noDump) })
		},
		"file-setattr": func() error {
			var attr [24]byte // struct file_attr: no flag set
			at := unix.AT_FDCWD
			return err0(unix.Syscall6(unix.SYS_FILE_SETATTR, uintptr(at), text("file"), uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0, 0))
		},
		"handle": func() error {
			h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, "file", 0)
			if err != nil {
				return err
			}
			mount, err := unix.Open(".", unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			fd, err := unix.OpenByHandleAt(mount, h, unix.O_WRONLY|unix.O_TRUNC)
			if err != nil {
				return err
			}
			return unix.Close(fd)
		},
	}
}

// between gives a file of scratch to read and the repository's to write.
func between(do func(from, to int) error) error {
	from, err := unix.Open(os.Getenv("TMPDIR")+"/mine", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	to, err := unix.Open("file", unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return do(from, to)
}

// reading gives the repository's file, opened to read.
func reading(do func(fd int) error) error {
	fd, err := unix.Open("file", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return do(fd)
}

// race makes a call over and over while another thread writes the allowed and the forbidden name in turn to where
// the call reads it from, until the forbidden one came through, or for as long as RACE says.
func race(allowed, forbidden string, do func(name *byte) (through bool)) error {
	long, err := time.ParseDuration(os.Getenv("RACE"))
	if err != nil {
		return err
	}
	var names [2][4096]byte
	copy(names[0][:], allowed)
	copy(names[1][:], forbidden)
	size := max(len(allowed), len(forbidden)) + 1
	shared, err := unix.Mmap(-1, 0, len(names[0]), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			copy(shared[:size], names[i%2][:size])
		}
	}()
	defer func() {
		stop.Store(true)
		<-done
	}()
	for end := time.Now().Add(long); time.Now().Before(end); {
		if do(&shared[0]) {
			return nil
		}
	}
	return errNothing
}

func text(s string) uintptr {
	p, err := syscall.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, p)
	return uintptr(unsafe.Pointer(p))
}

// kept keeps strings alive that the kernel was given the address of.
var kept []*byte

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

func mkdir(path string) error { return os.Mkdir(path, 0o700) }
