package wall

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minLandlock is the version of Landlock from which on truncate is held.
const minLandlock = 3

// Versions of Landlock that brought something that is used here.
const (
	landlockIoctl  = 5
	landlockScopes = 6
)

// landlockVersion is the kernel's; 0 without Landlock.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// changes are the rights that make a directory writable: all that is held, but for making devices and talking to
// them.
const changes = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
	unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
	unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM

// overwrite are the rights of a single file.
const overwrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE

// harmless devices take what nobody reads again.
func harmless() []string { return []string{"/dev/null", "/dev/zero", "/dev/full"} }

// confine applies Landlock to the calling thread, and so to all that it starts: nothing can be changed but below
// what is writable. Reading and running are not restricted.
func confine(version int, spec Spec) error {
	if version < minLandlock {
		return fmt.Errorf("landlock is of version %d, %d is needed", version, minLandlock)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: changes | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK}
	if version >= landlockIoctl {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	size := unsafe.Offsetof(attr.Scoped)
	if version >= landlockScopes {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Offsetof(attr.Quiet_access_fs)
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: make the rules: %w", errno)
	}
	defer func() { _ = unix.Close(int(set)) }()
	for _, dir := range spec.Writable {
		if err := permit(int(set), dir, unix.O_DIRECTORY, changes); err != nil {
			return err
		}
	}
	for _, file := range spec.Files {
		if err := permit(int(set), file, unix.O_NOFOLLOW, overwrite); err != nil {
			return err
		}
	}
	for _, device := range harmless() {
		if err := permit(int(set), device, unix.O_NOFOLLOW, overwrite); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("landlock: apply the rules: %w", errno)
	}
	return nil
}

func permit(set int, path string, how int, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|how, 0)
	if err != nil {
		return fmt.Errorf("landlock: open %s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	// The kernel's structure is packed, of 12 bytes; the fields lie where they do in Go's.
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("landlock: permit %s: %w", path, errno)
	}
	return nil
}
