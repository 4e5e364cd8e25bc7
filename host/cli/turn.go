package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
)

// turnFlags are the flags of kitsoki turn, beside those that it shares with run.
type turnFlags struct {
	*runFlags
	verb     string
	schema   string
	session  string
	effort   string
	system   string
	budget   float64
	maxTurns int
	tools    []string
	limit    time.Duration
	json     bool
}

func newTurn() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "turn [PROMPT]",
		Short: "Run one turn of an agent without an operator, for scripts",
		Long: `turn runs an agent once and prints its last words, or its value. Nobody can be asked: the agent is told so, has no
tool for it, and states what it assumed. Without PROMPT, or with -, it is read from standard input.

Exit codes: 0 done, 1 the agent failed, 2 usage, 3 something the machine lacks, 124 its time was used up,
130 stopped by a signal.`,
		Example: `  kitsoki turn "What does this repository do?" --verb ask
  git diff | kitsoki turn - --verb ask --system "Review this change."
  kitsoki turn "How risky is this change?" --verb decide --schema risk.json --json
  kitsoki turn "Go on" --session last`,
		Args: cobra.MaximumNArgs(1),
	}
	f := &turnFlags{runFlags: &runFlags{agent: "claude"}}
	flags := cmd.Flags()
	flags.StringVar(&f.verb, "verb", string(agent.Converse), "ask (reads, answers in prose), decide (returns a value), task (changes files) or converse")
	flags.StringVar(&f.schema, "schema", "", "a file with the JSON schema of decide")
	flags.StringVar(&f.session, "session", "", "go on with a session, by its id or the beginning of it")
	flags.StringVar(&f.effort, "effort", "", "how much the model thinks: "+strings.Join(agent.Efforts(), ", "))
	flags.StringVar(&f.system, "system", "", "added to the agent's system prompt")
	flags.Float64Var(&f.budget, "budget", 0, "the most that it may cost, in dollars")
	flags.IntVar(&f.maxTurns, "max-turns", 0, "the most turns that the agent may take")
	flags.DurationVar(&f.limit, "limit", agent.DefaultLimit, "the most time that it may take")
	flags.StringSliceVar(&f.tools, "tools", nil, "the agent's own tools that it keeps, such as Read,Grep (default: all that its access has)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object instead of the agent's words")
	flags.StringVar(&f.scenario, "scenario", "", "what the scripted agent plays")
	addSessionFlags(cmd, f.runFlags)
	addAgentFlags(cmd, f.runFlags)
	complete(cmd, "verb", "ask", "decide", "task", "converse")
	complete(cmd, "effort", agent.Efforts()...)
	_ = cmd.RegisterFlagCompletionFunc("session", completeSessions)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

func (f *turnFlags) run(cmd *cobra.Command, args []string) error {
	in, err := f.input(cmd, args)
	if err != nil {
		return err
	}
	if err := f.settle(cmd); err != nil {
		return err
	}
	f.resume = f.session
	p, err := f.start(cmd.Context())
	if err != nil {
		return err
	}
	s, err := f.open(cmd, p.manager)
	if err != nil {
		return errors.Join(err, p.close(cmd.Context(), host.HostClosing))
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	stopProgress := progress(cmd.ErrOrStderr(), s)
	report, err := s.RunReport(ctx, in)
	stopProgress()
	closing, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if closeErr := p.close(closing, host.HostClosing); closeErr != nil && err == nil {
		err = closeErr
	}
	if printErr := printTurn(cmd.OutOrStdout(), report, f.json); printErr != nil {
		return printErr
	}
	if err == nil && report.Outcome == session.DeniedTurn {
		return &exitError{code: exitFailed, err: fmt.Errorf("the agent came to its end, but %d of its actions were denied: nobody can be asked in this run; "+
			"--access edit lets it change files in its directory", report.Denials)}
	}
	return exitOf(ctx, err)
}

// input reads what the turn works off.
func (f *turnFlags) input(cmd *cobra.Command, args []string) (session.Input, error) {
	in := session.Input{Effort: f.effort, SystemPrompt: f.system, BudgetUSD: f.budget, MaxTurns: f.maxTurns, Limit: f.limit, Tools: f.tools}
	var err error
	if in.Verb, err = agent.ParseVerb(f.verb); err != nil {
		return in, err
	}
	switch {
	case f.schema != "" && in.Verb != agent.Decide:
		return in, fmt.Errorf("--schema goes with --verb decide; this one is %s", in.Verb)
	case f.schema == "" && in.Verb == agent.Decide:
		return in, errors.New("--verb decide needs --schema FILE, a JSON schema of the value")
	case f.schema != "":
		if in.Schema, err = os.ReadFile(f.schema); err != nil {
			return in, fmt.Errorf("--schema: %w", err)
		}
	}
	if len(args) == 1 && args[0] != "-" {
		in.Prompt = args[0]
	} else {
		if len(args) == 0 && isTerminal(cmd.InOrStdin()) {
			return in, errors.New("turn needs a prompt: give it as an argument, or on standard input")
		}
		text, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return in, fmt.Errorf("the prompt could not be read: %w", err)
		}
		in.Prompt = string(text)
	}
	if strings.TrimSpace(in.Prompt) == "" {
		return in, errors.New("the prompt is empty; say what the agent should do")
	}
	return in, nil
}

// printTurn writes the value, else the words, else nothing: what went wrong is said on standard error.
func printTurn(out io.Writer, r session.Report, asJSON bool) error {
	if asJSON {
		return printJSON(out, r)
	}
	text := r.Text
	if r.Value != nil {
		text = string(r.Value)
	}
	if text == "" || r.Outcome != session.Done && r.Outcome != session.DeniedTurn {
		return nil
	}
	_, err := fmt.Fprintln(out, askbridge.SafeText(strings.TrimRight(text, "\n")))
	return err
}

// exitOf is the exit code of a turn.
func exitOf(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &exitError{code: exitAborted, err: cmp.Or(err, context.Canceled)}
	case errors.Is(err, agent.ErrTime):
		return &exitError{code: exitTimedOut, err: err}
	case errors.Is(err, agent.ErrRequest):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, agent.ErrNotFound):
		return &exitError{code: exitLacking, err: err}
	}
	return &exitError{code: exitFailed, err: err}
}
