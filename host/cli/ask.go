package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
)

// The codes of ask, beside those of the program.
const (
	exitDeclined  = 10
	exitCancelled = 11
)

// shellName is what a script that asks is called.
const shellName = "shell"

// askFlags are the flags of kitsoki ask.
type askFlags struct {
	options []string
	header  string
	multi   bool
	wait    time.Duration
	json    bool
	session string
	tty     bool
}

func newAsk() *cobra.Command {
	f := &askFlags{}
	cmd := &cobra.Command{
		Use:   "ask [QUESTION]",
		Short: "Ask the operator from a shell script, and wait for the answer",
		Long: `ask puts a question to the operator of a running kitsoki, where it appears among the asks of agents,
and prints the answer, one line a pick. Without QUESTION it reads questions as JSON from standard input, in the shape of
an agent's: {"questions":[{"question":"…","options":["…"]}]}; of several, each line begins with the question and a tab.

The newest kitsoki with a terminal is asked, or the one that has --session. What is no answer is told by the exit code
and in words, and prints nothing. Without --option the answer is in the operator's own words; it can be that anyway.

Exit codes: 0 answered, 10 declined, 124 nobody answered in time, 11 cancelled (the ask or kitsoki was ended), 3 nobody
can be asked, 2 the question was not understood, 1 anything else, 130 ended by a signal, which withdraws the question.`,
		Example: `  kitsoki ask 'Deploy now?' --option yes --option no && ./deploy
  kitsoki ask 'Which hosts?' --option a --option b --multi --wait 10m
  kitsoki ask --json < questions.json`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.options, "option", "o", nil, "a row; repeat it")
	flags.StringVar(&f.header, "header", "", "a short name of the question")
	flags.BoolVar(&f.multi, "multi", false, "several rows can be picked")
	flags.DurationVar(&f.wait, "wait", host.DefaultWait, "how long it waits")
	flags.BoolVar(&f.json, "json", false, "print the end as one JSON object, whatever it is")
	flags.StringVar(&f.session, "session", "", "ask the kitsoki that has this session, by its id or the beginning of it")
	flags.BoolVar(&f.tty, "tty", false, "ask on this terminal, in lines of text, where no kitsoki can be asked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

// askEnd is how an ask of a script ended.
type askEnd struct {
	Outcome   string            `json:"outcome"`
	ID        string            `json:"question_id,omitempty"`
	Answers   map[string]any    `json:"answers,omitempty"`
	Notes     map[string]string `json:"notes,omitempty"`
	Error     string            `json:"error,omitempty"`
	delivered func(ok bool)     // call it when there are answers
}

func (f *askFlags) run(cmd *cobra.Command, args []string) error {
	arguments, err := f.arguments(cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	qs, mended, err := askbridge.Decode(arguments, askbridge.DefaultLimits())
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if f.wait <= 0 || f.wait > 24*time.Hour {
		return fmt.Errorf("--wait %s: a question waits up to 24h; try 5m", f.wait)
	}
	if len(args) == 0 { // of the flags' own nothing is to be said
		for _, n := range mended {
			fmt.Fprintf(cmd.ErrOrStderr(), "kitsoki: %s: %s\n", askbridge.Safe(n.Path), askbridge.Safe(n.Text))
		}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	end, err := f.ask(ctx, cmd.ErrOrStderr(), arguments)
	if errors.Is(err, errNobody) && f.tty {
		end, err = f.askHere(ctx, qs)
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{code: exitAborted, err: errors.New("ended by a signal; the question is withdrawn")}
	case err != nil:
		return err
	}
	err = f.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), qs, end)
	if end.delivered != nil {
		end.delivered(err == nil)
	}
	if err != nil {
		return &exitError{code: exitFailed, err: fmt.Errorf("the answer could not be written: %w", err)}
	}
	return f.verdict(end)
}

// arguments are the questions in the shape of an agent's, from the flags or from standard input.
func (f *askFlags) arguments(in io.Reader, args []string) (json.RawMessage, error) {
	if len(args) == 0 || args[0] == "-" {
		if len(f.options) > 0 || f.multi || f.header != "" {
			return nil, errors.New("--option, --multi and --header belong to a QUESTION; of questions in JSON they are in there")
		}
		limit := askbridge.DefaultLimits().Frame
		raw, err := io.ReadAll(io.LimitReader(in, int64(limit)+1))
		if err != nil {
			return nil, err
		}
		raw = bytes.TrimSpace(raw)
		switch {
		case len(raw) == 0:
			return nil, errors.New("there is no question; give one as an argument, or as JSON on standard input")
		case raw[0] == '[':
			return slices.Concat([]byte(`{"questions":`), raw, []byte("}")), nil
		case !json.Valid(raw):
			return nil, errors.New("standard input is no JSON; a question in plain words goes on the command line")
		}
		return raw, nil
	}
	type option struct {
		Label string `json:"label"`
	}
	q := struct {
		Question string   `json:"question"`
		Header   string   `json:"header,omitempty"`
		Options  []option `json:"options,omitempty"`
		Multi    bool     `json:"multiSelect"`
	}{Question: args[0], Header: f.header, Multi: f.multi}
	for _, o := range f.options {
		q.Options = append(q.Options, option{o})
	}
	return json.Marshal(map[string]any{"questions": []any{q}})
}

var errNobody = errors.New("nobody can be asked")

// ask asks the first kitsoki that has an operator: the newest one with a terminal, or the one that has the session.
func (f *askFlags) ask(ctx context.Context, warn io.Writer, arguments json.RawMessage) (askEnd, error) {
	r, err := reach(ctx, "")
	if err != nil {
		return askEnd{}, err
	}
	answered := false
	defer func() {
		if !answered {
			r.close()
		}
	}()
	dir, _ := os.Getwd() // where there is none, the question comes from nowhere in particular
	for _, c := range f.choose(ctx, r, warn) {
		got, err := c.GuestAsk(ctx, control.GuestParams{
			Agent: shellName, Dir: dir, Parent: parentName(), Arguments: arguments, Wait: f.wait,
		})
		var refused *control.GuestRefused
		switch {
		case errors.As(err, &refused) && refused.Outcome == string(host.NoOperator):
			continue
		case errors.As(err, &refused):
			return askEnd{Outcome: refused.Outcome, Error: refused.Words}, nil
		case err != nil && ctx.Err() == nil:
			return askEnd{Outcome: string(host.Cancelled), Error: "the kitsoki that was asked is gone: " + err.Error()}, nil
		case err != nil:
			return askEnd{}, err
		}
		answered = true
		return askEnd{
			Outcome: string(host.Answered), ID: got.ID, Answers: got.Answers, Notes: got.Notes,
			delivered: func(ok bool) { f.deliver(c, got, ok); r.close() },
		}, nil
	}
	what := "no kitsoki with a terminal is running; start kitsoki in another one, or ask on this one with --tty"
	if f.session != "" {
		what = fmt.Sprintf("no running kitsoki with an operator has the session %q; kitsoki inbox --all lists them", askbridge.Safe(f.session))
	}
	return askEnd{}, lacking("%w: %s", errNobody, what)
}

// parentName is the program that runs the script, as far as the machine tells.
func parentName() string {
	pid := os.Getppid()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
	if err != nil || words[0] == "" {
		return "process " + strconv.Itoa(pid)
	}
	name := base(words[0])
	shells := []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"}
	if slices.Contains(shells, name) && len(words) > 1 && !strings.HasPrefix(words[1], "-") { // whose script says more
		name = base(words[1])
	}
	return fmt.Sprintf("%s (%d)", name, pid)
}

func base(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if len(name) > 200 {
		name = name[:200]
	}
	return strings.ToValidUTF8(name, "?")
}

// choose puts those that can be asked into their order.
func (f *askFlags) choose(ctx context.Context, r *reached, warn io.Writer) []*control.Client {
	type candidate struct {
		c    *control.Client
		info control.Info
		has  bool
	}
	all := r.all(ctx)
	found := each(ctx, all, warn, func(ctx context.Context, c *control.Client) (candidate, error) {
		info, err := c.Info(ctx)
		if err != nil || f.session == "" {
			return candidate{c, info, err == nil && !info.Detached}, err
		}
		snaps, err := c.Sessions(ctx)
		has := false
		for _, s := range snaps {
			has = has || strings.HasPrefix(s.ID, f.session)
		}
		return candidate{c, info, has}, err
	})
	found = slices.DeleteFunc(found, func(c candidate) bool { return !c.has })
	slices.SortFunc(found, func(a, b candidate) int { return b.info.Started.Compare(a.info.Started) })
	var out []*control.Client
	for _, c := range found {
		out = append(out, c.c)
	}
	return out
}

// deliver says that the answer was written, before the connection is let go of.
func (f *askFlags) deliver(c *control.Client, got control.GuestAnswer, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), reachWithin)
	defer cancel()
	_ = c.Delivered(ctx, got, ok) // who does not hear it says that it is unknown
}

