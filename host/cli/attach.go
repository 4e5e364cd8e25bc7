package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/tui"
	"example.com/kitsoki/tui/styles"
)

// newAttach is kitsoki sessions attach, and kitsoki attach for short.
func newAttach() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "attach [ID]",
		Short: "Put this terminal onto a session that runs in another kitsoki",
		Long: `attach shows a running session of another kitsoki here: its log, its asks with what was typed into them, its queue.
Several terminals can be on one session; the first answer to an ask counts. Leaving (^C ^C) lets it go on.
Without an ID it takes the only session that runs, or the only one that has no terminal.`,
		Example: `  kitsoki sessions attach
  kitsoki sessions attach 20260102-1504`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeLive,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.plain, "plain", false, "lines of text instead of a screen (what happens anyway without a terminal)")
	flags.StringVar(&f.theme, "theme", "auto", "how the screen looks")
	complete(cmd, "theme", styles.Themes()...)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.settle(cmd); err != nil {
			return err
		}
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		return f.attach(cmd, id)
	}
	return cmd
}

func (f *runFlags) attach(cmd *cobra.Command, id string) error {
	live, done, err := liveSessions(cmd.Context())
	if err != nil {
		return err
	}
	defer done()
	one, err := pickLive(live, id)
	if err != nil {
		return err
	}
	opt := f.screen
	opt.Theme, opt.Surface, opt.Elsewhere = f.theme, control.Surface(os.Getpid()), f.elsewhere()
	opt.Apart = !one.alone
	end, err := f.show(cmd, opt, one.client.Session(one.ID))
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	if end.Hung || end.Lost {
		return &exitError{code: exitAborted, err: errQuiet}
	}
	left(cmd.OutOrStdout(), one, end.Unsent)
	if end.Signal != nil {
		return &exitError{code: exitAborted, err: fmt.Errorf("ended by %s", end.Signal)}
	}
	return nil
}

// left says what becomes of a session that a terminal has left, and gives back what is kept nowhere else.
func left(w io.Writer, l liveSession, unsent []string) {
	for _, text := range unsent {
		fmt.Fprintln(w, "not sent: "+askbridge.SafeText(text))
	}
	select {
	case <-l.client.Gone():
		fmt.Fprintf(w, "session %s is gone with process %d; kitsoki --resume %s takes it up again\n", l.ID, l.pid, l.ID)
	default:
		fmt.Fprintf(w, "session %s goes on in process %d; kitsoki sessions attach %s\n", l.ID, l.pid, l.ID)
	}
}

// newStop is kitsoki sessions stop.
func newStop() *cobra.Command {
	return &cobra.Command{
		Use:               "stop ID",
		Short:             "End a session that runs without a terminal: its asks, its turn, and its kitsoki with the last one",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeLive,
		RunE: func(cmd *cobra.Command, args []string) error {
			live, done, err := liveSessions(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			one, err := pickLive(live, args[0])
			if err != nil {
				return err
			}
			if !one.detached {
				return &exitError{code: exitFailed, err: fmt.Errorf("session %s has a terminal, of process %d; end it there", one.ID, one.pid)}
			}
			return one.stop(cmd.Context(), cmd.OutOrStdout())
		},
	}
}

// stop closes a session of a process without a terminal, which ends with its last one.
func (l liveSession) stop(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 2*closeWithin)
	defer cancel()
	if err := l.client.Session(l.ID).Close(ctx, host.HostClosing); err != nil {
		select {
		case <-l.client.Gone(): // it ended with the session, before it could say so
		default:
			return &exitError{code: exitFailed, err: fmt.Errorf("session %s: %w", l.ID, err)}
		}
	}
	snaps, err := l.client.Sessions(ctx)
	if err == nil && len(snaps) > 0 {
		fmt.Fprintf(w, "session %s is closed; %d more in process %d\n", l.ID, len(snaps), l.pid)
		return nil
	}
	_ = l.client.Stop(ctx) // it may have ended by itself
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for runs(l.pid) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return &exitError{code: exitFailed, err: fmt.Errorf("session %s is closed, and process %d did not end in time", l.ID, l.pid)}
		}
	}
	fmt.Fprintf(w, "session %s is closed, and process %d has ended\n", l.ID, l.pid)
	return nil
}

// runs reports whether a process is there and has not ended. One that nobody has asked about since its end is there still.
func runs(pid int) bool {
	if unix.Kill(pid, 0) != nil {
		return false
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // where there is none, it runs
	name := strings.LastIndexByte(string(stat), ')')          // which can hold anything
	return name < 0 || !strings.HasPrefix(string(stat[name+1:]), " Z")
}

// completeLive offers the sessions that run now.
func completeLive(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	live, done, err := liveSessions(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer done()
	var out []string
	for _, l := range live {
		out = append(out, l.ID+"\t"+l.Title)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// terminalOptions are those of the screen that a process has of its own.
func (f *runFlags) terminalOptions(p *process) tui.Options {
	opt := f.screen
	opt.Opener, opt.Hint, opt.Theme, opt.Elsewhere, opt.Detach = p.manager, f.hint, f.theme, f.elsewhere(), true
	return opt
}

// elsewhere brings the asks of every other kitsoki to a screen; nil where they are not wanted, or cannot be found.
func (f *runFlags) elsewhere() func(tui.ShowElsewhere) func() {
	runtimeDir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil || !f.others {
		return nil
	}
	return func(show tui.ShowElsewhere) func() {
		o := control.Follow(context.Background(), runtimeDir, control.Surface(os.Getpid()), func(ctx context.Context, c *control.Client, a host.Ask, q control.Question) {
			show(ctx, a, tui.Origin{Title: q.Title, PID: c.PID(), Session: c.Session(q.SessionID)})
		})
		return o.Close
	}
}
