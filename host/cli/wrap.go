package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/profiles"
)

// As a shell says of a command that is not there, or cannot be run.
const (
	exitNotFound = 127
	exitNotRun   = 126
	exitBySignal = 128 // and the signal's number
)

func newWrap() *cobra.Command {
	var as string
	cmd := &cobra.Command{
		Use: "wrap [--as AGENT] -- COMMAND [ARGUMENT]…", Short: "Run an agent's command as it is, and let it ask you",
		Long: `wrap runs a command of yours that starts an agent, such as claude -p "…", and gives that one run a way to ask
you. Its input, output, signals and exit code are the command's own, and none of your files is changed.

Questions come to the kitsoki that you have open; where none is, to this terminal, a line at a time. Where there is
no terminal either, the agent is told that nobody can be asked.`,
		Example: `  kitsoki wrap -- claude -p "tidy up the tests" --model opus | tee report.txt
  kitsoki wrap --as claude -- npx @anthropic-ai/claude-code -p "tidy up"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return wrap(cmd.Context(), as, args) },
	}
	cmd.Flags().StringVar(&as, "as", "", "which agent the command starts, where its name does not say so")
	cmd.Flags().SetInterspersed(false)
	complete(cmd, "as", profiles.Names()...)
	return cmd
}

func wrap(ctx context.Context, as string, argv []string) error {
	if as == "" {
		as = argv[0]
	}
	profile, err := profiles.Find(as)
	if err != nil {
		return fmt.Errorf("%w; --as NAME says which of them another command is", err)
	}
	path, err := exec.LookPath(argv[0])
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &exitError{code: exitNotRun, err: err}
	case err != nil:
		return &exitError{code: exitNotFound, err: err}
	}
	w, err := newWrapping(profile)
	if err != nil {
		return err
	}
	status, err := w.run(ctx, path, argv)
	switch {
	case err != nil:
		return err
	case status.Signaled():
		raise(status.Signal())
		return &exitError{code: exitBySignal + int(status.Signal()), err: errQuiet}
	case status.ExitStatus() != 0:
		return &exitError{code: status.ExitStatus(), err: errQuiet}
	}
	return nil
}

// wrapping is one run of a command, with what it is given.
type wrapping struct {
	profile  profiles.Profile
	dir      *askbridge.Dir
	asks     *wrapAsks
	listener *askbridge.Listener // nil: nobody can be asked
}

// newWrapping prepares a run. Run takes all of it away again.
func newWrapping(profile profiles.Profile) (*wrapping, error) {
	runtimeDir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		return nil, lacking("no place for the agent's socket: %w", err)
	}
	if _, err := askbridge.Sweep(runtimeDir); err != nil {
		return nil, lacking("what a killed kitsoki left behind could not be removed: %w", err)
	}
	dir, err := askbridge.NewDir(runtimeDir)
	if err != nil {
		return nil, lacking("no place for the agent's socket: %w", err)
	}
	return &wrapping{profile: profile, dir: dir, asks: newWrapAsks(profile.Name)}, nil
}

// commandLine is what is run in place of the operator's. It opens the socket if there is anybody to ask.
func (w *wrapping) commandLine(ctx context.Context, args []string) (profiles.Wrapped, error) {
	b := profiles.Bridge{Dir: w.dir.Path(), Clause: agent.Clause(false)}
	plain, err := w.profile.Wrap(args, os.Getenv, b)
	if err != nil || !w.asks.reachable(ctx, plain.Headless) {
		return plain, err
	}
	exe, err := os.Executable()
	if err != nil {
		return plain, fmt.Errorf("this program does not know where it is: %w", err)
	}
	if w.listener, err = askbridge.Listen(w.dir, w.asks, askbridge.ListenOptions{}); err != nil {
		return plain, fmt.Errorf("the agent's socket could not be made: %w", err)
	}
	b.Clause = agent.Clause(true)
	b.Server = &profiles.Server{
		Command: exe, Args: []string{"mcp-operator-ask"}, Env: map[string]string{agent.EnvAskSocket: w.dir.Socket()},
	}
	return w.profile.Wrap(args, os.Getenv, b)
}

// run runs the command until it has ended.
func (w *wrapping) run(ctx context.Context, path string, argv []string) (syscall.WaitStatus, error) {
	defer func() {
		if w.listener != nil {
			_ = w.listener.Close() // withdraws what is open
		}
		w.asks.close()
		_ = w.dir.Remove() // what is left of it is swept by the next
	}()
	line, err := w.commandLine(ctx, argv[1:])
	if err != nil {
		return 0, lacking("%w", err)
	}
	cmd := &exec.Cmd{Path: path, Args: append([]string{argv[0]}, line.Args...), Env: os.Environ()}
	for _, kv := range line.Defaults {
		name, _, _ := strings.Cut(kv, "=")
		if _, ok := os.LookupEnv(name); !ok {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, line.Env...)
	if w.listener != nil { // for a server of the operator's own, by whatever name: it asks here too, and not as a guest
		cmd.Env = append(cmd.Env, agent.EnvAskSocket+"="+w.dir.Socket())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	status, err := passThrough(cmd, w.asks.started)
	if err != nil {
		return 0, &exitError{code: exitNotRun, err: err}
	}
	return status, nil
}
