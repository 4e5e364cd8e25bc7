package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// What the operator said is owed until the agent has it. The way of a live call ends with operator.question.delivered;
// where the call is lost, because a process was killed, what was said goes as a message with the next turn, and is
// delivered when that turn's agent has begun to work on it. The trace says that something is owed. The words are those
// of the desk, or of the trace where it has them word for word; else the operator is asked again.

// settledLocked notes what the agent has to be told of an ask that the operator, or the end of a process, ended.
func (s *Session) settledLocked(id string, said saidOnce) {
	w := s.watched[id]
	if w == nil {
		return
	}
	k := w.keep()
	switch {
	case said.outcome == host.Answered && w.reopens == "":
		k.Said, _ = said.words(k.Questions, true)
		s.sent[id] = k
	case w.reopens == "":
	case said.outcome == host.Answered, said.outcome == host.Declined:
		k.Said, _ = said.words(k.Questions, true)
		s.owed = append(s.owed, k)
	case said.outcome == host.HostClosing, said.outcome == host.NoOperator:
		k.ID = w.reopens
		s.reopen = append(s.reopen, k) // for the next process
	}
}

// deliveredLocked notes that an answer is owed no more: the agent has it, or its end of the way is gone, which the
// operator is told.
func (s *Session) deliveredLocked(e host.QuestionDelivered) {
	if e.Delivered {
		delete(s.sent, e.QuestionID)
	}
	s.touch()
}

// words is what the agent is told of an ask that has its end. Questions are safe, and read back to what was asked. live
// tells that all of it is as it came; else ok is false when it is not known word for word any more.
func (a saidOnce) words(questions []host.OperatorQuestion, live bool) (text string, ok bool) {
	qs := make([]host.OperatorQuestion, len(questions))
	for i, q := range questions {
		if qs[i] = unsafeQuestion(q); !live && !exact(q.Question) {
			return "", false
		}
	}
	as := make([]host.Answer, len(a.answers))
	for i, t := range a.answers {
		as[i] = host.Answer{Picked: t.Indexes, Text: t.Text, Note: t.Note, Skipped: t.Skipped, None: t.None}
		changed := !exact(t.Text) || !exact(t.Note) || i >= len(qs) || slices.ContainsFunc(t.Indexes, func(row int) bool {
			return row < 0 || row >= len(questions[i].Options) || !exact(questions[i].Options[row].Label)
		})
		if !live && changed {
			return "", false
		}
	}
	if a.outcome == host.Declined {
		return declined(qs, as, a.reason), live || exact(a.reason)
	}
	answers, notes, err := host.EncodeAnswers(qs, as)
	if err != nil {
		return "", false
	}
	return payload(answers, notes), true
}

// replaced is what a trace has in place of a text: a mark where a secret stood, or a hash of the whole.
var replaced = regexp.MustCompile(`‹redacted [A-Za-z0-9_-]*›|^sha256:[0-9a-f]{12}$`)

// wordless reports whether nothing is known of a text.
func wordless(text string) bool { return !exact(text) && strings.HasPrefix(text, "sha256:") }

// exact reports whether a text of the trace can be what was typed. One that was typed like that is not believed.
func exact(text string) bool { return !replaced.MatchString(text) }

