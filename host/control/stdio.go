package control

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/kitsoki/askbridge/frame"
	"example.com/kitsoki/host/rpc"
)

// The lines of a bridge, which carries the connections to all kitsoki of a machine over one pair of streams:
//
//	kitsoki-control 1 COUNT    once, first: so many channels follow
//	+N NAME                    a channel to the socket of that name
//	N {…}                      a line of JSON-RPC on it
//	-N                         it has ended; from the other side: let go of it
const bridgeHello = "kitsoki-control 1 "

// maxBridgeLine is more than any line of a channel.
const maxBridgeLine = 17 << 20

// Bridge serves the connections of all kitsoki of this user over a pair of streams until in ends: what a command on
// another machine starts here through ssh. Processes that start later get channels too.
func Bridge(ctx context.Context, runtime string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := &bridge{out: out, conns: map[int]net.Conn{}, known: map[string]bool{}}
	paths, err := Find(runtime)
	if err != nil {
		return err
	}
	var fresh []channel
	for _, path := range paths {
		if c, ok := b.dial(ctx, path); ok {
			fresh = append(fresh, c)
		}
	}
	if err := b.write(bridgeHello + strconv.Itoa(len(fresh))); err != nil {
		return err
	}
	for _, c := range fresh {
		b.start(c)
	}
	b.work.Go(func() { b.look(ctx, runtime) })
	err = b.read(in)
	cancel()
	b.mu.Lock()
	for _, c := range b.conns {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.work.Wait()
	return err
}

// bridge is the far end: it owns a goroutine a channel, and one that looks for further processes.
type bridge struct {
	work sync.WaitGroup

	writing sync.Mutex // guards out
	out     io.Writer

	mu    sync.Mutex // guards all below
	conns map[int]net.Conn
	known map[string]bool
	last  int
}

type channel struct {
	n    int
	name string
	conn net.Conn
}

func (b *bridge) dial(ctx context.Context, path string) (channel, bool) {
	b.mu.Lock()
	known := b.known[path]
	b.known[path] = true
	b.mu.Unlock()
	if known {
		return channel{}, false
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return channel{}, false
	}
	if _, uid, err := frame.Peer(conn); err != nil || !frame.Ours(uid) {
		_ = conn.Close()
		return channel{}, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	b.conns[b.last] = conn
	return channel{b.last, filepath.Base(path), conn}, true
}

// start tells of a channel, and carries what comes on it.
func (b *bridge) start(c channel) {
	_ = b.write(fmt.Sprintf("+%d %s", c.n, c.name)) // when nobody reads it, the input ends too
	b.work.Go(func() {
		in := frame.NewReader(c.conn, maxBridgeLine)
		for {
			line, err := in.ReadLine()
			if err == nil {
				err = b.write(strconv.Itoa(c.n) + " " + string(bytes.TrimRight(line, "\n")))
			}
			if err != nil {
				break
			}
		}
		_ = c.conn.Close()
		b.mu.Lock()
		delete(b.conns, c.n)
		b.mu.Unlock()
		_ = b.write("-" + strconv.Itoa(c.n))
	})
}

// bridgeLooks is how often it is looked for further processes.
const bridgeLooks = time.Second

func (b *bridge) look(ctx context.Context, runtime string) {
	tick := time.NewTicker(bridgeLooks)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		paths, _ := Find(runtime) // a directory that is gone has nothing new
		for _, path := range paths {
			if c, ok := b.dial(ctx, path); ok {
				b.start(c)
			}
		}
	}
}

func (b *bridge) write(line string) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	_, err := io.WriteString(b.out, line+"\n")
	return err
}

// read passes on what the near end sends, until it ends.
func (b *bridge) read(in io.Reader) error {
	lines := frame.NewReader(in, maxBridgeLine)
	for {
		line, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		number, rest, _ := bytes.Cut(line, []byte(" "))
		n, err := strconv.Atoi(string(bytes.TrimSpace(bytes.TrimPrefix(number, []byte("-")))))
		if err != nil {
			return fmt.Errorf("a line of the bridge makes no sense: %.40q", line)
		}
		b.mu.Lock()
		conn := b.conns[n]
		b.mu.Unlock()
		switch {
		case conn == nil: // it has just ended
		case line[0] == '-':
			_ = conn.Close()
		default:
			_, _ = conn.Write(rest) // an error ends the channel
		}
	}
}

