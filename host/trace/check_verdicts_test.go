package trace

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

// gatedStory is a turn with a proposal that was allowed for the turn, an action that this covered, a proposal that was
// declined, the same again, and something that nobody could be asked for.
func gatedStory() []host.Event {
	ask := func(id, call string) host.Event {
		return host.QuestionAsked{SessionID: "s1", QuestionID: id, ToolUseID: call, Kind: host.KindProposal, Questions: []host.TracedQuestion{
			{Question: "Run it?", Header: "Proposal", Labels: []string{"turn", "action", "session", "deny"}},
		}}
	}
	verdict := func(call, by, question string, scope host.Scope) host.WriteModeGranted {
		return host.WriteModeGranted{
			SessionID: "s1", Turn: 1, ToolUseID: call, State: "main", Action: "run x", Effect: host.EffectWrite, By: by, Question: question, Hash: "h-" + call,
			Scope: scope, Granted: scope != "",
		}
	}
	return []host.Event{
		SessionOpened{SessionID: "s1", Agent: "claude", Dir: "/project", Access: "ask"},
		TurnStarted{SessionID: "s1", Turn: 1, Prompt: "mend it", Operator: true},
		AgentStarted{SessionID: "s1", Turn: 1, Agent: "claude", Verb: "converse"},
		ask("p1", "t1"),
		host.QuestionAnswered{SessionID: "s1", QuestionID: "p1", ToolUseID: "t1", Outcome: host.Answered, Surface: "terminal", Answers: []host.TracedAnswer{
			{Indexes: []int{0}, Labels: []string{"turn"}},
		}},
		verdict("t1", "operator", "p1", host.ScopeTurn),
		verdict("t2", "grant 1", "", host.ScopeTurn),
		ask("p2", "t3"),
		host.QuestionUnanswered{SessionID: "s1", QuestionID: "p2", ToolUseID: "t3", Outcome: host.Declined, Surface: "terminal", Reason: "no"},
		verdict("t3", "operator", "p2", ""),
		verdict("t4", "an earlier denial", "", ""),
		verdict("t5", "nobody", "", ""),
		AgentEnded{SessionID: "s1", Turn: 1, Agent: "claude", Outcome: "done"},
		TurnEnded{SessionID: "s1", Turn: 1, Outcome: "done", Denials: 3},
		SessionClosed{SessionID: "s1", Reason: "host_closing"},
	}
}

func TestVerdictsHold(t *testing.T) {
	check := func(name string, events []host.Event) {
		t.Helper()
		if r := Check(bytes.NewReader(encode(recordsOf(t, events))), false); len(r.Violations) > 0 {
			t.Errorf("%s: %+v", name, r.Violations)
		}
	}
	check("the story", gatedStory())
	overtaken := slices.Concat(gatedStory()[:8], []host.Event{
		host.QuestionUnanswered{SessionID: "s1", QuestionID: "p2", ToolUseID: "t3", Outcome: host.Cancelled, Reason: "covered by what was allowed meanwhile"},
		edit(6, func(e *host.WriteModeGranted) { e.ToolUseID, e.Question = "t3", "p2" })(gatedStory())[6],
	}, gatedStory()[10:])
	check("a grant overtakes a proposal", overtaken)
	hashed := edit(4, func(e *host.QuestionAnswered) { e.Answers[0].Labels[0] = "#1" })(gatedStory())
	check("without texts", edit(3, func(e *host.QuestionAsked) { e.Questions[0].Labels[0] = "#1" })(hashed))
	once := edit(4, func(e *host.QuestionAnswered) {
		e.Answers[0] = host.TracedAnswer{Indexes: []int{1}, Labels: []string{"action"}}
	})(gatedStory())
	once = edit(5, func(e *host.WriteModeGranted) { e.Effect, e.Scope = host.EffectExternal, host.ScopeAction })(once)
	check("external, once", slices.Delete(once, 6, 7))
	for n := 3; n < 15; n++ { // killed anywhere, and taken up by the next process
		if r := Check(bytes.NewReader(encode(recordsOf(t, gatedStory()[:n]))), false); len(r.Violations) > 0 || r.State != Killed {
			t.Errorf("killed after %d events: %+v", n, r)
		}
	}
}

