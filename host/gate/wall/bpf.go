package wall

import "golang.org/x/sys/unix"

// rule is what happens to a system call: then, when all tests hold. The first rule of a call that applies counts;
// a call without one is allowed.
type rule struct {
	call  uint32
	tests []test
	then  uint32
}

// test looks at 32 bits of an argument: the bits of mask, which are value, or are not. The kernel takes no more
// than these of an int, and a filter that looked at all 64 could be passed by with rubbish in the rest.
type test struct {
	arg   int
	high  bool
	mask  uint32
	value uint32
	not   bool
}

func is(arg int, value uint32) test { return test{arg: arg, mask: ^uint32(0), value: value} }
func isNot(arg int, value uint32) test {
	return test{arg: arg, mask: ^uint32(0), value: value, not: true}
}
func anyOf(arg int, bits uint32) test     { return test{arg: arg, mask: bits, not: true} }
func masked(arg int, m, v uint32) test    { return test{arg: arg, mask: m, value: v} }
func notMasked(arg int, m, v uint32) test { return test{arg: arg, mask: m, value: v, not: true} }

// What a filter answers, beside unix.SECCOMP_RET_ALLOW.
const (
	notify = unix.SECCOMP_RET_USER_NOTIF
	kill   = unix.SECCOMP_RET_KILL_PROCESS
)

func fail(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// Offsets in struct seccomp_data.
const (
	atCall = 0
	atArch = 4
	atArgs = 16
)

// assemble makes the filter's program. A call of another calling convention ends the process; one behind last is
// a call that nobody has looked at, and does not exist here.
func assemble(rules []rule, last uint32) []unix.SockFilter {
	p := []unix.SockFilter{
		load(atArch), jump(unix.BPF_JEQ, arch, 1, 0), answer(kill),
		load(atCall), jump(unix.BPF_JGT, last, 0, 1), answer(fail(unix.ENOSYS)),
	}
	for _, r := range rules {
		body := r.body()
		p = append(p, jump(unix.BPF_JEQ, r.call, 1, 0), skip(len(body)))
		p = append(p, body...)
	}
	return append(p, answer(unix.SECCOMP_RET_ALLOW))
}

// body ends with the rule's answer, or behind itself, with the call's number loaded again.
func (r rule) body() []unix.SockFilter {
	if len(r.tests) == 0 {
		return []unix.SockFilter{answer(r.then)}
	}
	const each = 4 // instructions a test
	left := func(done int) int { return (len(r.tests)-done)*each + 1 }
	var p []unix.SockFilter
	for i, t := range r.tests {
		at := atArgs + 8*t.arg
		if t.high {
			at += 4
		}
		yes, no := uint8(1), uint8(0) // over the skip, into it
		if t.not {
			yes, no = no, yes
		}
		p = append(p, load(uint32(at)), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask},
			jump(unix.BPF_JEQ, t.value, yes, no), skip(left(i+1)))
	}
	return append(p, answer(r.then), load(atCall))
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(how uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | how | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func skip(n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(n)}
}

func answer(what uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: what}
}
