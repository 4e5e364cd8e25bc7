package session

import (
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/trace"
)

// A proposal that a killed process left open is not asked again: its call is lost. Its end and its verdict are written,
// also where it had been answered and nothing says that it was carried out.
func TestProposalsOfAKilledProcessDoNotHappen(t *testing.T) {
	var p past
	p.ends, p.again = map[string]host.Outcome{}, map[string]string{}
	ask := func(id string) host.QuestionAsked {
		return host.QuestionAsked{QuestionID: id, Kind: host.KindProposal, Deadline: time.Now(), Questions: []host.TracedQuestion{{Question: "run it?"}}}
	}
	for _, e := range []host.Event{
		trace.SessionOpened{SessionID: "s"}, trace.TurnStarted{Turn: 1},
		ask("judged"), host.QuestionAnswered{QuestionID: "judged", Outcome: host.Answered}, host.WriteModeGranted{Question: "judged", Granted: true},
		ask("answered"), host.QuestionAnswered{QuestionID: "answered", Outcome: host.Answered},
		ask("open"),
	} {
		p.add(e)
	}
	if len(p.asks) != 0 || len(p.said) != 0 {
		t.Errorf("asked again are %v, owed %v", p.asks, p.said)
	}
	if len(p.proposals) != 2 || p.proposals[0].asked.QuestionID != "answered" || !p.proposals[0].ended || p.proposals[1].ended {
		t.Errorf("left are %+v", p.proposals)
	}
}
