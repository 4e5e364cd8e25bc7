package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

// narrator turns the stream of one dispatch into the session's events.
type narrator struct {
	s      *Session
	turn   int
	req    agent.Request
	began  bool // the agent was started
	inited bool // the agent has said who it is
	again  bool // it is told of what was recorded before

	recall *recall // for the peek; nil remembers nothing
}

// agentStarted is called on the turn's own goroutine.
func (n *narrator) agentStarted(argv []string) {
	n.began = true
	n.recall.begin(n.turn)
	n.s.record(trace.AgentStarted{
		SessionID: n.s.id, Turn: n.turn, Agent: n.s.opt.Command.Name, Verb: string(n.req.Verb), Conversation: n.req.Conversation,
		Argv: trace.Argv(argv[0], argv[1:]),
	})
}

// retried is called between two attempts of one call: each start of an agent has its end.
func (n *narrator) retried(a agent.Attempt) {
	n.s.record(trace.AgentEnded{
		SessionID: n.s.id, Turn: n.turn, Agent: n.s.opt.Command.Name, Conversation: a.Result.Conversation, Outcome: "failed",
	})
}

// recalled tells of an ask that was answered from memory.
func (n *narrator) recalled(r agent.Recall) {
	e := trace.AskRecalled{SessionID: n.s.id, Turn: n.turn, QuestionID: r.QuestionID, ToolUseID: r.ToolUseID, Attempt: r.Attempt, Whole: r.Whole}
	for _, q := range r.Questions {
		e.Questions = append(e.Questions, askbridge.SafeText(q.Question))
	}
	n.s.record(e)
}

// normalised tells what had to be mended in an ask.
func (n *narrator) normalised(id string, notes []askbridge.Note) {
	e := trace.AskNormalised{SessionID: n.s.id, Turn: n.turn, QuestionID: id}
	for _, note := range notes {
		e.Notes = append(e.Notes, trace.Note{Where: askbridge.Safe(note.Path), Text: askbridge.Safe(note.Text)})
	}
	n.s.record(e)
}

func (n *narrator) event(e agent.StreamEvent, path []string) {
	if n.inited && !n.again && works(e) {
		n.s.took()
	}
	switch ev := e.(type) {
	case agent.Init:
		n.inited = true
		n.s.learn(ev)
	case agent.TextDelta:
		n.emit(path, Event{Kind: Delta, Key: ev.MessageID, Text: askbridge.SafeText(ev.Text)})
	case agent.Text:
		n.emit(path, Event{Kind: Said, Key: ev.MessageID, Text: askbridge.SafeText(ev.Text)})
	case agent.ToolUse:
		n.record(trace.AgentTool{SessionID: n.s.id, Turn: n.turn, ToolUseID: ev.ID, Parent: ev.Parent, Tool: ev.Name})
		if ev.Name != agent.AskTool { // the ask itself is shown
			n.emit(path, Event{Kind: Tool, Key: ev.ID, Tool: askbridge.Safe(ev.Name), Text: short(inputGist(ev.Input))})
		}
	case agent.ToolResult:
		n.emit(path, Event{Kind: ToolDone, Key: ev.ID, Failed: ev.IsError, Text: short(ev.Text)})
	case agent.Retry:
		n.emit(nil, Event{Kind: Notice, Text: askbridge.Safe(fmt.Sprintf("the agent's API failed (%d %s); attempt %d", ev.Status, ev.Error, ev.Attempt))})
	case agent.Garbled:
		n.emit(nil, Event{Kind: Notice, Text: "the agent printed a line that is no event: " + short(ev.Line)})
	}
}

func (n *narrator) record(e host.Event) {
	if !n.again {
		n.s.record(e)
	}
}

// notice passes on what the dispatch has to say.
func (n *narrator) notice(sentence string) {
	n.emit(nil, Event{Kind: Notice, Failed: true, Text: askbridge.Safe(sentence)})
}

// refused tells of a connection that the ask socket turned away.
func (n *narrator) refused(r askbridge.Refusal) {
	n.s.record(trace.AskRefused{SessionID: n.s.id, Turn: n.turn, Reason: askbridge.Safe(r.Reason), PID: r.PID, UID: r.UID})
	n.emit(nil, Event{Kind: Notice, Failed: true, Text: askbridge.Safe("the ask socket turned a connection away: " + r.Reason)})
}

func (n *narrator) emit(path []string, e Event) {
	e.Turn = n.turn
	for _, p := range path {
		e.Path = append(e.Path, askbridge.Safe(p))
	}
	n.recall.add(e)
	n.s.emit(e)
}

