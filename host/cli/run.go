package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/agent/scripted"
	"example.com/kitsoki/host/gate"
	"example.com/kitsoki/host/gate/wall"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/settings"
	"example.com/kitsoki/host/trace"
	"example.com/kitsoki/tui"
	"example.com/kitsoki/tui/linemode"
	"example.com/kitsoki/tui/styles"
)

// closeWithin bounds how long the program waits for its agent and asks to end.
const closeWithin = 8 * time.Second

// runFlags are the flags of the commands that start the terminal.
type runFlags struct {
	agent    string
	model    string
	dir      string
	access   string
	worktree string
	onHangup string // hangupStay or hangupEnd
	detach   bool   // without a terminal
	resume   string // an id, the beginning of one, or last
	goOn     bool   // with the newest session of the directory
	wait     time.Duration
	log      string
	plain    bool
	theme    string
	scenario string
	hint     string
	screen   tui.Options // what the settings say of the screen
	others   bool        // asks of other kitsoki are shown too
}

// addRunFlags adds the flags that every command with a terminal has.
func addRunFlags(cmd *cobra.Command) *runFlags {
	f := &runFlags{agent: "scripted"}
	addSessionFlags(cmd, f)
	flags := cmd.Flags()
	flags.DurationVar(&f.wait, "ask-wait", host.DefaultWait, "how long an ask waits for your answer")
	flags.BoolVar(&f.plain, "plain", false, "lines of text instead of a screen (what happens anyway without a terminal)")
	flags.BoolVarP(&f.goOn, "continue", "c", false, "take the newest session of the directory up again")
	flags.StringVar(&f.resume, "resume", "", "take a session up again, by its id or the beginning of it; kitsoki sessions lists them")
	cmd.MarkFlagsMutuallyExclusive("continue", "resume", "worktree")
	_ = cmd.RegisterFlagCompletionFunc("resume", completeSessions)
	flags.StringVar(&f.onHangup, "on-hangup", hangupStay, "when the terminal is lost while something runs: stay (go on, to be attached to) or end")
	complete(cmd, "on-hangup", settings.Hangups()...)
	flags.StringVar(&f.theme, "theme", "auto", "how the screen looks: "+strings.Join(styles.Themes(), ", "))
	complete(cmd, "theme", styles.Themes()...)
	return f
}

// addSessionFlags adds the flags of every command that opens a session.
func addSessionFlags(cmd *cobra.Command, f *runFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "cwd", "", "the agent's working directory (default: this one)")
	flags.StringVar(&f.worktree, "worktree", "", "make a git worktree of that directory with this name, and work there")
	flags.StringVar(&f.access, "access", string(agent.Gated), "what the agent may do: read, ask (you allow each change), edit (inside its directory) or full")
	flags.StringVar(&f.log, "log", "", "also write every event to this file, a line each")
	complete(cmd, "access", settings.Accesses()...)
}

// addAgentFlags adds the flags that choose the agent.
func addAgentFlags(cmd *cobra.Command, f *runFlags) {
	cmd.Flags().StringVar(&f.agent, "agent", "claude", "which agent to run: "+strings.Join(settings.Agents(), " or "))
	cmd.Flags().StringVar(&f.model, "model", "", "the agent's model, as the agent names it")
	complete(cmd, "agent", settings.Agents()...)
}

// complete offers fixed values for a flag on the command line.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values, cobra.ShellCompDirectiveNoFileComp
	}) // fails for unknown flags only
}

func newRun() *cobra.Command {
	cmd := &cobra.Command{Use: "run", Short: "Start the terminal (what kitsoki does without a command)"}
	f := addRunFlags(cmd)
	addAgentFlags(cmd, f)
	addDetach(cmd, f)
	cmd.RunE = f.runOrDetach
	return cmd
}

// run puts the program together, shows it, and takes it apart again.
func (f *runFlags) run(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	p, err := f.start(cmd.Context())
	if err != nil {
		return err
	}
	signals, release := catch()
	defer release()
	s, err := f.open(cmd, p.manager)
	if err != nil {
		return errors.Join(err, p.close(cmd.Context(), host.HostClosing))
	}
	if f.drawable(cmd) {
		p.manager.Board().Declare(nil) // until the process ends: no moment without presence when the terminal is lost
	}
	exit, err := f.show(cmd, f.terminalOptions(p), s)
	why := host.HostClosing
	if exit.Lost {
		why = host.NoOperator
	}
	if err == nil && f.goesOn(p, exit) {
		p.manager.Board().Declare(nil)
		if err = p.leaveTerminal(cmd.OutOrStdout(), exit); err == nil {
			exit.Signal, why = p.linger(signals, f.screen.Signals, false), host.HostClosing
		}
	}
	return f.finish(cmd, p, exit, err, why)
}

