package host_test

import (
	"context"
	"slices"
	"testing"

	"example.com/kitsoki/host"
)

// One id from the wire to the trace, an end for every start, and never an end before its start.
func TestTraceJoins(t *testing.T) {
	d := newDesk(t)
	defer d.board.Declare(nil)()
	asks, _ := d.surface("terminal")
	var opened host.OpenedAsk
	ctx := host.WithAskRequest(context.Background(), host.AskRequest{
		ID: "wire-id", ToolUseID: "toolu_1", Asker: host.Asker{Agent: "claude", Path: []string{"tests"}},
		Opened: func(a host.OpenedAsk) { opened = a },
	})
	got := d.ask(ctx, database)
	if err := wait(t, asks).Answer(context.Background(), []host.Answer{{Picked: []int{0}, Note: "for now"}}); err != nil {
		t.Fatal(err)
	}
	wait(t, got)
	opened.Delivered(true)
	if want := []string{"operator.question.asked", "operator.question.answered", "operator.question.delivered"}; !slices.Equal(d.rec.Names(), want) {
		t.Fatalf("events %v", d.rec.Names())
	}
	events := d.rec.Events()
	asked, _ := events[0].(host.QuestionAsked)
	answered, _ := events[1].(host.QuestionAnswered)
	delivered, _ := events[2].(host.QuestionDelivered)
	if asked.QuestionID != "wire-id" || answered.QuestionID != "wire-id" || delivered.QuestionID != "wire-id" {
		t.Errorf("ids %q %q %q", asked.QuestionID, answered.QuestionID, delivered.QuestionID)
	}
	if answered.Surface != "terminal" || answered.ToolUseID != "toolu_1" || answered.Answers[0].Labels[0] != "Postgres" || answered.Answers[0].Note != "for now" {
		t.Errorf("answered %+v", answered)
	}
}
