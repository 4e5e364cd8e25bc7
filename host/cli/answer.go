package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
)

// answerSurface is what answers from the shell are said to come from.
const answerSurface = "kitsoki answer"

// answerFlags are the flags of kitsoki answer.
type answerFlags struct {
	said
	json    string
	decline string
	extend  time.Duration
	hash    string
	check   bool
	host    *string
}

func newAnswer() *cobra.Command {
	f := &answerFlags{}
	cmd := &cobra.Command{
		Use:   "answer ID",
		Short: "Answer an open ask from the shell",
		Long: `answer settles an ask of any running kitsoki; kitsoki inbox lists them, kitsoki inbox --show ID shows one
whole. An ID can be cut to where it is unique. Whoever answers first has answered; the others are told.

--pick takes a label, exactly, or the number of a row (#2 where a label is a number too), and of several questions
QUESTION=LABEL, where QUESTION is its text, its header or its number. --text, --note, --skip and --none take
QUESTION= likewise. Each question needs one of them. What does not fit is named, and nothing is used up by it.

A proposal, which lets an agent act, is allowed only with --hash and the first 12 characters of its hash, which
--show prints with the whole text: --pick action --hash 3f2a....

Exit codes: 0 settled (or, with --check, it could be), 1 failed on the way, 2 the command line or the answer was not
understood, 3 no such ask, 4 already settled, with who did and how, 5 too late.`,
		Example: `  kitsoki answer 3f2a --pick SQLite --note 'until we have users'
  kitsoki answer 3f2a --pick 1=Postgres --pick Region=2 --skip=3
  kitsoki answer 3f2a --decline 'ask me tomorrow'
  echo '{"Which database?":"SQLite"}' | kitsoki answer 3f2a --json -`,
		Args: cobra.RangeArgs(1, 2),
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.picks, "pick", "p", nil, "a row, by its label or number; repeat it where several can be picked")
	flags.StringArrayVarP(&f.texts, "text", "t", nil, "your own words")
	flags.StringArrayVarP(&f.notes, "note", "n", nil, "words that go along with the answer")
	flags.StringArrayVar(&f.none, "none", nil, "explicitly none of the rows (=QUESTION)")
	flags.StringArrayVar(&f.skip, "skip", nil, "leave a question out (=QUESTION)")
	flags.StringVar(&f.json, "json", "", "-: read the answers from standard input, by the text of the questions or by index")
	flags.StringVar(&f.decline, "decline", "", "do not answer; the agent is told, with the reason that follows")
	flags.DurationVar(&f.extend, "extend", 0, "do not answer yet: give the ask so much more time")
	flags.StringVar(&f.hash, "hash", "", "of a proposal: the first 12 characters or more of its hash")
	flags.BoolVar(&f.check, "check", false, "say what would be sent, and send nothing")
	for _, name := range []string{"none", "skip", "decline"} {
		flags.Lookup(name).NoOptDefVal = theOnly
	}
	f.host = addHost(cmd)
	cmd.MarkFlagsMutuallyExclusive("decline", "extend", "json", "pick")
	cmd.MarkFlagsMutuallyExclusive("decline", "extend", "json", "text")
	cmd.MarkFlagsOneRequired("pick", "text", "none", "skip", "json", "decline", "extend")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

func (f *answerFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		if f.decline != theOnly {
			return fmt.Errorf("%q: an answer is given with --pick or --text", askbridge.Safe(args[1]))
		}
		f.decline = args[1]
	}
	if f.json != "" && f.json != "-" {
		return errors.New("--json - reads the answers from standard input; there is nothing else to read them from")
	}
	if cmd.Flags().Changed("extend") && f.extend <= 0 {
		return fmt.Errorf("--extend %s: an ask can be given more time; try 5m", f.extend)
	}
	r, err := reach(cmd.Context(), *f.host)
	if err != nil {
		return err
	}
	defer r.close()
	h, err := r.find(cmd.Context(), args[0], cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	words, do, err := f.plan(cmd, h)
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if f.check {
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "would be %s\n", words)
		return err
	}
	if err := do(); err != nil {
		return f.failed(h, err)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), words)
	return err
}

// plan is what is to be done, in words and as a step, once all that can be known of it here has been checked.
func (f *answerFlags) plan(cmd *cobra.Command, h held) (words string, do func() error, err error) {
	ctx, a, id := cmd.Context(), h.client.Ask(h.q, answerSurface), shown(shortAsk(h.q.ID, nil))
	switch {
	case f.extend > 0:
		return fmt.Sprintf("extended %s by %s", id, f.extend), func() error { return a.Extend(ctx, f.extend) }, nil
	case cmd.Flags().Changed("decline"):
		reason := strings.TrimSpace(f.decline)
		return strings.TrimSpace("declined " + id + " " + askbridge.Safe(reason)), func() error { return a.Decline(ctx, reason, nil) }, nil
	}
	qs := a.Info().Questions
	var as []host.Answer
	if f.json == "-" {
		as, err = answersIn(cmd.InOrStdin(), qs)
	} else {
		as, err = f.answersFrom(qs)
	}
	if err == nil {
		err = f.allowed(h.q, as)
	}
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("answered %s: %s", id, inWords(qs, as)), func() error { return a.Answer(ctx, as) }, nil
}

// allowed holds a yes to a proposal to the proposal that was read.
func (f *answerFlags) allowed(q *control.Question, as []host.Answer) error {
	p := q.Proposal
	if p == nil {
		return nil
	}
	short := shown(shortAsk(q.ID, nil))
	if len(as[0].Picked) != 1 || as[0].Text != "" {
		return fmt.Errorf("a proposal is answered by one of its rows, or declined: kitsoki answer %s --decline 'why'", short)
	}
	if q.Questions[0].Options[as[0].Picked[0]].Label == host.Deny {
		return nil
	}
	if len(f.hash) < control.MinHash || !strings.HasPrefix(p.Hash, f.hash) {
		return fmt.Errorf("an action is allowed by who has read it: kitsoki inbox --show %s prints it whole, with its hash; add --hash and its first %d characters", short, control.MinHash)
	}
	return nil
}

func (f *answerFlags) failed(h held, err error) error {
	var end *host.Resolution
	var fields *host.FieldErrors
	switch {
	case errors.As(err, &end):
		return overError(h.q.ID, end)
	case errors.As(err, &fields):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, control.ErrNoProcess):
		return &exitError{code: exitLacking, err: err}
	}
	return &exitError{code: exitFailed, err: fmt.Errorf("it is not known whether that reached kitsoki: %w; look with kitsoki inbox", err)}
}

// inWords are answers in one line.
func inWords(qs []host.OperatorQuestion, as []host.Answer) string {
	var parts []string
	for i, a := range as {
		var words []string
		for _, p := range a.Picked {
			words = append(words, qs[i].Options[p].Label)
		}
		if a.Text != "" {
			words = append(words, "“"+askbridge.Safe(a.Text)+"”")
		}
		if a.None {
			words = append(words, "none of them")
		}
		if a.Skipped {
			words = append(words, "skipped")
		}
		if a.Note != "" {
			words = append(words, "note “"+askbridge.Safe(a.Note)+"”")
		}
		part := strings.Join(words, ", ")
		if len(qs) > 1 {
			part = fmt.Sprintf("%d %s", i+1, part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
