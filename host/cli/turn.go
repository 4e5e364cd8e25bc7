package cli

import (
	"cmp"
	"context"
	"encoding/json"
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

// turnReport is what --json prints.
type turnReport struct {
	Session      string          `json:"session"`
	Turn         int             `json:"turn"`
	Verb         agent.Verb      `json:"verb"`
	Outcome      string          `json:"outcome"` // done, failed, timed_out or stopped
	Error        string          `json:"error,omitempty"`
	Text         string          `json:"text"`
	Value        json.RawMessage `json:"value,omitempty"` // of decide
	Files        []string        `json:"files,omitempty"` // that the agent says it changed
	Diff         string          `json:"diff,omitempty"`  // what a task changed in the directory, as git sees it
	Truncated    bool            `json:"diff_truncated,omitempty"`
	Conversation string          `json:"conversation,omitempty"`
	CostUSD      float64         `json:"cost_usd"`
	Tokens       int64           `json:"tokens"`
	Attempts     int             `json:"attempts"`
	DurationMS   int64           `json:"duration_ms"`
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
	manager, done, err := f.manager()
	if err != nil {
		return err
	}
	defer done()
	s, err := f.open(cmd, manager)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	began := time.Now()
	stopProgress := progress(cmd.ErrOrStderr(), s)
	res, err := s.Run(ctx, in)
	stopProgress()
	report := f.report(ctx, s, in, res, err)
	report.DurationMS = time.Since(began).Milliseconds()
	closing, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if closeErr := manager.Close(closing, host.HostClosing); closeErr != nil && err == nil {
		err = closeErr
	}
	if printErr := report.print(cmd.OutOrStdout(), f.json); printErr != nil {
		return printErr
	}
	return exitOf(ctx, err)
}

// input reads what the turn works off.
func (f *turnFlags) input(cmd *cobra.Command, args []string) (session.Input, error) {
	in := session.Input{Effort: f.effort, SystemPrompt: f.system, BudgetUSD: f.budget, MaxTurns: f.maxTurns, Limit: f.limit}
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

func (f *turnFlags) report(ctx context.Context, s *session.Session, in session.Input, res session.Result, err error) turnReport {
	r := turnReport{
		Session: s.ID(), Verb: in.Verb, Outcome: "done", Text: res.Text, Value: res.Structured, Files: res.Files,
		Diff: res.Changed.Text, Truncated: res.Changed.Truncated,
		Conversation: res.Conversation, CostUSD: res.CostUSD, Tokens: res.Usage.Total(), Attempts: res.Attempts,
	}
	if snap, snapErr := s.Snapshot(ctx); snapErr == nil {
		r.Turn = snap.Turn
	}
	switch {
	case err == nil:
		return r
	case ctx.Err() != nil:
		r.Outcome = "stopped"
	case errors.Is(err, agent.ErrTime):
		r.Outcome = "timed_out"
	default:
		r.Outcome = "failed"
	}
	r.Error = err.Error()
	return r
}

// print writes the value, else the words, else nothing: what went wrong is said on standard error.
func (r turnReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(out, r)
	}
	text := r.Text
	if r.Value != nil {
		text = string(r.Value)
	}
	if text == "" || r.Outcome != "done" {
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