// What was open when kitsoki was killed gets its end and its verdict from the next process.
func TestVerdictsOfAKilledProcess(t *testing.T) {
	mended := slices.Concat(gatedStory()[:4], []host.Event{
		host.QuestionUnanswered{SessionID: "s1", QuestionID: "p1", ToolUseID: "t1", Outcome: host.AskerGone, Reason: "kitsoki was killed"},
		host.WriteModeGranted{SessionID: "s1", Turn: 1, ToolUseID: "t1", State: "main", Effect: host.EffectExternal, By: "gate", Reason: "kitsoki was killed", Question: "p1"},
		AgentEnded{SessionID: "s1", Turn: 1, Agent: "claude", Outcome: "failed"},
		TurnEnded{SessionID: "s1", Turn: 1, Outcome: "failed", Error: "kitsoki was killed"},
	})
	if r := Check(bytes.NewReader(encode(recordsOf(t, mended))), false); len(r.Violations) > 0 {
		t.Errorf("%+v", r.Violations)
	}
}

func TestEveryViolationOfVerdictsIsFound(t *testing.T) {
	for _, b := range []broken{
		{"another turn", edit(5, func(e *host.WriteModeGranted) { e.Turn = 2 }), "belongs to turn 2 while turn 1", 6},
		{"no turn", func(es []host.Event) []host.Event { return slices.Insert(es, 14, es[11]) }, "belongs to turn 1, which is not open", 15},
		{"another session", edit(5, func(e *host.WriteModeGranted) { e.SessionID = "s2" }), `belongs to the session "s2"`, 6},
		{"external for a turn", edit(5, func(e *host.WriteModeGranted) { e.Effect = host.EffectExternal }), `(external) was allowed for a turn`, 6},
		{"external by a session's grant", edit(6, func(e *host.WriteModeGranted) { e.Effect, e.Scope = host.EffectExternal, host.ScopeSession }), `(external) was allowed for a session`, 7},
		{"a read for a session", edit(5, func(e *host.WriteModeGranted) { e.Effect, e.Scope = host.EffectRead, host.ScopeSession }), `(read) was allowed for a session`, 6},
		{"an effect that is not known", edit(5, func(e *host.WriteModeGranted) { e.Effect = "" }), `() was allowed for a turn`, 6},
		{"allowed and not asked", edit(5, func(e *host.WriteModeGranted) { e.Question = "" }), "and was not asked", 6},
		{"asked as no ask", edit(5, func(e *host.WriteModeGranted) { e.Question = "p9" }), "which is no ask", 6},
		{"asked as a question", edit(3, func(e *host.QuestionAsked) { e.Kind = host.KindQuestion }), "which is no proposal", 6},
		{"allowed before it was answered", swap(4, 5), "was not answered", 5},
		{"allowed though declined", edit(9, func(e *host.WriteModeGranted) { e.Granted, e.Scope = true, host.ScopeAction }), "was not answered", 10},
		{"a verdict of another scope", edit(5, func(e *host.WriteModeGranted) { e.Scope = host.ScopeSession }), `the answer to its proposal "p1" was "turn"`, 6},
		{"allowed though the answer was no", edit(4, func(e *host.QuestionAnswered) {
			e.Answers[0] = host.TracedAnswer{Indexes: []int{3}, Labels: []string{"deny"}}
		}), `was "deny"`, 6},
		{"covered by a grant of another scope", edit(6, func(e *host.WriteModeGranted) { e.Scope = host.ScopeSession }), "which the operator had not given", 7},
		{"covered by nothing", edit(5, func(e *host.WriteModeGranted) { e.Granted, e.Scope = false, "" }), "which the operator had not given", 7},
		{"covered before it was given", swap(5, 6), "which the operator had not given", 6},
		{"no verdict", without(5), `what became of the proposal "p1"`, 13},
		{"no verdict of a denial", without(9), `what became of the proposal "p2"`, 13},
	} {
		t.Run(b.name, func(t *testing.T) {
			r := Check(bytes.NewReader(encode(recordsOf(t, b.change(gatedStory())))), false)
			if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Seq == b.seq && strings.Contains(v.Sentence, b.want) }) {
				t.Errorf("record %d: …%s… was not found in %+v", b.seq, b.want, r.Violations)
			}
		})
	}
}
