package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
)

// held is an open ask, with the process that it belongs to.
type held struct {
	client *control.Client
	q      *control.Question
}

// The codes of answer, beside those of the program.
const (
	exitResolved = 4 // the ask is settled already
	exitTooLate  = 5 // its time had run out
)

// find finds the open ask whose id begins like this. The error says how it ended, where that is known.
func (r *reached) find(ctx context.Context, prefix string, warn io.Writer) (held, error) {
	if prefix == "" {
		return held{}, &exitError{code: exitUsage, err: errors.New("an id has at least one letter; kitsoki inbox lists them")}
	}
	all := r.all(ctx)
	var open []held
	var ended []control.Ended
	for i, asks := range each(ctx, all, warn, func(ctx context.Context, c *control.Client) (control.Asks, error) { return c.Asks(ctx, prefix) }) {
		for _, q := range asks.Questions {
			open = append(open, held{all[i], q})
		}
		ended = append(ended, asks.Ended...)
	}
	for _, h := range open {
		if h.q.ID == prefix && len(open) > 1 { // whole, and also the beginning of another one
			open = append(open[:0], h)
			break
		}
	}
	switch {
	case len(open) == 1:
		return open[0], nil
	case len(open) > 1:
		var words []string
		for _, h := range open {
			words = append(words, fmt.Sprintf("%s (%s, process %d)", shown(h.q.ID), headOf(h.q.Row(time.Now())), h.q.PID))
		}
		return held{}, &exitError{code: exitUsage, err: fmt.Errorf("%q is the beginning of several ids, give more of it: %s", askbridge.Safe(prefix), strings.Join(words, "; "))}
	case len(ended) > 0:
		last := ended[len(ended)-1]
		return held{}, overError(last.ID, &host.Resolution{Outcome: last.Outcome, Surface: last.Surface, Reason: last.Reason})
	}
	return held{}, &exitError{code: exitLacking, err: fmt.Errorf("%w: %q; kitsoki inbox lists those that are open", errNoAsk, askbridge.Safe(prefix))}
}

// overError says that an ask is settled already, by whom and how.
func overError(id string, end *host.Resolution) error {
	if errors.Is(end, host.ErrTooLate) {
		return &exitError{code: exitTooLate, err: fmt.Errorf("too late: the ask %s had run out of time, and the agent was told so", shown(id))}
	}
	words := strings.ReplaceAll(string(end.Outcome), "_", " ")
	if end.Surface != "" {
		words += " by " + askbridge.Safe(end.Surface)
	}
	if end.Reason != "" {
		words += ": " + askbridge.Safe(end.Reason)
	}
	return &exitError{code: exitResolved, err: fmt.Errorf("the ask %s is settled already: %s", shown(id), words)}
}

func (f *inboxFlags) showOne(cmd *cobra.Command, r *reached) error {
	h, err := r.find(cmd.Context(), f.show, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(cmd.OutOrStdout(), h.q)
	}
	_, err = io.WriteString(cmd.OutOrStdout(), wholeAsk(h.q, time.Now()))
	return err
}

// wholeAsk is one ask with all that its surfaces show. Its texts are safe since the switchboard took them in.
func wholeAsk(q *control.Question, now time.Time) string {
	var s strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	info := q.Info()
	row := q.Row(now)
	line("ask      %s", shown(q.ID))
	line("from     %s (%s), session %s %s", row.Who, kindWord(row), q.Title, shown(q.SessionID))
	if row.Dir != "" {
		line("in       %s", row.Dir)
	}
	line("waits    %s more, opened %s ago", clock(info.Deadline.Sub(now).Milliseconds()), clock(row.AgeMS))
	if q.Reopens != "" {
		line("again    it was asked before kitsoki was killed; the answer goes to the agent as the next message")
	}
	if p := q.Proposal; p != nil {
		line("tool     %s (%s)", p.Tool, p.Effect)
		line("action   %s", p.Title)
		line("runs in  %s", p.Dir)
		line("why      %s", p.Reason)
		line("held by  %s", p.Held)
		line("hash     %s", p.Hash)
		line("")
		for _, text := range strings.Split(p.Text, "\n") {
			line("  | %s", text)
		}
	}
	for i, one := range info.Questions {
		line("")
		head := one.Question
		if one.Header != "" {
			head = one.Header + ": " + head
		}
		if len(info.Questions) > 1 {
			head = fmt.Sprintf("%d. %s", i+1, head)
		}
		line("%s", head)
		for n, o := range one.Options {
			text := fmt.Sprintf("  %d %s", n+1, o.Label)
			if o.Description != "" {
				text += " - " + strings.ReplaceAll(o.Description, "\n", "\n      ")
			}
			line("%s", text)
			if o.Preview != "" {
				line("      %s", strings.ReplaceAll(o.Preview, "\n", "\n      "))
			}
		}
		if one.MultiSelect {
			line("  (several can be picked)")
		}
	}
	line("")
	line("%s", howToAnswer(q))
	return s.String()
}

// howToAnswer is a command to begin with.
func howToAnswer(q *control.Question) string {
	short := shown(shortAsk(q.ID, nil))
	switch {
	case q.Proposal != nil:
		return fmt.Sprintf("kitsoki answer %s --decline, or, when you have read it whole: --pick action --hash %s", short, q.Proposal.Hash[:min(control.MinHash, len(q.Proposal.Hash))])
	case len(q.Questions) > 1:
		return fmt.Sprintf("kitsoki answer %s --pick 1=ROW --pick 2=ROW …, --text 1=WORDS, --skip=1, or --decline", short)
	case len(q.Questions[0].Options) == 0:
		return fmt.Sprintf("kitsoki answer %s --text WORDS, or --decline", short)
	}
	return fmt.Sprintf("kitsoki answer %s --pick ROW, --text WORDS, or --decline", short)
}