// Box is the near end of a bridge: the kitsoki of another machine. Close it.
type Box struct {
	in   io.WriteCloser
	done chan struct{}

	writing sync.Mutex // guards in

	mu      sync.Mutex // guards all below
	pipes   map[int]net.Conn
	clients []*Client
	pumps   sync.WaitGroup
}

// ErrNoBridge means that what was started on the other machine is no bridge of ours.
var ErrNoBridge = errors.New("no kitsoki answered there")

// maxBanner bounds what a login says before the bridge does.
const maxBanner = 200

// OpenBox speaks to a bridge over the streams of what runs it: out is read, in written and closed. It returns when the
// bridge has named what runs there. The caller bounds it by ending the streams.
func OpenBox(out io.Reader, in io.WriteCloser) (*Box, error) {
	b := &Box{in: in, done: make(chan struct{}), pipes: map[int]net.Conn{}}
	lines := bufio.NewReader(out)
	count := -1
	for range maxBanner {
		line, err := lines.ReadSlice('\n')
		if rest, ok := strings.CutPrefix(strings.TrimSpace(string(line)), bridgeHello); ok {
			if count, err = strconv.Atoi(rest); err != nil {
				return nil, fmt.Errorf("%w: it says %.40q", ErrNoBridge, rest)
			}
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, ErrNoBridge
		}
	}
	if count < 0 {
		return nil, ErrNoBridge
	}
	ready := make(chan struct{})
	go b.run(lines, count, ready)
	select {
	case <-ready:
		return b, nil
	case <-b.done:
		return nil, errors.Join(fmt.Errorf("%w: it ended at once", ErrNoBridge), b.Close())
	}
}

// run carries what comes to the clients. It owns the pipes.
func (b *Box) run(out io.Reader, count int, ready chan<- struct{}) {
	defer close(b.done)
	defer b.hangUp()
	if count == 0 {
		close(ready)
	}
	lines := frame.NewReader(out, maxBridgeLine)
	for {
		line, err := lines.ReadLine()
		if err != nil {
			return
		}
		number, rest, _ := bytes.Cut(bytes.TrimRight(line, "\n"), []byte(" "))
		n, err := strconv.Atoi(strings.TrimLeft(string(number), "+-"))
		if err != nil {
			return
		}
		switch number[0] {
		case '+':
			b.add(n, string(rest))
			if count--; count == 0 {
				close(ready)
			}
		case '-':
			if p := b.pipe(n); p != nil {
				_ = p.Close()
			}
		default:
			if p := b.pipe(n); p != nil {
				_, _ = p.Write(append(rest, '\n')) // a client that is closed takes nothing
			}
		}
	}
}

func (b *Box) pipe(n int) net.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pipes[n]
}

// add makes a client of a channel.
func (b *Box) add(n int, name string) {
	near, far := net.Pipe()
	c := newClient(name)
	c.start(rpc.Over(near, c.methods()))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pipes[n] = far
	b.clients = append(b.clients, c)
	b.pumps.Go(func() {
		in := frame.NewReader(far, maxBridgeLine)
		for {
			line, err := in.ReadLine()
			if err == nil {
				err = b.send(strconv.Itoa(n) + " " + string(line))
			}
			if err != nil {
				_ = far.Close()
				_ = b.send("-" + strconv.Itoa(n) + "\n") // when the bridge is gone, nobody needs it
				return
			}
		}
	})
}

func (b *Box) send(line string) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	_, err := io.WriteString(b.in, line)
	return err
}

func (b *Box) hangUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.pipes {
		_ = p.Close()
	}
}

// Clients are the kitsoki there, oldest first, as far as they are known; those that have ended too.
func (b *Box) Clients() []*Client {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]*Client(nil), b.clients...)
}

// Gone is closed when the bridge has ended.
func (b *Box) Gone() <-chan struct{} { return b.done }

// Close ends the connections and the bridge. The caller ends what runs it.
func (b *Box) Close() error {
	var errs []error
	b.hangUp() // so that no client waits for a bridge that hangs
	for _, c := range b.Clients() {
		errs = append(errs, c.Close())
	}
	b.pumps.Wait()
	return errors.Join(append(errs, b.in.Close())...)
}
