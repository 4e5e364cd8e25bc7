package session

import (
	"context"
	"errors"
	"slices"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// A turn of a program's leaves alone what the operator has queued: nobody is there who waits for it.
func TestRunLeavesTheQueueAlone(t *testing.T) {
	goOn := make(chan struct{})
	s := newTestSession(t, func(_ context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
		if req.Prompt == "fails" {
			<-goOn
			return agent.Result{}, errors.New("broken")
		}
		return agent.Result{Text: req.Prompt}, nil
	})
	for _, prompt := range []string{"fails", "queued"} {
		if err := s.Queue(context.Background(), prompt); err != nil {
			t.Fatal(err)
		}
	}
	close(goOn)
	ended(t, s, 0)
	report, err := s.RunReport(context.Background(), Input{Prompt: "by a program", Verb: agent.Ask})
	if err != nil || report.Text != "by a program" || report.Turn != 2 || report.Outcome != Done {
		t.Errorf("got %+v, %v", report, err)
	}
	if now := snap(t, s); !slices.Equal(now.Queue, []string{"queued"}) || !now.Held || now.Turn != 2 || now.State != Idle {
		t.Errorf("the session is %+v", now)
	}
}

// Why a turn was stopped is told to the trace in the words of whoever stopped it.
func TestRunIsStoppedWithItsCause(t *testing.T) {
	began := make(chan struct{}, 1)
	s := newTestSession(t, func(ctx context.Context, _ agent.Request, _ agent.Observer) (agent.Result, error) {
		began <- struct{}{}
		<-ctx.Done()
		return agent.Result{}, context.Cause(ctx)
	})
	last := uint64(0)
	for cause, words := range map[error]string{
		&host.Unanswered{Outcome: host.Cancelled, Reason: "the caller is gone"}: "the caller is gone", errors.New("any other"): stopReason,
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		go func() { <-began; cancel(cause) }()
		report, err := s.RunReport(ctx, Input{Prompt: "go"})
		if err == nil || report.Outcome != StoppedTurn {
			t.Errorf("got %+v, %v", report, err)
		}
		var end Event
		if end, last = ended(t, s, last); !end.Stopped || end.Text != words {
			t.Errorf("ended as %+v, want %q", end, words)
		}
	}
}
