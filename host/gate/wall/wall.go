package wall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Wall is one agent's. Wrap says how to start it, Run supervises it; both once, and Close always.
type Wall struct {
	level   Level
	spec    Spec // resolved
	refused func(Refusal)
	host    *os.File // our end of the talk with the launcher
	child   *os.File
}

// Refusal is something that was tried behind the wall and did not happen. The texts are the trying program's, and
// are not safe to show as they are.
type Refusal struct {
	PID     int
	Command string // the name of the program, as the kernel has it
	What    string // "open a network connection", "connect to /run/docker.sock"
}

// Prepare makes a wall of a level that the machine can build, see [Probe]. Whatever the spec names must exist, and
// an error says what does not. Refused may be nil; it is called from [Wall.Run], must not block, and hears of a
// thing once a program and of [maxRefusals] at most. A wall of level None lets everything through.
func Prepare(spec Spec, level Level, refused func(Refusal)) (*Wall, error) {
	if refused == nil {
		refused = func(Refusal) {}
	}
	w := &Wall{level: level, refused: refused}
	if level == None {
		return w, nil
	}
	if !slices.Contains([]Level{Kernel, Files, Namespace}, level) {
		return nil, fmt.Errorf("there is no level %q of a wall", level)
	}
	var err error
	if w.spec, err = spec.resolved(); err != nil {
		return nil, err
	}
	if w.host, w.child, err = socketPair(); err != nil {
		return nil, fmt.Errorf("prepare the wall: %w", err)
	}
	if err := give(w.host, order{Level: level, Landlock: landlockVersion(), Spec: w.spec}); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the wall: %w", err), w.Close())
	}
	return w, nil
}

// Wrap turns a command into one that builds the wall and then becomes the command, with the same process id. Self
// is how kitsoki is started. The files are to be inherited in this order, as exec.Cmd.ExtraFiles are, and to be
// closed after the start, whether it succeeded or not: [Wall.Run] learns from it.
func (w *Wall) Wrap(self []string, path string, args []string) (string, []string, []*os.File) {
	if w.level == None {
		return path, args, nil
	}
	wrapped := append(slices.Clone(self[1:]), Subcommand, path)
	return self[0], append(wrapped, args...), []*os.File{w.child}
}

// Subcommand is the name under which kitsoki is the launcher.
const Subcommand = "walled"

// Run supervises until the last process behind the wall has ended (nil), the launcher failed (its sentence), or
// ctx ended (its cause). From then on what a supervisor decides does not exist for whoever is left. Run it beside
// the agent: the launcher waits for it.
func (w *Wall) Run(ctx context.Context) error {
	if w.level == None {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = w.host.Close() })
	defer stop()
	pid, listener, err := reported(w.host)
	if err != nil {
		return cause(ctx, fmt.Errorf("the wall was not built: %w", err))
	}
	if (listener != nil) != (w.level == Kernel) {
		return errors.New("the wall was not built: its launcher speaks of another one")
	}
	if listener == nil {
		_, err := w.host.Write([]byte{1})
		return cause(ctx, err)
	}
	defer func() { _ = listener.Close() }()
	s, err := newSupervisor(w.spec, pid, listener, w.refused)
	if err != nil {
		return fmt.Errorf("supervise the agent: %w", err)
	}
	defer s.close()
	end := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer end()
	if _, err := w.host.Write([]byte{1}); err != nil {
		return cause(ctx, fmt.Errorf("tell the launcher: %w", err))
	}
	return cause(ctx, s.serve())
}

// cause prefers why a context ended to what its end did.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Close lets go of what Prepare made. A launcher that still waits does not start its agent.
func (w *Wall) Close() error {
	if w.host == nil {
		return nil
	}
	var err error
	for _, f := range []*os.File{w.host, w.child} {
		if e := f.Close(); !errors.Is(e, os.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	return err
}
