package wall

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// read copies from the caller's memory; all of it, or it is an error.
func (p process) read(addr uint64, into []byte) error {
	local := []unix.Iovec{{Base: &into[0]}}
	local[0].SetLen(len(into))
	n, err := unix.ProcessVMReadv(p.tid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(into)}}, 0)
	if err == nil && n != len(into) {
		err = unix.EFAULT
	}
	return err
}

// text copies a string that ends with a zero from the caller's memory. What follows it may not be readable, so no
// page is crossed that need not be.
func (p process) text(addr uint64) (string, error) {
	var out []byte
	for len(out) < unix.PathMax {
		page := uint64(os.Getpagesize())
		chunk := make([]byte, min(page-addr%page, uint64(unix.PathMax-len(out))))
		if err := p.read(addr, chunk); err != nil {
			return "", err
		}
		if end := bytes.IndexByte(chunk, 0); end >= 0 {
			return string(append(out, chunk[:end]...)), nil
		}
		out, addr = append(out, chunk...), addr+uint64(len(chunk))
	}
	return "", unix.ENAMETOOLONG
}

// open finds what the caller means by a path, and holds it without opening it. An empty one is the descriptor dir
// itself. Links that are not text lead elsewhere for us than for the caller, so that ways through /proc/self/fd
// are no ways here. Flags: unix.AT_SYMLINK_NOFOLLOW.
func (p process) open(dir int, path string, flags int) (int, error) {
	how := unix.O_PATH | unix.O_CLOEXEC
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how |= unix.O_NOFOLLOW
	}
	from := unix.AT_FDCWD
	if !filepath.IsAbs(path) {
		base := fmt.Sprintf("/proc/%d/cwd", p.tid)
		if dir != unix.AT_FDCWD {
			base = fmt.Sprintf("/proc/%d/fd/%d", p.tid, dir)
		}
		fd, err := unix.Open(base, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, unix.EBADF
		}
		if path == "" {
			return fd, nil
		}
		defer func() { _ = unix.Close(fd) }()
		from = fd
	}
	return unix.Openat2(from, path, &unix.OpenHow{Flags: uint64(how), Resolve: unix.RESOLVE_NO_MAGICLINKS})
}

// take copies a descriptor of the caller.
func (p process) take(fd int) (int, error) {
	owner, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(owner) }()
	return unix.PidfdGetfd(owner, fd, 0)
}

func (p process) link(name string) string {
	text, _ := os.Readlink(fmt.Sprintf("/proc/%d/%s", p.tid, name))
	return text
}

// held is a path to what a descriptor of ours holds, whatever happens to its name.
func held(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// linkOf is the path of what a descriptor of ours holds, without symbolic links in it.
func linkOf(fd int) string {
	text, _ := os.Readlink(held(fd))
	return text
}

// same reports whether a path leads to what a descriptor of ours holds.
func same(fd int, path string) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Stat(path, &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino
}