// print writes the answer, a line a pick; several questions each with their text before it.
func (f *askFlags) print(out, errOut io.Writer, qs []askbridge.Question, end askEnd) error {
	if f.json {
		return printJSON(out, end)
	}
	if end.Outcome != string(host.Answered) {
		return nil
	}
	for _, q := range qs {
		before := ""
		if len(qs) > 1 {
			before = oneLineOf(q.Question) + "\t"
		}
		for _, line := range linesOf(end.Answers[q.Question]) {
			if _, err := fmt.Fprintln(out, before+line); err != nil {
				return err
			}
		}
		if note := end.Notes[q.Question]; note != "" {
			fmt.Fprintf(errOut, "note: %s\n", askbridge.SafeText(note))
		}
	}
	return nil
}

// linesOf are the values of an answer, as the operator gave them.
func linesOf(answer any) []string {
	switch v := answer.(type) {
	case string:
		return []string{v}
	case []string:
		return v
	case []any:
		var out []string
		for _, item := range v {
			if s, ok := item.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// verdict is the end as an exit code.
func (f *askFlags) verdict(end askEnd) error {
	code := map[string]int{
		string(host.Declined): exitDeclined, string(host.TimedOut): exitTimedOut,
		string(host.Cancelled): exitCancelled, string(host.HostClosing): exitCancelled, string(host.AskerGone): exitCancelled,
		string(host.NoOperator): exitLacking, "invalid": exitUsage, "limit": exitFailed,
	}
	if end.Outcome == string(host.Answered) {
		return nil
	}
	n, known := code[end.Outcome]
	if !known {
		n = exitFailed
	}
	if f.json {
		return &exitError{code: n, err: errQuiet}
	}
	return &exitError{code: n, err: errors.New(askbridge.SafeText(end.Error))}
}