// goesOn reports whether work goes on without the terminal: because the operator says so, or because the terminal was
// lost. A signal that ends the process ends it, whatever the terminal does.
func (f *runFlags) goesOn(p *process, exit ending) bool {
	lost := exit.Lost && (exit.Signal == nil || exit.Signal == syscall.SIGHUP)
	busy, _ := p.busy()
	return exit.Detached || (lost && busy && f.onHangup == hangupStay)
}

// check reads the settings and looks at what can be wrong with the flags before anything is made.
func (f *runFlags) check(cmd *cobra.Command) error {
	if err := f.settle(cmd); err != nil {
		return err
	}
	if !slices.Contains(styles.Themes(), f.theme) {
		return fmt.Errorf("there is no theme %q; use one of %s", f.theme, strings.Join(styles.Themes(), ", "))
	}
	if f.wait <= 0 {
		return fmt.Errorf("--ask-wait %s: an ask needs some time; try 5m", f.wait)
	}
	if !slices.Contains(settings.Hangups(), f.onHangup) {
		return fmt.Errorf("--on-hangup %s: use %s", f.onHangup, strings.Join(settings.Hangups(), " or "))
	}
	return nil
}

// finish takes the program apart and says how it ended.
func (f *runFlags) finish(cmd *cobra.Command, p *process, exit ending, err error, why host.Outcome) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err = errors.Join(err, p.close(ctx, why))
	switch {
	case exit.Hung:
		return &exitError{code: exitAborted, err: errQuiet} // nothing can be said on a terminal that takes nothing
	case err != nil:
		return &exitError{code: exitFailed, err: err}
	case exit.Signal != nil:
		return &exitError{code: exitAborted, err: fmt.Errorf("ended by %s", exit.Signal)}
	case exit.Lost:
		return &exitError{code: exitAborted, err: errors.New("the terminal is gone")}
	case exit.failed:
		return &exitError{code: exitFailed, err: errQuiet} // it was said
	}
	return farewell(cmd.OutOrStdout(), p.manager.Sessions())
}

// managerOptions are what a manager is made of. done ends what they started.
func (f *runFlags) managerOptions() (opt session.ManagerOptions, done func(), err error) {
	exe, err := os.Executable()
	if err != nil {
		return opt, nil, lacking("this program does not know where it is: %w", err)
	}
	self := []string{exe}
	if f.resume == "" && !f.goOn {
		if _, err := f.command(self, f.agent); err != nil {
			return opt, nil, err // before anything is made
		}
	}
	runtimeDir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		return opt, nil, lacking("no place for the agent's socket: %w", err)
	}
	if _, err := askbridge.Sweep(runtimeDir); err != nil {
		return opt, nil, lacking("what a killed kitsoki left behind could not be removed: %w", err)
	}
	logger, closeLog, err := openLog(f.log)
	if err != nil {
		return opt, nil, err
	}
	dispatcher := &agent.Dispatcher{Self: self, Runtime: runtimeDir, Env: os.Environ()}
	home, _ := os.UserHomeDir() // where there is none, none of its secrets are
	return session.ManagerOptions{
		Runner: dispatcher,
		Gate: gate.Options{
			Self: self, Home: home, Level: wall.Probe().Level(),
			Exec: func(ctx context.Context, e gate.Execution) (int, error) {
				return dispatcher.Exec(ctx, agent.Execution(e))
			},
		},
		State:  sessionsDir(),
		Wait:   f.wait,
		Log:    logger,
		Agent:  func(name string) (agent.Command, error) { return f.command(self, name) },
		Agents: settings.Agents(),
	}, closeLog, nil
}

