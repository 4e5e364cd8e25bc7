package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/tui/cells"
)

// inboxFlags are the flags of kitsoki inbox.
type inboxFlags struct {
	all, json, watch bool
	format, show     string
	host             *string
}

func newInbox() *cobra.Command {
	f := &inboxFlags{}
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "List the open asks of all running kitsoki",
		Long: `inbox lists what waits for you in every running kitsoki of yours, what runs out first at the top. An
ask is answered where it is shown, or from here: kitsoki answer ID.

--format is a line for a status bar: "tmux", or a Go template of .Asks .Proposals .Guests .Running .Failed .Idle .Oldest
.Left .Who .Question. It prints nothing while no ask is open, and never colours or escapes.

Exit codes: 0 done, also when nothing waits; 2 the command line was not understood; 3 the machine named by --host
could not be reached, or --show found no such ask.`,
		Example: `  kitsoki inbox
  kitsoki inbox --watch
  kitsoki inbox --show 3f2a
  set -g status-right '#(kitsoki inbox --format tmux)'`,
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "also what runs, has failed, or is idle")
	flags.BoolVar(&f.json, "json", false, "print JSON, one object a line; with --watch, one an event")
	flags.BoolVarP(&f.watch, "watch", "w", false, "go on until it is ended")
	flags.StringVar(&f.format, "format", "", "tmux, or a template: one line for a status bar")
	flags.StringVar(&f.show, "show", "", "show one ask whole, by its id or the beginning of it")
	f.host = addHost(cmd)
	cmd.MarkFlagsMutuallyExclusive("format", "show", "watch")
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd) }
	return cmd
}

func (f *inboxFlags) run(cmd *cobra.Command) error {
	var line *template.Template
	if f.format != "" {
		var err error
		if line, err = statusLine(f.format); err != nil {
			return fmt.Errorf("--format: %w", err)
		}
	}
	r, err := reach(cmd.Context(), *f.host)
	if err != nil {
		return err
	}
	defer r.close()
	switch {
	case f.show != "":
		return f.showOne(cmd, r)
	case f.watch:
		return f.follow(cmd, r)
	}
	rows := f.rows(cmd.Context(), r, cmd.ErrOrStderr())
	if line != nil {
		return printStatus(cmd.OutOrStdout(), line, rows)
	}
	return f.print(cmd.OutOrStdout(), rows)
}

// inboxRow is a row of all processes together.
type inboxRow struct {
	Short string `json:"id,omitempty"` // what answer takes
	control.Row
	LeftMS int64  `json:"remaining_ms,omitempty"`
	Host   string `json:"host,omitempty"`
}

// rows are the work of all: open asks first, what runs out soonest at the top.
func (f *inboxFlags) rows(ctx context.Context, r *reached, warn io.Writer) []inboxRow {
	now := time.Now()
	var rows []inboxRow
	for _, some := range each(ctx, r.all(ctx), warn, func(ctx context.Context, c *control.Client) ([]control.Row, error) { return c.Work(ctx) }) {
		for _, row := range some {
			rows = append(rows, f.row(row, now))
		}
	}
	slices.SortStableFunc(rows, func(a, b inboxRow) int {
		switch {
		case a.Deadline != nil && b.Deadline != nil:
			return a.Deadline.Compare(*b.Deadline)
		case (a.Deadline != nil) != (b.Deadline != nil):
			if a.Deadline != nil {
				return -1
			}
			return 1
		}
		return slices.Index(workOrder(), a.Kind) - slices.Index(workOrder(), b.Kind)
	})
	var ids []string
	for i := range rows {
		rows[i].Priority = i + 1
		if rows[i].ID != "" {
			ids = append(ids, rows[i].ID)
		}
	}
	for i := range rows {
		rows[i].Short = shortAsk(rows[i].ID, ids)
	}
	return rows
}

func workOrder() []string {
	return []string{control.RowQuestion, control.RowFailed, control.RowRunning, control.RowIdle}
}

func (f *inboxFlags) row(row control.Row, now time.Time) inboxRow {
	out := inboxRow{Row: row, Host: *f.host}
	if row.Deadline != nil {
		out.LeftMS = row.Deadline.Sub(now).Milliseconds()
	}
	return out
}

// minShort is how long a short id is at least, so that it stays unique for a while.
const minShort = 4

