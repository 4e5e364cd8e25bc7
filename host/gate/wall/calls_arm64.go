package wall

import "golang.org/x/sys/unix"

// arch is the one calling convention that the filter lets through; see the one for amd64.
const arch = unix.AUDIT_ARCH_AARCH64

func oldModes() []uint32 { return nil }

func oldChanges() []uint32 { return nil }

func oldPrivileged() []uint32 { return nil }

const sysChmod = -1 // no such call