// open opens the session that the flags name: a new one, or one of before.
func (f *runFlags) open(cmd *cobra.Command, m *session.Manager) (*session.Session, error) {
	spec := session.Spec{Agent: f.agent, Model: f.model, Dir: f.dir, Access: f.access, Worktree: f.worktree}
	if f.resume == "" && !f.goOn {
		return m.OpenSession(cmd.Context(), spec)
	}
	for flag, field := range map[string]*string{"agent": &spec.Agent, "model": &spec.Model, "access": &spec.Access} {
		if !cmd.Flags().Changed(flag) {
			*field = "" // what the session had
		}
	}
	id := f.resume
	if f.goOn {
		var err error
		if id, err = newestIn(sessionsDir(), f.dir); err != nil {
			return nil, err
		}
	}
	s, err := m.Resume(cmd.Context(), id, spec)
	if errors.Is(err, trace.ErrNoSession) || errors.Is(err, trace.ErrAmbiguous) {
		return nil, fmt.Errorf("%w; kitsoki sessions lists them", err)
	}
	if errors.Is(err, session.ErrInUse) {
		return nil, &exitError{code: exitFailed, err: fmt.Errorf("%w, or put this terminal onto it: kitsoki sessions attach %s", err, id)}
	}
	return s, err
}

// ending is how the terminal, with or without a screen, came to its end.
type ending struct {
	tui.Exit
	failed bool // line mode alone: the last turn failed
}

// show runs the terminal that fits: a screen where one can be drawn and is wanted, else lines.
func (f *runFlags) show(cmd *cobra.Command, opt tui.Options, s session.Client) (ending, error) {
	in, out := cmd.InOrStdin(), cmd.OutOrStdout()
	if f.drawable(cmd) {
		exit, err := tui.Run(cmd.Context(), opt, tui.Terminal{In: in, Out: out}, s)
		return ending{Exit: exit}, err
	}
	return lines(cmd, s, isTerminal(in))
}

// lines runs line mode. A terminal on its input can be lost.
func lines(cmd *cobra.Command, s session.Client, terminal bool) (ending, error) {
	signals, release := catch()
	defer release()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	came := make(chan os.Signal, 1)
	go func() {
		select {
		case sig := <-signals:
			came <- sig
			stop()
		case <-ctx.Done():
		}
	}()
	exit, err := linemode.Run(ctx, linemode.Options{Client: s, In: cmd.InOrStdin(), Out: cmd.OutOrStdout()})
	end := ending{failed: exit.Failed}
	select {
	case end.Signal = <-came:
		end.Lost = terminal && end.Signal == syscall.SIGHUP
	default:
	}
	if terminal && errors.Is(err, syscall.EIO) {
		end.Lost, err = true, nil
	}
	return end, err
}

// drawable reports whether there is a terminal that a screen can be drawn on, and is wanted.
func (f *runFlags) drawable(cmd *cobra.Command) bool {
	return !f.plain && isTerminal(cmd.InOrStdin()) && isTerminal(cmd.OutOrStdout()) && os.Getenv("TERM") != "dumb"
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// farewell says where the sessions are kept, once the screen is gone: those in which something was done.
func farewell(w io.Writer, all []*session.Session) error {
	for _, s := range all {
		snap, err := s.Snapshot(context.Background())
		if err != nil {
			return err
		}
		if snap.Turn == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "session %s · $%.4f · trace %s\n", snap.ID, snap.CostUSD, s.TracePath()); err != nil {
			return err
		}
	}
	return nil
}

// command finds an agent by its name. self is how to start this program again.
func (f *runFlags) command(self []string, name string) (agent.Command, error) {
	switch name {
	case "claude":
		cmd := agent.Claude(os.Getenv)
		if err := cmd.Find(); err != nil {
			return cmd, lacking("%w (%s can name another); see the whole job without it: kitsoki demo", err, agent.EnvClaudeBin)
		}
		return cmd, nil
	case "scripted":
		scenario, err := scenarioPath(f.scenario)
		if err != nil {
			return agent.Command{}, err
		}
		return agent.Scripted(self, scenario), nil
	}
	return agent.Command{}, fmt.Errorf("agent %q is not known; use %s", name, strings.Join(settings.Agents(), " or "))
}

// scenarioPath makes the path of a scenario file absolute, because the agent runs in another directory.
func scenarioPath(name string) (string, error) {
	if err := scripted.Check(name); err != nil {
		return "", &exitError{code: exitUsage, err: err}
	}
	if name == "" || slices.Contains(scripted.Names(), name) {
		return name, nil
	}
	return filepath.Abs(name)
}