// shortAsk is the beginning of an id that no other one of the list has.
func shortAsk(id string, all []string) string {
	n := min(minShort, len(id))
	for _, other := range all {
		if other == id {
			continue
		}
		same := 0
		for same < len(id) && same < len(other) && id[same] == other[same] {
			same++
		}
		n = max(n, min(same+1, len(id)))
	}
	return id[:n]
}

func (f *inboxFlags) print(out io.Writer, rows []inboxRow) error {
	if f.json {
		for _, row := range rows {
			if row.Kind != control.RowQuestion && !f.all {
				continue
			}
			if err := printJSON(out, row); err != nil {
				return err
			}
		}
		return nil
	}
	_, err := io.WriteString(out, f.table(rows, widthOf(out)))
	return err
}

// widthOf is how many cells a line of a terminal has; 0: it is none.
func widthOf(out any) int {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(file.Fd()) {
		return 0
	}
	w, _, err := term.GetSize(file.Fd())
	if err != nil {
		return 0
	}
	return w
}

// table draws rows, each in one line of the width; 0: as long as they are.
func (f *inboxFlags) table(rows []inboxRow, width int) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	n, hidden := 0, 0
	for _, row := range rows {
		if row.Kind != control.RowQuestion && !f.all {
			hidden++
			continue
		}
		if n++; n == 1 {
			fmt.Fprintln(table, "ID\tKIND\tWHO\tSESSION\tAGE\tLEFT\tQUESTION")
		}
		id, left, what := "-", "-", "-"
		if row.Kind == control.RowQuestion {
			id, left, what = shown(row.Short), clock(row.LeftMS), headOf(row.Row)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", id, kindWord(row.Row), row.Who, row.Title, clock(row.AgeMS), left, what)
	}
	_ = table.Flush() // a strings.Builder takes everything
	if n == 0 {
		text.WriteString("no ask is open")
		if hidden > 0 {
			text.WriteString("; --all shows what else goes on")
		}
		text.WriteString("\n")
	}
	if width <= 0 {
		return text.String()
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i, line := range lines {
		lines[i] = cells.Cut(line, width-1)
	}
	return strings.Join(lines, "\n") + "\n"
}

func kindWord(row control.Row) string {
	switch {
	case row.Kind != control.RowQuestion:
		return row.Kind
	case row.Guest:
		return "guest"
	}
	return string(row.Ask)
}

// headOf is what a row asks, in one line.
func headOf(row control.Row) string {
	if len(row.Questions) == 0 {
		return ""
	}
	text := strings.Join(strings.Fields(row.Questions[0]), " ")
	if row.Headers[0] != "" {
		text = row.Headers[0] + ": " + text
	}
	if n := len(row.Questions); n > 1 {
		text += fmt.Sprintf(" (and %d more)", n-1)
	}
	return text
}

// clock is a time in minutes and seconds.
func clock(ms int64) string {
	s := max(0, ms/1000)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// status is what a line of a status bar can say.
type status struct {
	Asks, Proposals, Guests, Running, Failed, Idle int

	Oldest, Left  string // of the asks: how old the oldest is, and when the first one runs out
	Who, Question string // of the one that runs out first; safe text, which a status bar may read marks of its own in
}

// statusLine reads a template, or the name of one.
func statusLine(format string) (*template.Template, error) {
	if format == "tmux" {
		format = `{{.Asks}} {{if eq .Asks 1}}ask{{else}}asks{{end}} · oldest {{.Oldest}}`
	}
	t, err := template.New("format").Parse(format)
	if err == nil {
		err = t.Execute(io.Discard, status{})
	}
	return t, err
}

func printStatus(out io.Writer, line *template.Template, rows []inboxRow) error {
	var st status
	oldest := int64(0)
	for _, row := range rows {
		switch row.Kind {
		case control.RowQuestion:
			if st.Asks++; st.Asks == 1 {
				st.Left, st.Who, st.Question = clock(row.LeftMS), row.Who, headOf(row.Row)
			}
			if row.Ask == host.KindProposal {
				st.Proposals++
			}
			if row.Guest {
				st.Guests++
			}
			oldest = max(oldest, row.AgeMS)
		case control.RowRunning:
			st.Running++
		case control.RowFailed:
			st.Failed++
		case control.RowIdle:
			st.Idle++
		}
	}
	if st.Asks == 0 {
		return nil
	}
	st.Oldest = clock(oldest)
	var text strings.Builder
	if err := line.Execute(&text, st); err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	_, err := fmt.Fprintln(out, strings.Join(strings.Fields(text.String()), " "))
	return err
}

var errNoAsk = errors.New("no open ask has this id")
