package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"example.com/kitsoki/host/session"
)

// progressAfter is how long a turn may take before it is said that it goes on.
const progressAfter = time.Second

// progress says in one line of a terminal, drawn over each second and gone at the end, how long a turn has been going
// and what the agent does. On anything else than a terminal it says nothing. stop waits for its goroutines.
func progress(w io.Writer, c session.Client) (stop func()) {
	f, ok := w.(*os.File)
	if !ok || !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	doing := make(chan string)
	heard, drawn := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		listen(ctx, c, doing)
	}()
	go func() {
		defer close(drawn)
		draw(ctx, f, doing)
	}()
	return func() {
		cancel()
		<-heard
		<-drawn
	}
}

// listen passes on what the agent does.
func listen(ctx context.Context, c session.Client, doing chan<- string) {
	for after := uint64(0); ; {
		batch, err := c.Events(ctx, after)
		if err != nil {
			return
		}
		for _, e := range batch.Events {
			after = e.Seq
			if e.Kind != session.Tool {
				continue
			}
			select {
			case doing <- e.Tool + " " + e.Text:
			case <-ctx.Done():
				return
			}
		}
	}
}

func draw(ctx context.Context, f *os.File, doing <-chan string) {
	began := time.Now()
	tick := time.NewTicker(progressAfter)
	defer tick.Stop()
	what, shown := "the agent works", false
	for {
		select {
		case what = <-doing:
		case <-tick.C:
			shown = true
		case <-ctx.Done():
			if shown {
				_, _ = fmt.Fprint(f, "\r"+ansi.EraseEntireLine) // a terminal that is gone needs no tidying
			}
			return
		}
		if !shown {
			continue
		}
		width, _, err := term.GetSize(f.Fd())
		if err != nil {
			return
		}
		line := fmt.Sprintf("%s · %s", time.Since(began).Round(time.Second), what)
		_, _ = fmt.Fprint(f, "\r"+ansi.EraseEntireLine+ansi.Truncate(line, width-1, "…"))
	}
}