// learn takes over what the agent says of itself at the start of a run. A conversation's id is kept at once: a
// run that is killed later can still be continued.
func (s *Session) learn(e agent.Init) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Conversation != "" {
		s.conversation = e.Conversation
	}
	s.model = askbridge.Safe(e.Model)
	s.touch()
	s.emit(Event{Kind: Changed})
}

// observe shows what the switchboard recorded.
func (s *Session) observe(e host.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch ev := e.(type) {
	case host.QuestionAsked:
		s.asks[ev.QuestionID] = ev
		s.emit(Event{Kind: AskOpened, Turn: s.turn, Key: ev.QuestionID, Text: headsOf(ev), Path: ev.Asker.Path})
	case host.QuestionAnswered:
		s.emit(Event{
			Kind: AskSettled, Turn: s.turn, Key: ev.QuestionID, Outcome: ev.Outcome, Surface: ev.Surface,
			Question: headsOf(s.asks[ev.QuestionID]), Path: s.asks[ev.QuestionID].Asker.Path,
			Text: answersGist(s.asks[ev.QuestionID].Questions, ev.Answers),
		})
		delete(s.asks, ev.QuestionID)
		s.settledLocked(ev.QuestionID, saidOnce{outcome: ev.Outcome, answers: ev.Answers})
		s.unwatchLocked(ev.QuestionID)
	case host.QuestionUnanswered:
		s.emit(Event{
			Kind: AskSettled, Turn: s.turn, Key: ev.QuestionID, Outcome: ev.Outcome, Surface: ev.Surface, Text: askbridge.Safe(ev.Reason),
			Question: headsOf(s.asks[ev.QuestionID]), Path: s.asks[ev.QuestionID].Asker.Path,
		})
		delete(s.asks, ev.QuestionID)
		s.settledLocked(ev.QuestionID, saidOnce{outcome: ev.Outcome, answers: ev.Partial, reason: ev.Reason})
		s.unwatchLocked(ev.QuestionID)
	case host.WriteModeGranted:
		if text := verdictWords(ev); text != "" {
			s.emit(Event{Kind: Notice, Turn: ev.Turn, Text: text})
		}
	case host.QuestionDelivered:
		s.deliveredLocked(ev)
		s.emit(Event{Kind: AskDelivery, Turn: s.turn, Key: ev.QuestionID, Failed: !ev.Delivered})
	}
}

// headRunes bounds what the log shows of a question: the ask itself shows it whole.
const headRunes = 160

// headsOf are the questions of an ask in one line.
func headsOf(e host.QuestionAsked) string {
	var heads []string
	for _, q := range e.Questions {
		heads = append(heads, cutRunes(strings.TrimLeft(firstLine(q.Question), "# "), headRunes))
	}
	return strings.Join(heads, " · ")
}

// answersGist writes an answer into the log, a line a question.
func answersGist(qs []host.TracedQuestion, as []host.TracedAnswer) string {
	var lines []string
	for i, a := range as {
		var parts []string
		parts = append(parts, a.Labels...)
		if a.Text != "" {
			parts = append(parts, "“"+oneLine(a.Text)+"”")
		}
		switch {
		case a.Skipped:
			parts = []string{"(skipped)"}
		case len(parts) == 0:
			parts = []string{"(none of them)"}
		}
		line := strings.Join(parts, ", ")
		if i < len(qs) {
			head := qs[i].Header
			if head == "" {
				head = cutRunes(firstLine(qs[i].Question), 60) // safe already
			}
			line = head + ": " + line
		}
		if a.Note != "" {
			line += " (note: " + oneLine(a.Note) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// gistRunes bounds what the log shows of a tool's input and output.
const gistRunes = 240

// short makes one safe line of a text.
func short(text string) string {
	return askbridge.Safe(cutRunes(strings.Join(strings.Fields(text), " "), gistRunes))
}

func cutRunes(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}

// oneLine shows several lines as one.
func oneLine(text string) string {
	return askbridge.Safe(strings.ReplaceAll(strings.TrimSpace(text), "\n", " / "))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// inputGist picks of a tool's input what says most: a path, a command, a pattern.
func inputGist(input json.RawMessage) string {
	if s := inputField(input, "command", "file_path", "path", "pattern", "url", "query", "description", "prompt"); s != "" {
		return s
	}
	return string(input)
}

func inputField(input json.RawMessage, names ...string) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range names {
		var s string
		if json.Unmarshal(fields[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}
