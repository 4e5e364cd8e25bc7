package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/trace"
)

// traceFlags are the flags of kitsoki trace.
type traceFlags struct {
	state  string // the directory of all sessions
	follow bool
	filter []string
	json   bool
	check  bool
}

func newTrace() *cobra.Command {
	f := &traceFlags{state: sessionsDir()}
	cmd := &cobra.Command{
		Use:   "trace [SESSION]",
		Short: "Show what happened in a session: its turns, tools, asks and answers",
		Long: `Without SESSION, trace lists the sessions that are kept on this machine.

SESSION is a session's id, the beginning of one, the word last, or the path of a
trace or of a directory with traces in it.`,
		Example: `  kitsoki trace
  kitsoki trace last
  kitsoki trace last --follow
  kitsoki trace last --filter operator. --json
  kitsoki trace --check`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return f.completions(), cobra.ShellCompDirectiveDefault
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on showing what happens until the session ends")
	flags.StringArrayVar(&f.filter, "filter", nil, "only events whose name begins with this, or in which this text or id occurs")
	flags.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	flags.BoolVar(&f.check, "check", false, "say what is wrong with the trace, or with all of them; exit code 1 when something is")
	cmd.MarkFlagsMutuallyExclusive("follow", "check")
	cmd.MarkFlagsMutuallyExclusive("filter", "check")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

// sessionsDir is where the sessions of this user are kept.
func sessionsDir() string { return filepath.Join(xdg.StateHome, "kitsoki", "sessions") }

func (f *traceFlags) completions() []string {
	all, err := trace.Sessions(f.state)
	if err != nil {
		return nil
	}
	out := []string{"last"}
	for _, s := range all {
		if askbridge.Safe(s.ID) == s.ID {
			out = append(out, s.ID)
		}
	}
	return out
}

func (f *traceFlags) run(cmd *cobra.Command, args []string) error {
	out := cmd.OutOrStdout()
	if len(args) == 0 {
		if f.follow || len(f.filter) > 0 {
			return errors.New("which session? The newest one is: kitsoki trace last")
		}
		all, err := trace.Sessions(f.state)
		if err != nil {
			return fmt.Errorf("the sessions could not be listed: %w", err)
		}
		return f.several(out, all, "there is no session yet; the first one: kitsoki demo")
	}
	one, many, err := f.find(args[0])
	switch {
	case err != nil:
		return err
	case many != nil && f.follow:
		return fmt.Errorf("one session at a time can be followed; the newest one: kitsoki trace last --follow")
	case many != nil:
		return f.several(out, many, "there is no trace in "+askbridge.Safe(args[0]))
	case f.check:
		return f.checkAll(out, []trace.Stored{one})
	}
	return f.show(cmd.Context(), out, one)
}

// several lists or checks traces.
func (f *traceFlags) several(out io.Writer, all []trace.Stored, none string) error {
	if len(all) == 0 && !f.json {
		_, err := fmt.Fprintln(out, none)
		return err
	}
	if f.check {
		return f.checkAll(out, all)
	}
	return f.list(out, all)
}

// find says which trace is meant, or which ones, when it is a directory of them.
func (f *traceFlags) find(name string) (one trace.Stored, many []trace.Stored, err error) {
	one, err = trace.Find(f.state, name)
	if err == nil || errors.Is(err, trace.ErrAmbiguous) && !strings.ContainsRune(name, filepath.Separator) {
		if err != nil {
			err = fmt.Errorf("%s; type more of it", askbridge.Safe(err.Error()))
		}
		return one, nil, err
	}
	info, statErr := os.Stat(name)
	if statErr != nil {
		return one, nil, fmt.Errorf("there is no session and no file %q; see all sessions: kitsoki trace", askbridge.Safe(name))
	}
	if !info.IsDir() {
		return stored(name), nil, nil
	}
	if path := filepath.Join(name, trace.FileName); isFile(path) {
		return stored(path), nil, nil
	}
	many, err = trace.Under(name)
	if err != nil {
		return one, nil, fmt.Errorf("%s", askbridge.Safe(err.Error()))
	}
	if many == nil {
		many = []trace.Stored{}
	}
	return one, many, nil
}

// stored names the session of a file by its directory.
func stored(path string) trace.Stored {
	id := filepath.Base(path)
	if abs, err := filepath.Abs(path); err == nil && id == trace.FileName {
		id = filepath.Base(filepath.Dir(abs))
	}
	return trace.Stored{ID: id, Path: path}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
