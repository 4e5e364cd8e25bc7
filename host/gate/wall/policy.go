package wall

import "golang.org/x/sys/unix"

// lastCall is the last system call that was looked at for what it changes (Linux 6.18). Newer ones do not exist
// behind the wall.
const lastCall = unix.SYS_FILE_SETATTR

// policy is the filter of a level. Landlock, or the read-only mounts, hold what opens, makes, moves or removes a
// file by its path; this is about what goes past them.
func policy(level Level) []rule {
	var rules []rule
	add := func(then uint32, calls ...uint32) {
		for _, c := range calls {
			rules = append(rules, rule{call: c, then: then})
		}
	}
	// Submissions on a ring are not seen by any filter.
	add(fail(unix.ENOSYS), unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER)
	// Into other processes: their memory, their files, their limits. Signals are Landlock's.
	add(fail(unix.EPERM), unix.SYS_PTRACE, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE)
	rules = append(rules,
		rule{unix.SYS_PRLIMIT64, []test{isNot(0, 0), isNot(2, 0)}, fail(unix.EPERM)},
		rule{unix.SYS_PRLIMIT64, []test{isNot(0, 0), {arg: 2, high: true, mask: ^uint32(0), not: true}}, fail(unix.EPERM)})
	// Owners, attributes and flags of files, which are not writes for Landlock. That a file system has no
	// attributes is what copying programs know how to take.
	add(fail(unix.EPERM), unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_FILE_SETATTR)
	add(fail(unix.EPERM), oldChanges()...)
	add(fail(unix.ENOTSUP), unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT)
	rules = append(rules, ioctls()...)
	// Objects of the kernel that outlive their maker and have no path: queues, shared memory, keys.
	add(fail(unix.EPERM), unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGCTL, unix.SYS_SEMGET,
		unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL)
	// Mounts and namespaces. clone3 has its flags in memory; without it everybody falls back to clone.
	add(fail(unix.EPERM), unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
		unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS)
	add(fail(unix.ENOSYS), unix.SYS_CLONE3)
	const newTime = unix.CLONE_NEWTIME // among clone's flags these bits are the signal
	const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	rules = append(rules,
		rule{unix.SYS_CLONE, []test{anyOf(0, namespaces)}, fail(unix.EPERM)},
		rule{unix.SYS_UNSHARE, []test{anyOf(0, namespaces|newTime)}, fail(unix.EPERM)})
	// What only the administrator may do, and what has been a way to become one.
	add(fail(unix.EPERM), unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
		unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SETHOSTNAME,
		unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_VHANGUP)
	add(fail(unix.EPERM), oldPrivileged()...)
	rules = append(rules, sockets()...)
	// Modes and times are not writes for Landlock either. In scratch they are useful, which takes somebody who
	// knows where a file is; read-only mounts do.
	modes := append(oldModes(), unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_UTIMENSAT)
	switch level {
	case Kernel:
		add(notify, modes...)
		add(notify, unix.SYS_SOCKET, unix.SYS_CONNECT)
	case Files:
		add(fail(unix.EPERM), modes...)
	}
	return rules
}

// sockets says which sockets there are: streams within the machine, the kernel's routing tables, and of the
// network what the last rule of policy leaves to the supervisor. A datagram socket sends to any address without
// connecting, and a pair of them is no different.
func sockets() []rule {
	const kind = 0xf // the rest of a type are flags
	no := fail(unix.EACCES)
	return []rule{
		{unix.SYS_SOCKETPAIR, []test{masked(1, kind, unix.SOCK_DGRAM)}, no},
		{unix.SYS_SOCKET, []test{is(0, unix.AF_UNIX), notMasked(1, kind, unix.SOCK_STREAM)}, no},
		{unix.SYS_SOCKET, []test{is(0, unix.AF_UNIX)}, unix.SECCOMP_RET_ALLOW},
		{unix.SYS_SOCKET, []test{is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)}, unix.SECCOMP_RET_ALLOW},
		{unix.SYS_SOCKET, []test{isNot(0, unix.AF_INET), isNot(0, unix.AF_INET6)}, no},
		{unix.SYS_SOCKET, []test{notMasked(1, kind, unix.SOCK_STREAM), notMasked(1, kind, unix.SOCK_DGRAM)}, no},
	}
}

// ioctls leaves out those that change a file, or a directory, through a descriptor that was opened to read, and
// those that change a terminal: nobody behind the wall has one of its own. File systems and terminals keep theirs
// under a letter each, of which the reading ones are let through.
func ioctls() []rule {
	const letter = 0xff00
	reads := []uint32{
		unix.FS_IOC_GETFLAGS, fsIocGetVersion, fsIocFiemap, fsIocFsGetXattr, unix.FICLONE, unix.FICLONERANGE, unix.FIDEDUPERANGE,
		unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCGPGRP, unix.TIOCGSID, unix.TIOCOUTQ, fionread,
		fionbio, fioclex, fionclex, fioasync, fioqsize,
	}
	var rules []rule
	for _, cmd := range reads {
		rules = append(rules, rule{unix.SYS_IOCTL, []test{is(1, cmd)}, unix.SECCOMP_RET_ALLOW})
	}
	for _, l := range []uint32{'T', 'f', 'v', 'X', 'r', btrfs, f2fs, bcachefs} {
		rules = append(rules, rule{unix.SYS_IOCTL, []test{masked(1, letter, l<<8)}, fail(unix.EPERM)})
	}
	return rules
}

// Not in x/sys; from linux/fs.h, asm-generic/ioctls.h and the headers of the file systems.
const (
	fsIocGetVersion = 0x80087601
	fsIocFiemap     = 0xc020660b
	fsIocFsGetXattr = 0x801c581f
	fionread        = 0x541b
	fionbio         = 0x5421
	fionclex        = 0x5450
	fioclex         = 0x5451
	fioasync        = 0x5452
	fioqsize        = 0x5460

	btrfs    = 0x94
	f2fs     = 0xf5
	bcachefs = 0xbc
)
