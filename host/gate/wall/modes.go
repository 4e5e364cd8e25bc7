package wall

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// chmodAt gives a file that may be written another mode. Bits that lend its owner's rights to others are not given.
func (s *supervisor) chmodAt(listener uintptr, c call, who process, dir int, path, mode uint64, flags int) action {
	if mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return deny(unix.EPERM, "make a program run as its owner")
	}
	return s.onFile(listener, c, who, dir, path, flags, "change the mode of ", func(file int) error {
		return unix.Fchmodat(unix.AT_FDCWD, held(file), uint32(mode)&0o1777, 0)
	})
}

// utimensAt gives a file that may be written other times.
func (s *supervisor) utimensAt(listener uintptr, c call, who process) action {
	times := []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}
	if c.args[2] != 0 {
		raw := unsafe.Slice((*byte)(unsafe.Pointer(&times[0])), len(times)*int(unsafe.Sizeof(times[0])))
		if err := who.read(c.args[2], raw); err != nil {
			return done(err)
		}
	}
	flags := int(int32(c.args[3]))
	if c.args[1] == 0 {
		flags |= unix.AT_EMPTY_PATH
	}
	return s.onFile(listener, c, who, int(int32(c.args[0])), c.args[1], flags, "change the times of ", func(file int) error {
		empty := [1]byte{}
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(file), uintptr(unsafe.Pointer(&empty)), uintptr(unsafe.Pointer(&times[0])), unix.AT_EMPTY_PATH, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
}

// onFile does something to the file that a call names, when it may be written.
func (s *supervisor) onFile(listener uintptr, c call, who process, dir int, path uint64, flags int, what string, do func(file int) error) action {
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return deny(unix.EINVAL, "")
	}
	name := ""
	if path != 0 {
		var err error
		if name, err = who.text(path); err != nil {
			return done(err)
		}
	}
	if name == "" && flags&unix.AT_EMPTY_PATH == 0 {
		return deny(unix.ENOENT, "")
	}
	file, err := who.open(dir, name, flags&unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return done(err)
	}
	defer func() { _ = unix.Close(file) }()
	where := linkOf(file)
	if !s.spec.writable(where) {
		return deny(unix.EACCES, what+where)
	}
	if err := s.waits(listener, c); err != nil {
		return done(err)
	}
	return done(do(file))
}
