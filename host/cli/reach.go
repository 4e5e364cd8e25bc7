package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/control"
)

// Bounds of what other processes and machines may take.
const (
	reachWithin = 3 * time.Second  // a running kitsoki answers within milliseconds; one that was stopped never
	sshWithin   = 15 * time.Second // to log in and name what runs there
)

// reached are the running kitsoki of this user, here or on another machine.
type reached struct {
	runtime string
	clients []*control.Client

	box *control.Box // of another machine
	ssh *exec.Cmd
}

// reach connects to every running kitsoki of this machine or, with a box, of that one. Close it.
func reach(ctx context.Context, box string) (*reached, error) {
	if box != "" {
		return reachBox(ctx, box)
	}
	runtime, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		return nil, lacking("no place for sockets: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	r := &reached{runtime: runtime}
	if r.clients, err = control.All(ctx, runtime); err != nil {
		return nil, lacking("the running kitsoki cannot be found: %w", err)
	}
	return r, nil
}

// reachBox starts a bridge on another machine through ssh. KITSOKI_SSH names another program for it, and KITSOKI there is
// found on the PATH of a login that is not interactive.
func reachBox(ctx context.Context, box string) (*reached, error) {
	if strings.HasPrefix(box, "-") || strings.ContainsFunc(box, func(r rune) bool { return r <= ' ' }) {
		return nil, fmt.Errorf("--host %q: expected the name of a machine, as ssh knows it", box)
	}
	argv := strings.Fields(os.Getenv("KITSOKI_SSH"))
	if len(argv) == 0 {
		argv = []string{"ssh"}
	}
	argv = append(argv, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", box, "kitsoki control-stdio")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second
	var said bytes.Buffer
	cmd.Stderr = &limitedWriter{to: &said, left: 4 << 10}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, lacking("%s cannot be started: %w", argv[0], err)
	}
	late := time.AfterFunc(sshWithin, func() { _ = cmd.Process.Kill() }) // which ends its output
	opened, err := control.OpenBox(out, in)
	if !late.Stop() && err == nil {
		err = errors.Join(control.ErrNoBridge, opened.Close())
	}
	if err == nil {
		return &reached{box: opened, ssh: cmd}, nil
	}
	_ = in.Close()
	_ = cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return nil, lacking("no kitsoki could be reached on %s: %s. It has to be on the PATH of a login there that is not interactive, and ssh has to get in "+
		"without a question; try: ssh -o BatchMode=yes %[1]s kitsoki --version", box, sshWords(said.String(), err))
}

// sshWords are the last words of ssh or of the shell at the other end, else what is known without them.
func sshWords(said string, err error) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return askbridge.Safe(last)
	}
	return err.Error()
}

// limitedWriter keeps the first bytes and lets the rest go.
type limitedWriter struct {
	to   io.Writer
	left int
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	_, err := w.to.Write(p[:n])
	return len(p), err
}

// all are the kitsoki that run, also those that were started since.
func (r *reached) all(ctx context.Context) []*control.Client {
	if r.box != nil {
		return live(r.box.Clients())
	}
	r.clients = live(r.clients)
	paths, _ := control.Find(r.runtime) // a directory that is gone has nothing new
	for _, path := range paths {
		if slices.ContainsFunc(r.clients, func(c *control.Client) bool { return c.Path() == path }) {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, reachWithin)
		if c, err := control.Dial(ctx, path); err == nil {
			r.clients = append(r.clients, c)
		}
		cancel()
	}
	return slices.Clone(r.clients)
}

// live are those that have not ended.
func live(all []*control.Client) []*control.Client {
	return slices.DeleteFunc(slices.Clone(all), func(c *control.Client) bool {
		select {
		case <-c.Gone():
			return true
		default:
			return false
		}
	})
}

// close lets go of them.
func (r *reached) close() {
	if r.box == nil {
		for _, c := range r.clients {
			_ = c.Close() // whatever it says, we are done
		}
		return
	}
	late := time.AfterFunc(reachWithin, func() { _ = r.ssh.Process.Kill() })
	defer late.Stop()
	_ = r.box.Close() // likewise
	_ = r.ssh.Wait()
}

// each asks all of them at once, each within a bound, and says which do not answer.
func each[T any](ctx context.Context, all []*control.Client, warn io.Writer, do func(ctx context.Context, c *control.Client) (T, error)) []T {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	got := make([]T, len(all))
	errs := make([]error, len(all))
	var asked sync.WaitGroup
	for i, c := range all {
		asked.Go(func() { got[i], errs[i] = do(ctx, c) })
	}
	asked.Wait()
	for i, err := range errs {
		if errors.Is(err, context.DeadlineExceeded) {
			fmt.Fprintf(warn, "kitsoki: process %d does not answer; is it stopped?\n", all[i].PID())
		}
	}
	return got
}

// addHost adds the flag that names another machine.
func addHost(cmd *cobra.Command) *string {
	return cmd.Flags().String("host", "", "the kitsoki of another machine, over ssh (without questions: BatchMode)")
}

// newControlStdio is the far end of --host.
func newControlStdio() *cobra.Command {
	return &cobra.Command{
		Use: "control-stdio", Hidden: true, Args: cobra.NoArgs,
		Short: "Carries the connections of kitsoki commands of another machine; ssh starts it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			runtime, err := askbridge.RuntimeDir(os.Getenv)
			if err != nil {
				return lacking("no place for sockets: %w", err)
			}
			if err := control.Bridge(cmd.Context(), runtime, cmd.InOrStdin(), cmd.OutOrStdout()); err != nil {
				return &exitError{code: exitFailed, err: err}
			}
			return nil
		},
	}
}
