package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
)

// sessionsFlags are the flags of kitsoki sessions.
type sessionsFlags struct {
	dir  string
	here bool
	json bool
	cost bool
}

func newSessions() *cobra.Command {
	f := &sessionsFlags{}
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions that can be taken up again, and what they cost",
		Long: `sessions lists what is kept on this machine, the newest at the bottom. Take one up again with
kitsoki --resume ID, or the newest of this directory with kitsoki --continue. One that runs now, live (with a terminal) or
detached (without), takes another terminal with kitsoki sessions attach ID.`,
		Example: `  kitsoki sessions
  kitsoki sessions --here
  kitsoki sessions --cost
  kitsoki sessions --json`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.here, "here", false, "only those of this directory")
	flags.StringVar(&f.dir, "cwd", "", "only those of that directory")
	flags.BoolVar(&f.cost, "cost", false, "what was spent, a line a day")
	flags.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	cmd.MarkFlagsMutuallyExclusive("here", "cwd")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), cmd.OutOrStdout()) }
	cmd.AddCommand(newAttach(), newStop())
	return cmd
}

// keptSession is a session as the list shows it.
type keptSession struct {
	trace.Summary
	session.Left
	PID      int  `json:"pid,omitempty"`      // of the process that it runs in now
	Detached bool `json:"detached,omitempty"` // which has no terminal
}

func (f *sessionsFlags) run(ctx context.Context, out io.Writer) error {
	only := ""
	if f.here || f.dir != "" {
		var err error
		if only, err = filepath.Abs(f.dir); err != nil {
			return err
		}
	}
	all, err := trace.Sessions(sessionsDir())
	if err != nil {
		return lacking("the sessions cannot be read: %w", err)
	}
	if f.cost {
		return f.days(out, all, only)
	}
	live, done, err := liveSessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	n := 0
	for _, s := range all {
		sum, err := trace.Summarise(s)
		if err != nil || (only != "" && sum.Dir != only) {
			continue // kitsoki trace tells of those that cannot be read
		}
		left, err := session.LeftIn(filepath.Dir(s.Path))
		if err != nil {
			left.Title = "?"
		}
		state, kept := stateWord(sum), keptSession{Summary: sum, Left: left}
		if i := slices.IndexFunc(live, func(l liveSession) bool { return l.ID == sum.ID }); i >= 0 {
			state, kept.PID, kept.Detached = live[i].where(), live[i].pid, live[i].detached
		}
		if f.json {
			if err := printJSON(out, kept); err != nil {
				return err
			}
			continue
		}
		if n == 0 {
			fmt.Fprintln(table, "SESSION\tLAST\tSTATE\tTITLE\tDIRECTORY\tTURNS\tCOST\tLEFT")
		}
		n++
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t$%.4f\t%s\n", shown(sum.ID), sum.Last.Local().Format("2006-01-02 15:04"), state,
			cmp.Or(left.Title, shown(filepath.Base(sum.Dir))), shown(sum.Dir), turnsWord(sum), sum.CostUSD, leftWords(left))
	}
	if n == 0 && !f.json {
		fmt.Fprintln(out, "no session is kept here; kitsoki starts one, kitsoki demo shows one")
	}
	return table.Flush()
}

// leftWords say what waits in a session.
func leftWords(l session.Left) string {
	var parts []string
	if l.Asks > 0 {
		parts = append(parts, fmt.Sprintf("%d open asks", l.Asks))
	}
	if l.Queued > 0 {
		parts = append(parts, fmt.Sprintf("%d queued", l.Queued))
	}
	if l.Draft {
		parts = append(parts, "a draft")
	}
	return cmp.Or(strings.Join(parts, ", "), "-")
}

// spent is what was spent on a day, by the operator's calendar.
type spent struct {
	Day      string  `json:"day"`
	Sessions int     `json:"sessions"`
	Turns    int     `json:"turns"`
	Tokens   int64   `json:"tokens"`
	CostUSD  float64 `json:"cost_usd"`
}

func (f *sessionsFlags) days(out io.Writer, all []trace.Stored, only string) error {
	days := map[string]*spent{}
	for _, s := range all {
		turns, dir, err := trace.Turns(s)
		if err != nil || (only != "" && dir != only) {
			continue
		}
		seen := map[string]bool{}
		for _, t := range turns {
			day := t.Time.Local().Format("2006-01-02")
			d := days[day]
			if d == nil {
				d = &spent{Day: day}
				days[day] = d
			}
			if !seen[day] {
				seen[day] = true
				d.Sessions++
			}
			d.Turns++
			d.Tokens += t.Tokens
			d.CostUSD += t.CostUSD
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	total := spent{Day: "total"}
	for i, day := range slices.Sorted(maps.Keys(days)) {
		d := days[day]
		total.Turns += d.Turns
		total.Tokens += d.Tokens
		total.CostUSD += d.CostUSD
		if f.json {
			if err := printJSON(out, d); err != nil {
				return err
			}
			continue
		}
		if i == 0 {
			fmt.Fprintln(table, "DAY\tSESSIONS\tTURNS\tTOKENS\tCOST")
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t$%.4f\n", d.Day, d.Sessions, d.Turns, d.Tokens, d.CostUSD)
	}
	if !f.json {
		fmt.Fprintf(table, "total\t\t%d\t%d\t$%.4f\n", total.Turns, total.Tokens, total.CostUSD)
	}
	return table.Flush()
}

// newestIn is the newest session of a directory that is not open.
func newestIn(state, dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	all, err := trace.Sessions(state)
	if err != nil {
		return "", lacking("the sessions cannot be read: %w", err)
	}
	live := ""
	for _, s := range slices.Backward(all) {
		sum, err := trace.Summarise(s)
		switch {
		case err != nil || sum.Dir != abs:
		case trace.Live(s.Path):
			live = cmp.Or(live, s.ID)
		case sum.Turns > 0 || hasLeft(s):
			return s.ID, nil
		}
	}
	if live != "" {
		return "", &exitError{code: exitFailed, err: fmt.Errorf("session %s: %w, and no other one of %s could go on; put this terminal onto it: kitsoki sessions attach %s", live, session.ErrInUse, askbridge.Safe(abs), live)}
	}
	return "", &exitError{code: exitUsage, err: errors.New("no session of " + askbridge.Safe(abs) + " is kept that could go on; kitsoki sessions lists them all")}
}

func hasLeft(s trace.Stored) bool {
	left, err := session.LeftIn(filepath.Dir(s.Path))
	return err == nil && (left.Draft || left.Queued > 0)
}

// completeSessions offers the ids of the sessions that are kept.
func completeSessions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	f := traceFlags{state: sessionsDir()}
	return f.completions(), cobra.ShellCompDirectiveNoFileComp
}
