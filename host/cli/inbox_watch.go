package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
)

// inboxLooks is how often watching looks for kitsoki that were started since, and how often a screen counts down.
const inboxLooks = time.Second

// inboxEvent is what watching prints as JSON.
type inboxEvent struct {
	Event string `json:"event"` // opened, updated or resolved
	inboxRow
	Outcome host.Outcome `json:"outcome,omitempty"` // of resolved; empty: its process is gone, and nobody knows
	Surface string       `json:"surface,omitempty"`
	Reason  string       `json:"reason,omitempty"`
}

// follow prints what happens until a signal ends it or its output is gone.
func (f *inboxFlags) follow(cmd *cobra.Command, r *reached) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	w := &watching{f: f, events: make(chan inboxEvent, 256), watched: map[*control.Client]*control.Watch{}, rests: map[*control.Client]time.Time{}}
	defer w.close()
	out, width := cmd.OutOrStdout(), widthOf(cmd.OutOrStdout())
	var gone <-chan struct{}
	if r.box != nil {
		gone = r.box.Gone()
	}
	drawn := ""
	tick := time.NewTicker(inboxLooks)
	defer tick.Stop()
	for fresh := true; ; {
		if fresh {
			w.look(ctx, r)
		}
		if width > 0 && !f.json {
			text := f.table(f.rows(ctx, r, io.Discard), width)
			if ctx.Err() != nil { // what it is then is not what there is
				return nil
			}
			if err := redraw(out, text, &drawn); err != nil {
				return err
			}
		}
		fresh = false
		select {
		case <-ctx.Done():
			return nil
		case <-gone:
			return &exitError{code: exitLacking, err: fmt.Errorf("the connection to %s has ended", *f.host)}
		case <-tick.C:
			fresh = true
		case e := <-w.events:
			if err := f.tell(out, e, width > 0); err != nil {
				return err
			}
		}
	}
}

// tell prints one event, but on a screen, which is drawn anew.
func (f *inboxFlags) tell(out io.Writer, e inboxEvent, screen bool) error {
	if f.json {
		return printJSON(out, e)
	}
	if screen || e.Event == eventUpdated {
		return nil
	}
	what := headOf(e.Row)
	if e.Event == eventResolved {
		what = strings.TrimSpace(strings.ReplaceAll(string(e.Outcome), "_", " ") + " " + e.Surface)
	}
	_, err := fmt.Fprintf(out, "%s  %s  %s  %s  %s\n", time.Now().Format(time.TimeOnly), e.Event, shown(e.Short), e.Who, what)
	return err
}

// redraw writes the table over the last one, where it differs.
func redraw(out io.Writer, text string, drawn *string) error {
	if text == *drawn {
		return nil
	}
	back := ""
	if n := strings.Count(*drawn, "\n"); n > 0 {
		back = fmt.Sprintf("\x1b[%dA\x1b[J", n)
	}
	*drawn = text
	_, err := io.WriteString(out, back+text)
	return err
}

const (
	eventOpened   = "opened"
	eventUpdated  = "updated"
	eventResolved = "resolved"
)

// watching are the subscriptions at all processes. Their goroutines end with close.
type watching struct {
	f       *inboxFlags
	events  chan inboxEvent
	watched map[*control.Client]*control.Watch
	rests   map[*control.Client]time.Time // when one that did not answer is tried again
}

// inboxRests is how long one that did not answer is left alone: what it is waited for holds up the others.
const inboxRests = 10 * time.Second

// look subscribes at processes that are new, and lets go of those that have ended.
func (w *watching) look(ctx context.Context, r *reached) {
	for _, c := range r.all(ctx) {
		if w.watched[c] != nil || time.Now().Before(w.rests[c]) {
			continue
		}
		bound, cancel := context.WithTimeout(ctx, reachWithin)
		watch, err := c.Watch(bound, "", "inbox", func(askCtx context.Context, a host.Ask, q control.Question) { w.follow(ctx, askCtx, a, q) })
		cancel()
		if err != nil {
			w.rests[c] = time.Now().Add(inboxRests)
			continue
		}
		w.watched[c] = watch
	}
	for c, watch := range w.watched {
		select {
		case <-c.Gone():
			delete(w.watched, c)
			watch.Close()
		default:
		}
	}
}

func (w *watching) close() {
	for _, watch := range w.watched {
		watch.Close()
	}
}

// follow tells of one ask until it is over.
func (w *watching) follow(ctx, askCtx context.Context, a host.Ask, q control.Question) {
	tell := func(e inboxEvent) {
		select {
		case w.events <- e:
		case <-ctx.Done():
		}
	}
	row := func() inboxRow {
		info := a.Info()
		q.Asker, q.Deadline = info.Asker, info.Deadline
		out := w.f.row(q.Row(time.Now()), time.Now())
		out.Short = shortAsk(q.ID, nil)
		return out
	}
	changed := a.Changed()
	tell(inboxEvent{Event: eventOpened, inboxRow: row()})
	for {
		select {
		case <-changed:
			changed = a.Changed()
			tell(inboxEvent{Event: eventUpdated, inboxRow: row()})
		case <-askCtx.Done():
			e := inboxEvent{Event: eventResolved, inboxRow: row()}
			var end *host.Resolution
			if errors.As(context.Cause(askCtx), &end) {
				e.Outcome, e.Surface, e.Reason = end.Outcome, end.Surface, end.Reason
			}
			tell(e)
			return
		case <-ctx.Done():
			return
		}
	}
}
