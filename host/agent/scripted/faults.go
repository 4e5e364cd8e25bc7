package scripted

import (
	"context"
	"fmt"
	"os"
	"strings"
)

// The step kinds below are how agents go wrong.

func (d *Die) play(ctx context.Context, v *voice) error {
	after, err := parsePause(d.After)
	if err != nil {
		return err
	}
	if err := v.p.rest(ctx, after); err != nil {
		return err
	}
	if sig := signalNumber(d.Signal); sig != 0 {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Signal(sig); err != nil {
			return fmt.Errorf("the scenario's signal could not be sent: %w", err)
		}
		<-ctx.Done() // of the signals that do not kill at once
		return context.Cause(ctx)
	}
	// As after a crash: no more output, and servers find their stdin closed without a word before.
	v.p.out.silence()
	v.p.tools.close()
	return &exitError{code: d.Code}
}

func (h *Hang) play(ctx context.Context, _ *voice) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (f *Flood) play(ctx context.Context, v *voice) error {
	pace, err := parsePause(f.Pace)
	if err != nil {
		return err
	}
	text := f.Text
	if text == "" {
		text = "one more line"
	}
	pieces := make([]string, f.Lines)
	for i := range pieces {
		pieces[i] = fmt.Sprintf("%d %s\n", i+1, text)
	}
	return v.say(ctx, pieces, pace)
}

func (g *Garbage) play(_ context.Context, v *voice) error { return v.p.out.raw([]byte(*g)) }

// repeat returns exactly n bytes of text over and over.
func repeat(text string, n int) string {
	return strings.Repeat(text, n/len(text)+1)[:n]
}
