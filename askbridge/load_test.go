package askbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// waitFor tries until it holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(soon)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// always is an ask that ends at once.
func always(f askbridge.Final) func(context.Context, *askbridge.Call) askbridge.Final {
	f.Done = nil
	return func(context.Context, *askbridge.Call) askbridge.Final { return f }
}

// many are limits that are no hindrance.
func many() askbridge.ListenOptions {
	lim := askbridge.DefaultLimits()
	lim.OpenAsks, lim.PerMinute = 1000, 1000
	return askbridge.ListenOptions{Limits: lim}
}

func TestAHundredAsksAtOnce(t *testing.T) {
	const n = 100
	var all sync.WaitGroup // every ask is open before the first is answered
	all.Add(n)
	delivered := make(chan bool, 2*n)
	b := listen(t, &handler{ask: func(_ context.Context, c *askbridge.Call) askbridge.Final {
		_ = c.Deadline(time.Now().Add(time.Hour))
		all.Done()
		all.Wait()
		return askbridge.Final{Answers: map[string]any{c.Questions[0].Question: "answer of " + c.ID}, Done: func(ok bool) { delivered <- ok }}
	}}, many())
	c := b.client(t)
	var work sync.WaitGroup
	for i := range n {
		work.Go(func() {
			id := fmt.Sprint("id", i)
			ex, err := c.Ask(t.Context(), askbridge.AskParams{ID: id, Arguments: json.RawMessage(`{"question":"` + id + `?"}`)})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = ex.Close() }()
			got, err := ex.Wait(bounded(t))
			if err != nil || len(got.Answers) != 1 || got.Answers[id+"?"] != "answer of "+id {
				t.Errorf("%s got %+v, %v", id, got, err)
			}
			if err := ex.Delivered(); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	for range n {
		if !receive(t, "the word of delivery", delivered) {
			t.Error("an answer was not delivered")
		}
	}
}

// A peer that does not read holds up its own ask alone, and that not for ever.
func TestAPeerThatNeverReads(t *testing.T) {
	stuck := make(chan error, 1)
	b := listen(t, &handler{ask: func(_ context.Context, c *askbridge.Call) askbridge.Final {
		if c.ID != "deaf" {
			return askbridge.Final{Answers: map[string]any{"Q?": "a"}}
		}
		for {
			if err := c.Deadline(time.Now()); err != nil {
				stuck <- err
				return askbridge.Final{Answers: map[string]any{"Q?": strings.Repeat("a", 40_000)}}
			}
		}
	}}, askbridge.ListenOptions{}.WithBounds(askbridge.Bounds{Write: 200 * time.Millisecond}))
	deaf := b.peer(t)
	deaf.send(b.askFrame("deaf", simple))
	if got, err := b.ask(t, "other", simple).Wait(bounded(t)); err != nil || got.Answers["Q?"] != "a" {
		t.Errorf("beside it: %+v, %v", got, err)
	}
	if err := receive(t, "the end of the writing", stuck); !strings.Contains(err.Error(), "timeout") {
		t.Errorf("the host was told %v", err)
	}
	if err := b.listener.Close(); err != nil {
		t.Error(err)
	}
}

func TestClosingWhileAsksCome(t *testing.T) {
	f, _ := answer("a")
	b := listen(t, &handler{ask: always(f)}, many())
	c := b.client(t)
	var work sync.WaitGroup
	started := make(chan struct{}, 1000)
	for range 8 {
		work.Go(func() {
			for i := 0; ; i++ {
				ex, err := c.Ask(t.Context(), askbridge.AskParams{ID: fmt.Sprintf("%p%d", &work, i), Arguments: json.RawMessage(simple)})
				if err != nil {
					return // the socket is closed
				}
				got, err := ex.Wait(bounded(t))
				_ = ex.Close()
				if err == nil && len(got.Answers) == 0 && got.Error == "" {
					t.Error("an ask ended with nothing at all")
				}
				select {
				case started <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 20 {
		receive(t, "some asks", started)
	}
	if err := b.listener.Close(); err != nil {
		t.Error(err)
	}
	work.Wait()
}
