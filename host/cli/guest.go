package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/mcpstdio"
)

const (
	silentFor     = 10 * time.Second // from an ask's deadline until a kitsoki that says nothing counts as gone
	deliverWithin = 2 * time.Second  // for the word that an answer was passed on
)

// operators returns the running kitsoki of this user that have an operator, the newest first. Close them.
func operators(ctx context.Context) ([]*control.Client, error) {
	runtimeDir, err := askbridge.RuntimeDir(os.Getenv)
	if err != nil {
		return nil, err
	}
	finding, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	all, err := control.All(finding, runtimeDir)
	if err != nil {
		return nil, err
	}
	infos := each(ctx, all, io.Discard, func(ctx context.Context, c *control.Client) (control.Info, error) { return c.Info(ctx) })
	here := map[*control.Client]control.Info{}
	for i, c := range all {
		if here[c] = infos[i]; !infos[i].Operator {
			delete(here, c)
			_ = c.Close() // it has nobody, is ending, or hangs
		}
	}
	return slices.SortedFunc(maps.Keys(here), func(a, b *control.Client) int { return here[b].Started.Compare(here[a].Started) }), nil
}

// answer is what came of a guest's ask. Done, which is never nil, says once whether it was passed on.
type answer struct {
	control.GuestAnswer
	done func(delivered bool)
}

// askOperator asks the newest kitsoki that has an operator, and waits. What is not an answer is a *control.GuestRefused,
// errNobody, or another error in words; when ctx ends it is its cause. An ask is withdrawn as asker_gone if that is
// askbridge.ErrAskerGone, and else as cancelled.
func askOperator(ctx context.Context, p control.GuestParams) (answer, error) {
	here, err := operators(ctx)
	if err != nil {
		return answer{}, err
	}
	defer func() {
		for _, c := range here {
			_ = c.Close() // nothing is open there
		}
	}()
	for len(here) > 0 {
		c := here[0]
		here = here[1:]
		got, err := askOne(ctx, c, p)
		var refused *control.GuestRefused
		if errors.As(err, &refused) && refused.Outcome == string(host.NoOperator) {
			_ = c.Close() // its operator has left; another may be there
			continue
		}
		if err != nil {
			_ = c.Close()
			return answer{}, err
		}
		return answer{got, func(ok bool) {
			ctx, cancel := context.WithTimeout(context.Background(), deliverWithin)
			defer cancel()
			_ = c.Delivered(ctx, got, ok) // where nobody hears it the answer is noted as lost
			_ = c.Close()
		}}, nil
	}
	return answer{}, fmt.Errorf("%w: no kitsoki is running with somebody at it", errNobody)
}

// askOne asks one of them.
func askOne(ctx context.Context, c *control.Client, p control.GuestParams) (control.GuestAnswer, error) {
	asking, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), askbridge.ErrAskerGone) {
			_ = c.Close()
		}
		cancel(context.Cause(ctx))
	})
	defer stop()
	silent := time.AfterFunc(silentFor, func() { cancel(errors.New("the kitsoki that was asked went silent")) })
	defer silent.Stop()
	tell := p.Deadline
	p.Deadline = func(t time.Time) {
		silent.Reset(time.Until(t) + silentFor)
		if tell != nil {
			tell(t)
		}
	}
	got, err := c.GuestAsk(asking, p)
	if err == nil {
		return got, nil
	}
	var refused *control.GuestRefused
	switch cause := context.Cause(asking); {
	case errors.As(err, &refused):
		return got, err
	case cause != nil:
		return got, cause
	}
	return got, fmt.Errorf("the kitsoki that was asked is gone: %w", err)
}

// newGuest makes what serves an agent that no kitsoki started; nil inside of a dispatch, whose own tool is the one that
// asks. The agent is known by its own word, its directory, and the process that started us.
func newGuest(lookup func(string) (string, bool)) mcpstdio.Guest {
	_, dispatched := lookup(agent.EnvAskSocket)
	if marks, _ := lookup(agent.EnvDispatch); dispatched || marks != "" {
		return nil
	}
	return func(ctx context.Context, ask mcpstdio.GuestAsk) (askbridge.Final, error) {
		p := control.GuestParams{
			Agent: ask.Client, Parent: parentName(), ToolUseID: ask.ToolUseID, Arguments: ask.Arguments,
		}
		p.Dir, _ = os.Getwd() // a directory that is gone has no name
		if p.Agent == "" {
			p.Agent = p.Parent
		}
		got, err := askOperator(ctx, p)
		var refused *control.GuestRefused
		switch {
		case errors.As(err, &refused):
			return askbridge.Final{Error: refused.Words, Outcome: refused.Outcome}, nil
		case err != nil:
			return askbridge.Final{}, err
		}
		return askbridge.Final{Answers: got.Answers, Notes: got.Notes, Outcome: string(host.Answered), Done: got.done}, nil
	}
}
