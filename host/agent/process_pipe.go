package agent

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipe brings what a process writes to a writer. It is our own instead of package os/exec's, which tells of the end
// of a process only after that of its pipes: whoever left the process group can hold one.
type pipe struct {
	in, out *os.File
	done    chan struct{}
}

type pipes [2]*pipe

func newPipes(stdout, stderr io.Writer, sockets bool) (pipes, error) {
	var ps pipes
	for i, to := range []io.Writer{stdout, stderr} {
		open := os.Pipe
		if sockets {
			open = socketPair
		}
		out, in, err := open()
		if err != nil {
			ps.close()
			return pipes{}, err
		}
		p := &pipe{in: in, out: out, done: make(chan struct{})}
		ps[i] = p
		go func() {
			defer close(p.done)
			p.bring(to)
		}()
	}
	return ps, nil
}

// socketPair is a pipe that nobody can open by its name in /proc.
func socketPair() (out, in *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // ours: it is read with deadlines
		return nil, nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "output"), os.NewFile(uintptr(fds[1]), "output"), nil
}

// started gives up our copies of the writing ends: from now on the pipes end with their last writer.
func (ps pipes) started() {
	for _, p := range ps {
		_ = p.in.Close()
	}
}

// close reads what is in the pipes and waits for their goroutines, which the writers decide on: nothing else is
// waited for. The process has ended, so that all it ever wrote is there.
func (ps pipes) close() {
	for _, p := range ps {
		if p != nil {
			_ = p.in.Close() // again, after a start that succeeded
			_ = p.out.SetReadDeadline(time.Unix(1, 0))
		}
	}
	for _, p := range ps {
		if p != nil {
			<-p.done
			_ = p.out.Close()
		}
	}
}

// bring ends with the last writer, or after close with what there is then.
func (p *pipe) bring(to io.Writer) {
	_, err := io.Copy(to, p.out)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.rest(to)
	}
}

// maxRest is more than a pipe can hold, which is a megabyte for a user's: somebody may be writing still.
const maxRest = 4 << 20

// rest reads without waiting.
func (p *pipe) rest(to io.Writer) {
	raw, err := p.out.SyscallConn()
	if err != nil || p.out.SetReadDeadline(time.Time{}) != nil {
		return
	}
	buf := make([]byte, 64<<10)
	for total := 0; total < maxRest; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), buf) // that there is nothing is an error too
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
		total += n
	}
}
