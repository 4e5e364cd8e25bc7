package agent

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// identity tells processes apart for ever: an id alone comes back.
type identity struct {
	pid     int
	started uint64 // in clock ticks since the machine was booted
}

// proc is a process as /proc shows it.
type proc struct {
	identity
	parent int
	group  int
	dead   bool // a zombie: it has ended and waits to be reaped
}

// processOf reads one process; false when there is none.
func processOf(pid int) (proc, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, false
	}
	return parseStat(pid, raw)
}

// parseStat reads /proc/PID/stat, see proc_pid_stat(5). The name in it can hold anything, blanks and brackets too.
func parseStat(pid int, raw []byte) (proc, bool) {
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return proc{}, false
	}
	const state, parent, group, started = 0, 1, 2, 19 // after the name
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) <= started {
		return proc{}, false
	}
	p := proc{identity: identity{pid: pid}, dead: fields[state] == "Z" || fields[state] == "X"}
	var errs [3]error
	p.parent, errs[0] = strconv.Atoi(fields[parent])
	p.group, errs[1] = strconv.Atoi(fields[group])
	p.started, errs[2] = strconv.ParseUint(fields[started], 10, 64)
	return p, errs == [3]error{}
}

// processes reads all that there are, in the order of their ids.
func processes() []proc {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1) // as far as it can be read
	out := make([]proc, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := processOf(pid); ok {
			out = append(out, p)
		}
	}
	return out
}

// marksOf reads the marks that a process was started with. told is false where its environment says nothing: it may
// be about to become another program, in which moment it has none; we may not look into it; it was started without
// one; or it has written over it.
func marksOf(pid int) (marks []mark, told bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(bytes.Trim(raw, "\x00")) == 0 {
		return nil, false
	}
	if !bytes.Contains(raw, []byte(EnvDispatch+"=")) {
		return nil, true
	}
	return marksOfEnviron(strings.Split(string(raw), "\x00")), true
}

// end kills a process, and no other: what is signalled is held by a descriptor, and was looked at again after that
// was there.
func (p proc) end() error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if now, ok := processOf(p.pid); !ok || now.identity != p.identity {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}
