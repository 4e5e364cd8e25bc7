package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/serve"
	"example.com/kitsoki/host/session"
)

// agentSocket is the socket's name in the runtime directory.
const agentSocket = "agent.sock"

// serveFlags are the flags of kitsoki agent-serve, beside those that it shares with run.
type serveFlags struct {
	*runFlags
	socket   string
	parallel int
	json     bool
}

func newAgentServe() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent-serve",
		Short: "Dispatch agents for programs, over a unix socket",
		Long: `agent-serve serves the verbs ask, decide, task and converse to the programs of this user: JSON-RPC 2.0, a line a
message, on a unix socket. Nobody can be asked in these calls: each agent is told so, has no tool for it, and states
what it assumed. docs/agent-serve.md has the methods.

It says where it listens, in one line, and serves until it is ended by a signal; then it takes no further calls, stops
those that run, and exits with 0. Calls over --parallel wait in the order in which they came. A client that goes away
has its calls stopped.

Exit codes: 0 ended by a signal, 1 something did not end in time, 2 usage, 3 another server listens there, or the
machine lacks something.`,
		Example: `  kitsoki agent-serve
  kitsoki agent-serve --socket ~/.agents/agent.sock --parallel 4 --json`,
		Args: cobra.NoArgs,
	}
	f := &serveFlags{runFlags: &runFlags{agent: "claude"}}
	flags := cmd.Flags()
	flags.StringVar(&f.socket, "socket", "", "where to listen, in a directory that nobody else can enter (default: agent.sock in the runtime directory)")
	flags.IntVar(&f.parallel, "parallel", serve.DefaultParallel, fmt.Sprintf("how many agents run at once, up to %d", serve.MaxParallel))
	flags.BoolVar(&f.json, "json", false, "say where it listens as a JSON object")
	flags.StringVar(&f.dir, "cwd", "", "the directory of calls that name none (default: this one)")
	flags.StringVar(&f.access, "access", "edit", "what agents may do in calls that do not say: read, ask (nobody can be asked, so changes are denied), edit (inside their directory) or full")
	flags.StringVar(&f.log, "log", "", "also write every event to this file, a line each")
	flags.StringVar(&f.scenario, "scenario", "", "what the scripted agent plays")
	complete(cmd, "access", "read", "edit", "full")
	addAgentFlags(cmd, f.runFlags)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd) }
	return cmd
}

func (f *serveFlags) run(cmd *cobra.Command) error {
	if f.parallel < 1 || f.parallel > serve.MaxParallel {
		return fmt.Errorf("--parallel %d: expected a number from 1 to %d", f.parallel, serve.MaxParallel)
	}
	if err := f.settle(cmd); err != nil {
		return err
	}
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	path, err := f.path()
	if err != nil {
		return err
	}
	opt, done, err := f.managerOptions()
	if err != nil {
		return err
	}
	defer done()
	calls := serve.New(serve.Options{
		Manager: opt, Parallel: f.parallel, Default: session.Spec{Agent: f.agent, Model: f.model, Dir: dir, Access: f.access},
	})
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	server, err := rpc.Listen(ctx, path, calls.Methods(), rpc.Options{Refused: func(reason string) {
		fmt.Fprintln(cmd.ErrOrStderr(), "kitsoki: "+askbridge.Safe(reason))
	}})
	if err != nil {
		return listenFailure(err)
	}
	err = f.ready(cmd, path)
	if err == nil {
		<-ctx.Done()
	}
	closing, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if err = errors.Join(err, server.Close(closing)); err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	return nil
}

// path is where to listen.
func (f *serveFlags) path() (string, error) {
	if f.socket != "" {
		return filepath.Abs(f.socket)
	}
	dir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		return "", lacking("no place for the socket: %w", err)
	}
	return filepath.Join(dir, agentSocket), nil
}

// listenFailure is the exit of a server that cannot listen.
func listenFailure(err error) error {
	switch {
	case errors.Is(err, rpc.ErrInUse):
		return lacking("%w; use that one, end it, or give --socket another path", err)
	case errors.Is(err, rpc.ErrPath):
		return &exitError{code: exitUsage, err: err}
	}
	return lacking("%w", err)
}

// ready says where the server listens.
func (f *serveFlags) ready(cmd *cobra.Command, path string) error {
	if f.json {
		return printJSON(cmd.OutOrStdout(), struct {
			Listening string `json:"listening"`
			PID       int    `json:"pid"`
			Parallel  int    `json:"parallel"`
		}{path, os.Getpid(), f.parallel})
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), "listening on "+askbridge.Safe(path))
	return err
}
