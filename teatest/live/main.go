// Command live gives a real model small tasks, half of which lack a decision that only the operator has, and counts how
// often it asks, how well-formed its asks are, and what it does after each outcome. It runs the operator's own claude
// with the operator's own account, costs money up to a cap, and is only ever started by hand: make live.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/cli"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "mcp-operator-ask" {
		os.Exit(cli.Main(os.Args[1:])) // this program is the agent's grandchild too
	}
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("live", flag.ContinueOnError)
	most := flags.Float64("most", 0, "the most that all runs may cost together, in dollars; has to be given")
	model := flags.String("model", "", "the model; empty: the agent's default")
	asJSON := flags.Bool("json", false, "print each run as a JSON object")
	only := flags.String("only", "", "only tasks whose name has this in it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case os.Getenv("CI") != "":
		return errors.New("this spends an operator's money and is not for CI")
	case *most <= 0:
		return errors.New("say what it may cost at most, in dollars: make live MOST=1")
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	runtimeDir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		return err
	}
	cmd := agent.Claude(os.Getenv)
	if err := cmd.Find(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	l := &live{
		dispatcher: &agent.Dispatcher{Self: []string{exe}, Runtime: runtimeDir, Env: os.Environ()}, cmd: cmd, model: *model,
		left: *most,
	}
	var runs []result
	for _, t := range tasks() {
		if !strings.Contains(t.Name, *only) {
			continue
		}
		for _, o := range []host.Outcome{host.Answered, host.Declined, host.TimedOut, host.NoOperator} {
			if ctx.Err() != nil || l.left < smallest {
				break
			}
			r := l.one(ctx, t, o)
			runs = append(runs, r)
			if *asJSON {
				if err := json.NewEncoder(out).Encode(r); err != nil {
					return err
				}
			} else if _, err := fmt.Fprintf(out, "%s, %s: %d asks, $%.4f\n", t.Name, o, r.Asks, r.CostUSD); err != nil {
				return err
			}
		}
	}
	if *asJSON {
		return ctx.Err()
	}
	if l.left < smallest {
		if _, err := fmt.Fprintf(out, "the cap of $%.2f is reached: what follows counts what came before\n", *most); err != nil {
			return err
		}
	}
	return errors.Join(report(out, runs), ctx.Err())
}

// report says what all runs came to.
func report(out io.Writer, runs []result) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = fmt.Fprintln(table, strings.TrimRight(fmt.Sprintln(cells...), "\n")) } // Flush has the error
	row("TASKS\tOUTCOME\tRUNS\tASKED\tASKS\tMENDED\tREFUSED\tASKED AGAIN\tFAILED\tCHANGED FILES\tCOST")
	for _, missing := range []bool{true, false} {
		for _, o := range []host.Outcome{host.Answered, host.Declined, host.TimedOut, host.NoOperator} {
			s := sum(runs, missing, o)
			if s.runs == 0 {
				continue
			}
			kind := "decision missing"
			if !missing {
				kind = "nothing missing"
			}
			row(fmt.Sprintf("%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t$%.4f", kind, o, s.runs, s.asked, s.asks, s.mended, s.refused, s.again, s.failed, s.changed, s.cost))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range runs {
		if _, err := fmt.Fprintf(out, "\n%s, %s: %s\n", r.Task, r.Outcome, askbridge.SafeText(r.Words)); err != nil {
			return err
		}
	}
	return nil
}

// total is what the runs of one kind came to.
type total struct {
	runs, asked, asks, mended, refused, again, failed, changed int
	cost                                                       float64
}

func sum(runs []result, missing bool, o host.Outcome) total {
	var s total
	for _, r := range slices.Collect(of(runs, missing, o)) {
		s.runs++
		s.asks += r.Asks
		s.mended += len(r.Mended)
		s.refused += r.Refused
		s.cost += r.CostUSD
		s.asked += count(r.Asks > 0)
		s.again += count(r.Asks > 1)
		s.failed += count(r.Error != "")
		s.changed += count(len(r.Files) > 0)
	}
	return s
}

func of(runs []result, missing bool, o host.Outcome) func(func(result) bool) {
	return func(yield func(result) bool) {
		for _, r := range runs {
			if r.Missing == missing && r.Outcome == o && !yield(r) {
				return
			}
		}
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