// payload has the form of the tool's result.
func payload(answers map[string]any, notes map[string]string) string {
	whole := map[string]any{"answers": answers}
	if len(notes) > 0 {
		whole["notes"] = notes
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(whole) // strings and lists of strings always encode
	return strings.TrimSpace(b.String())
}

func declined(qs []host.OperatorQuestion, partial []host.Answer, reason string) string {
	text := "the operator declined to answer"
	if reason != "" {
		text += ": " + reason
	}
	before := map[string]any{}
	for i, a := range partial {
		if i < len(qs) && !a.Empty() {
			if answers, _, err := host.EncodeAnswers(qs[i:i+1], []host.Answer{a}); err == nil {
				before[qs[i].Question] = answers[qs[i].Question]
			}
		}
	}
	if len(before) > 0 {
		text += " (before declining, the operator had answered: " + payload(before, nil) + ")"
	}
	return text + ". Go on without this input where that is safe, and say what you assumed"
}

// exactly is what of it may be kept: where a secret would be replaced, the words are left out rather than changed.
func (s *Session) exactly(k keptAsk) keptAsk {
	data, err := json.Marshal(k.Said)
	if err != nil || !bytes.Equal(s.m.trace.Redact.JSON(data), data) {
		k.Said = ""
	}
	return k
}

// message is what the agent is told of asks whose calls are lost, in the order in which they ended.
func message(owed []keptAsk) string {
	who := func(k keptAsk) string {
		if n := len(k.Asker.Path); n > 0 {
			return "your sub-agent " + k.Asker.Path[n-1]
		}
		return "you"
	}
	const asked = " asked the operator with " + agent.AskTool + " before this conversation was interrupted. "
	if len(owed) == 1 {
		return upper(who(owed[0])) + asked + "The answer comes now, as a message: " + owed[0].Said
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls%sThe answers come now, as a message:", len(owed), asked)
	for i, k := range owed {
		fmt.Fprintf(&b, "\n%d. asked by %s: %s", i+1, who(k), k.Said)
	}
	return b.String()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// carryLocked adds what is owed to the prompt of a turn. A command of the agent's own has no room for it.
func (s *Session) carryLocked(prompt string) (whole string, carries []keptAsk) {
	if len(s.owed) == 0 || strings.HasPrefix(prompt, "/") {
		return prompt, nil
	}
	carries, s.owed = s.owed, nil
	if prompt == "" {
		return message(carries), carries
	}
	return message(carries) + "\n\n" + prompt, carries
}

// handOverLocked starts a turn with what is owed, once no lost ask is open any more: an agent that asked twice gets
// both answers at once, as it would have.
func (s *Session) handOverLocked() error {
	if s.closing || s.running != nil || s.lost > 0 || len(s.owed) == 0 {
		return nil
	}
	held := s.held
	what := "the answer goes to the agent as the next message, because the call that asked is lost"
	if n := len(s.owed); n > 1 {
		what = fmt.Sprintf("%d answers go to the agent as the next message, because the calls that asked are lost", n)
	}
	s.emit(Event{Kind: Notice, Text: what})
	t, err := s.startLocked(Input{})
	if err == nil {
		t.held = held
	}
	return err
}

// took notes that the agent works on what a turn carries.
func (s *Session) took() {
	s.mu.Lock()
	var carries []keptAsk
	if s.running != nil {
		carries, s.running.carries = s.running.carries, nil
	}
	s.mu.Unlock()
	for _, k := range carries {
		_ = s.m.Record(context.Background(), host.QuestionDelivered{QuestionID: k.ID, SessionID: s.id, Delivered: true}) // said on the screen
	}
}

// works reports whether an event shows that the agent has the prompt. Measured: 2.1.332 has written it into the
// conversation 0.1 s after its init, and says then that it requests.
func works(e agent.StreamEvent) bool {
	switch ev := e.(type) {
	case agent.TextDelta, agent.Text, agent.ToolUse, agent.Retry:
		return true
	case agent.Unknown:
		return ev.Type == "system" && ev.Subtype == "status"
	}
	return false
}

// putBackLocked keeps what a turn carried to an agent that did not come to work on it.
func (s *Session) putBackLocked(t *turn) {
	if len(t.carries) == 0 {
		return
	}
	s.owed, t.carries = append(t.carries, s.owed...), nil
	s.emit(Event{Kind: Notice, Failed: true, Text: "the agent did not come to read the answer, which goes along with your next prompt"})
}

// oweLocked takes over what an earlier process owed the agent. What is not known word for word is asked again.
func (s *Session) oweLocked(p past, desk deskFile) {
	kept := map[string]keptAsk{}
	for _, k := range slices.Concat(desk.Asks, desk.Owed) {
		kept[k.ID] = k
	}
	for _, said := range p.said {
		id := said.asked.QuestionID
		k, known := kept[id]
		if !known {
			k = keptOf(said.asked)
		}
		delete(kept, id)
		k.Lost = true
		if k.Said == "" {
			var ok bool
			if k.Said, ok = said.words(k.Questions, false); !ok {
				s.reopenLocked(k)
				continue
			}
		}
		s.owed = append(s.owed, k)
	}
	for _, k := range desk.Owed { // what a trace that could not be written does not know
		if _, left := kept[k.ID]; left && k.Lost && k.Said != "" && !p.knows(k.ID) {
			s.owed = append(s.owed, k)
		}
	}
}

// reopenLocked lets an ask be asked again, if its words are known.
func (s *Session) reopenLocked(k keptAsk) {
	if slices.ContainsFunc(k.Questions, func(q host.OperatorQuestion) bool { return wordless(q.Question) }) {
		s.wordless++
		return
	}
	k.Lost, k.Said = true, ""
	s.reopen = append(s.reopen, k)
}
