package wall_test

import (
	"net"

	"example.com/kitsoki/host/gate/wall"
)

func processAttempts() []attempt {
	return []attempt{
		{name: "kill a process of the operator", sh: "kill -9 $VICTIM; sleep 0.05", done: killed, only: wall.Kernel},
		{name: "stop a process of the operator", sh: "kill -STOP $VICTIM; sleep 0.05", done: killed, only: wall.Kernel},
		{name: "signal by a process descriptor", attack: "pidfd-signal", done: killed, only: wall.Kernel},
		{name: "signal by a file's owner", attack: "setown", done: killed, only: wall.Kernel},
		{name: "limits of another process", attack: "prlimit"},
		{name: "trace a process of the operator", attack: "ptrace"},
		{name: "trace the agent", attack: "ptrace-agent"},
		{name: "trace a child", attack: "ptrace-child"},
		{name: "memory of the operator's, to write", sh: "exec 3<> /proc/$VICTIM/mem"},
		{name: "memory of the host, to read", sh: "exec 3< /proc/$HOST/mem"},
		{name: "environment of the host", sh: "head -c 1 /proc/$HOST/environ"},
		{name: "files of the host", sh: "readlink /proc/$HOST/fd/0"},
		{name: "memory of the agent, to write", sh: "exec 3<> /proc/$PPID/mem"},
		{name: "memory of the agent by process_vm_writev", attack: "poke"},
		{name: "descriptor of the agent", attack: "getfd"},
		{name: "ring", attack: "io-uring"},
		{name: "user namespace", sh: "unshare -Ur true", needs: "unshare"},
		{name: "user namespace and mount", sh: "unshare -Urm mount -t tmpfs none $ROOT/repo", needs: "unshare"},
		{name: "user namespace by clone", attack: "clone"},
		{name: "user namespace by clone3", attack: "clone3"},
		{name: "mount", sh: "mount --bind $TMPDIR $ROOT/repo && umount $ROOT/repo", root: true},
		{name: "new mount calls", attack: "fsopen", root: true},
		{name: "change root", sh: "chroot / true", root: true, needs: "chroot"},
		{name: "namespace of the host", attack: "setns", root: true},
		{name: "host name", sh: "hostname $(hostname)", root: true, needs: "hostname"},
		{name: "key", attack: "key"},
		{name: "message queue", attack: "mq"},
		{name: "shared memory", attack: "shm"},
		{name: "bpf", attack: "bpf", root: true},
		{name: "performance events", attack: "perf", root: true},
		{name: "page faults", attack: "userfaultfd", root: true},
		{name: "32-bit calls", sh: int80, needs: "gcc", done: exists("tmp/made")},
		{name: "type into the terminal", attack: "tiocsti", root: true},
	}
}

// int80 makes a directory in scratch, where it may, by the calls of a 32-bit program, whose numbers are others.
const int80 = `cat > $TMPDIR/a.c <<'C'
#define _GNU_SOURCE
#include <sys/mman.h>
#include <string.h>
#include <stdlib.h>
int main(void) {
	char *p = mmap(0, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_32BIT, -1, 0);
	strcpy(p, getenv("TMPDIR")); strcat(p, "/made");
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(39), "b"(p), "c"(0700) : "memory");
	return r != 0;
}
C
gcc -o $TMPDIR/a $TMPDIR/a.c && $TMPDIR/a`

func networkAttempts() []attempt {
	accepted := func(l func(f *field) net.Listener) func(*field) bool {
		return func(f *field) bool { return reached(l(f)) }
	}
	got := func(c func(f *field) net.PacketConn) func(*field) bool {
		return func(f *field) bool { return told(c(f)) }
	}
	stream := accepted(func(f *field) net.Listener { return f.stream })
	tcp := accepted(func(f *field) net.Listener { return f.tcp })
	dgram := got(func(f *field) net.PacketConn { return f.dgram })
	udp := got(func(f *field) net.PacketConn { return f.udp })
	return []attempt{
		{name: "unix socket", attack: "unix", done: stream, only: wall.Kernel},
		{name: "unix socket by a relative name", attack: "unix-relative", done: stream, only: wall.Kernel},
		{name: "unix socket through a link", attack: "unix-link", done: stream, only: wall.Kernel},
		{name: "unix socket through /proc/self/fd", attack: "unix-fd", done: stream, only: wall.Kernel},
		{name: "unix socket through /proc/self/root", attack: "unix-root", done: stream, only: wall.Kernel},
		{name: "unix socket, the address changing all the time", attack: "unix-race", done: stream, only: wall.Kernel},
		{name: "unix socket behind an own supervisor", attack: "nested", done: stream, only: wall.Kernel},
		{name: "unix socket moved into scratch", sh: `mv $ROOT/outside.sock $TMPDIR/s; exec $SELF attack unix-moved`, done: stream, only: wall.Kernel},
		{name: "abstract socket", attack: "abstract", done: accepted(func(f *field) net.Listener { return f.abstract }), only: wall.Kernel},
		{name: "packets", attack: "packets", done: accepted(func(f *field) net.Listener { return f.packets })},
		{name: "datagram", attack: "dgram", done: dgram},
		{name: "datagram by one of a pair", attack: "dgram-pair", done: dgram},
		{name: "tcp", attack: "tcp", done: tcp, only: wall.Kernel},
		{name: "tcp by a thread", sh: `python3 -c 'import os,socket,threading
h,p=os.environ["TCP"].split(":")
t=threading.Thread(target=lambda: socket.create_connection((h,int(p))))
t.start();t.join()'`, needs: "python3", done: tcp, only: wall.Kernel},
		{name: "tcp by curl", sh: "curl -s -m 1 http://$TCP", needs: "curl", done: tcp, only: wall.Kernel},
		{name: "tcp with the first data", attack: "fastopen", done: tcp, only: wall.Kernel},
		{name: "tcp by a child that has not run a program", attack: "tcp-fork", done: tcp, only: wall.Kernel},
		{name: "udp", attack: "udp", done: udp, only: wall.Kernel},
		{name: "udp by a shell", sh: "bash -c 'echo x > /dev/udp/${UDP%:*}/${UDP#*:}'", needs: "bash", done: udp, only: wall.Kernel},
		{name: "raw", attack: "raw", root: true},
		{name: "packets of the wire", attack: "packet", root: true},
		{name: "virtual machine's socket", attack: "vsock"},
		{name: "kernel events", attack: "uevent"},
	}
}
