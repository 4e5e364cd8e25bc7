package wall

import "golang.org/x/sys/unix"

// arch is the one calling convention that the filter lets through. Others (the 32-bit ones) have other numbers for
// the same calls, and the kernel says with each call which it is.
const arch = unix.AUDIT_ARCH_X86_64

// Calls that newer machines do not have. Those with the old numbers above 0x40000000 are behind the last number.
func oldModes() []uint32 { return []uint32{unix.SYS_CHMOD} }

func oldChanges() []uint32 {
	return []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
}

func oldPrivileged() []uint32 { return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM} }

const sysChmod = unix.SYS_CHMOD
