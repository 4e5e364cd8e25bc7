package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/trace"
)

// list shows a line a session, the newest at the bottom.
func (f *traceFlags) list(out io.Writer, all []trace.Stored) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if !f.json {
		fmt.Fprintln(table, "SESSION\tSTARTED\tSTATE\tAGENT\tTURNS\tASKS\tCOST")
	}
	for _, s := range all {
		sum, err := trace.Summarise(s)
		switch {
		case f.json:
			if err := printJSON(out, sum); err != nil {
				return err
			}
		case err != nil:
			fmt.Fprintf(table, "%s\t%s\t\t\t\t\t\n", shown(s.ID), shown(err.Error()))
		default:
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t$%.4f\n", shown(sum.ID), sum.Started.Local().Format("2006-01-02 15:04"),
				stateWord(sum), shown(cmp.Or(sum.Agent, "?")), turnsWord(sum), asksWord(sum), sum.CostUSD)
		}
	}
	return table.Flush()
}

func stateWord(s trace.Summary) string {
	if s.Lost > 0 {
		return string(s.State) + ", incomplete"
	}
	return string(s.State)
}

func turnsWord(s trace.Summary) string {
	if s.Failed > 0 {
		return fmt.Sprintf("%d (%d failed)", s.Turns, s.Failed)
	}
	return fmt.Sprint(s.Turns)
}

// asksWord counts asks by how they ended.
func asksWord(s trace.Summary) string {
	if s.Asks == 0 {
		return "0"
	}
	parts, ended := []string{}, 0
	for _, o := range slices.Sorted(maps.Keys(s.Outcomes)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.Outcomes[o], askbridge.Safe(outcomeWords(o))))
		ended += s.Outcomes[o]
	}
	if open := s.Asks - ended; open > 0 {
		parts = append(parts, fmt.Sprintf("%d without an end", open))
	}
	return strings.Join(parts, ", ")
}

func outcomeWords(o host.Outcome) string { return strings.ReplaceAll(string(o), "_", " ") }
