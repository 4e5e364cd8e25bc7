package signals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	onAskFor   = 30 * time.Second // how long a program may take
	onAskGrace = time.Second      // from its SIGTERM, or from its end with its output still open, to SIGKILL
	stderrKept = 200              // bytes of its stderr that an error tells
)

// OnAsk is a program that is told of asks. Argv is the program and its arguments; Env (KEY=value) stands over the
// inherited environment.
type OnAsk struct {
	Argv []string
	Env  []string
}

// Run starts the program with the ask as one line of JSON on its stdin, and waits until it has ended: 30 seconds
// at the longest, or until ctx ends. It runs in a session of its own, so that it has no terminal, not even as
// /dev/tty, and a process group that ends with it: what it leaves behind is killed. Its output is dropped; the
// first 200 bytes of its stderr are in the error when it fails. Without Argv nothing runs.
func (o OnAsk) Run(ctx context.Context, ask AskNotice) error { return o.within(ctx, onAskFor, ask) }

func (o OnAsk) within(ctx context.Context, most time.Duration, ask AskNotice) error {
	if len(o.Argv) == 0 {
		return nil
	}
	var stdin bytes.Buffer
	enc := json.NewEncoder(&stdin)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(ask); err != nil {
		return fmt.Errorf("on_ask: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	stderr := &first{most: stderrKept}
	err := o.run(bounded, &stdin, stderr)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("on_ask: %s was stopped: %w", o.name(), context.Cause(ctx))
	case bounded.Err() != nil:
		return fmt.Errorf("on_ask: %s did not end within %s and was stopped%s", o.name(), most, stderr.told())
	}
	return fmt.Errorf("on_ask: %s failed: %w%s", o.name(), err, stderr.told())
}

func (o OnAsk) run(ctx context.Context, stdin *bytes.Buffer, stderr *first) error {
	// The parent-death signal follows the thread that started the program.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := exec.CommandContext(ctx, o.Argv[0], o.Argv[1:]...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.Stdin, cmd.Stderr = stdin, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = onAskGrace
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return err
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of its group; usually nobody
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // it ended well, and only what it left behind held its stderr
	}
	return err
}

// name is the program in a sentence. Of a text for a shell the text says more.
func (o OnAsk) name() string {
	name := o.Argv[0]
	if len(o.Argv) == 3 && name == "sh" && o.Argv[1] == "-c" {
		name = o.Argv[2]
	}
	return line(name, titleCells)
}

// first keeps the start of what is written to it.
type first struct {
	most int
	buf  []byte
}

func (f *first) Write(p []byte) (int, error) {
	f.buf = append(f.buf, p[:min(len(p), f.most-len(f.buf))]...)
	return len(p), nil
}

// told is the text behind a colon, in one safe line; nothing when there is none.
func (f *first) told() string {
	if text := strings.Join(strings.Fields(string(f.buf)), " "); text != "" {
		return ": " + once(text)
	}
	return ""
}
