package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/trace"
)

// timeline shows a session to a person: a line an event with the time since the session began, asks with their
// questions and answers, calls of tools folded together.
type timeline struct {
	out   io.Writer
	id    string
	match func(trace.Record) bool

	begun time.Time
	last  time.Time
	state trace.State
	cost  float64
	asks  map[string]host.QuestionAsked
	tools tools
}

// tools are calls that were not shown yet.
type tools struct {
	at    time.Time
	names []string // in the order of their first call
	count map[string]int
}

func newTimeline(out io.Writer, s trace.Stored, match func(trace.Record) bool) *timeline {
	return &timeline{
		out: out, id: s.ID, match: match, state: trace.Killed,
		asks: map[string]host.QuestionAsked{}, tools: tools{count: map[string]int{}},
	}
}

func (t *timeline) record(rec trace.Record) error {
	if t.begun.IsZero() {
		t.begun = rec.Time
	}
	t.last = rec.Time
	e, err := rec.Decode()
	if err != nil {
		return t.fault(err)
	}
	t.note(e)
	if !t.match(rec) {
		return nil
	}
	if tool, ok := e.(trace.AgentTool); ok {
		t.fold(rec.Time, tool.Tool)
		return nil
	}
	if err := t.pause(); err != nil {
		return err
	}
	head, more := t.words(rec, e)
	if head == "" {
		return nil
	}
	return t.print(rec.Time, head, more...)
}

// note keeps what later lines and the end need, shown or not.
func (t *timeline) note(e host.Event) {
	switch e := e.(type) {
	case trace.SessionOpened:
		t.state = trace.Killed
	case trace.SessionClosed:
		t.state = trace.Closed
	case trace.TurnEnded:
		t.cost += e.CostUSD
	case host.QuestionAsked:
		t.asks[e.QuestionID] = e
	}
}

func (t *timeline) fold(at time.Time, tool string) {
	if len(t.tools.names) == 0 {
		t.tools.at = at
	}
	if t.tools.count[tool] == 0 {
		t.tools.names = append(t.tools.names, tool)
	}
	t.tools.count[tool]++
}

// pause shows the calls of tools so far.
func (t *timeline) pause() error {
	if len(t.tools.names) == 0 {
		return nil
	}
	var parts []string
	for _, name := range t.tools.names {
		part := shown(name)
		if n := t.tools.count[name]; n > 1 {
			part += fmt.Sprintf(" ×%d", n)
		}
		parts = append(parts, part)
	}
	at := t.tools.at
	t.tools = tools{count: map[string]int{}}
	return t.print(at, "  tools: "+strings.Join(parts, ", "))
}

func (t *timeline) fault(err error) error {
	return t.print(t.last, "(unreadable: "+shown(err.Error())+")")
}

// print writes one line with the time, and further ones below it.
func (t *timeline) print(at time.Time, head string, more ...string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%9s  %s\n", since(at.Sub(t.begun)), head)
	for _, line := range more {
		for part := range strings.SplitSeq(line, "\n") {
			fmt.Fprintf(&b, "%11s  %s\n", "", part)
		}
	}
	_, err := io.WriteString(t.out, b.String())
	return err
}

// since writes the time since the beginning.
func since(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("+%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("+%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("+%dh%02dm%02ds", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}

func (t *timeline) end(live bool, torn int64) error {
	if err := t.pause(); err != nil {
		return err
	}
	if t.begun.IsZero() {
		_, err := fmt.Fprintln(t.out, "nothing was recorded yet")
		return err
	}
	var how string
	switch {
	case live:
		how = "still open; go on watching: kitsoki trace " + shown(t.id) + " --follow"
	case t.state == trace.Closed:
		how = "closed"
	default:
		how = "its process ended without closing it"
	}
	if torn > 0 && !live {
		how += fmt.Sprintf("; the last line is torn (%d bytes)", torn)
	}
	_, err := fmt.Fprintf(t.out, "\nsession %s · %s · $%.4f · %s\n", shown(t.id), length(t.last.Sub(t.begun)), t.cost, how)
	return err
}

func length(d time.Duration) string { return strings.TrimPrefix(since(d), "+") }

// words says an event in a line, with further ones. Events of later versions are named and not explained.
func (t *timeline) words(rec trace.Record, e host.Event) (head string, more []string) {
	switch e := e.(type) {
	case trace.SessionOpened:
		return fmt.Sprintf("session %s opened %s · %s · %s · %s", shown(e.SessionID), rec.Time.Local().Format("2006-01-02 15:04:05"),
			shown(e.Agent), shown(e.Access), shown(e.Dir)), nil
	case trace.SessionClosed:
		return "session closed (" + shown(outcomeWords(host.Outcome(e.Reason))) + ")", nil
	case trace.AccessChanged:
		return fmt.Sprintf("access %s, was %s", shown(e.Access), shown(e.Was)), nil
	case trace.TurnStarted:
		head = fmt.Sprintf("turn %d", e.Turn)
		if e.Verb != "" {
			head += " · " + shown(e.Verb) + " · access " + shown(e.Access)
		}
		if !e.Operator {
			head += " (nobody could be asked)"
		}
		return head, []string{"“" + shownText(e.Prompt) + "”"}
	case trace.TurnEnded:
		head = fmt.Sprintf("turn %d %s · %s · $%.4f · %d tokens", e.Turn, shown(e.Outcome),
			length(time.Duration(e.DurationMS)*time.Millisecond), e.CostUSD, e.Tokens)
		if e.Error != "" {
			more = []string{shownText(e.Error)}
		}
		if e.Value != nil {
			more = append(more, shownText(string(e.Value)))
		}
		for _, f := range e.Files {
			more = append(more, fmt.Sprintf("changed %s: +%d −%d", shownText(f.Path), f.Added, f.Deleted))
		}
		return head, more
	case trace.AgentStarted:
		head = "  agent " + shown(e.Agent) + " started"
		if e.Conversation != "" {
			head += ", continuing " + shown(e.Conversation)
		}
		return head, nil
	case trace.AgentEnded:
		return "  agent " + shown(e.Agent) + " ended: " + shown(e.Outcome), nil
	}
	if head, more = t.askWords(e); head != "" {
		return head, more
	}
	return shown(rec.Event), nil
}

// askWords says what happened around an ask.
func (t *timeline) askWords(e host.Event) (head string, more []string) {
	switch e := e.(type) {
	case host.QuestionAsked:
		return "ask by " + askerWords(e.Asker) + " [" + shortID(e.QuestionID) + "]", questionWords(e.Questions)
	case host.QuestionAnswered:
		return fmt.Sprintf("answered [%s] after %s by %s", shortID(e.QuestionID),
			length(time.Duration(e.DurationMS)*time.Millisecond), shown(cmp.Or(e.Surface, "?"))), answerWords(t.asks[e.QuestionID].Questions, e.Answers)
	case host.QuestionUnanswered:
		head = fmt.Sprintf("no answer [%s] after %s: %s", shortID(e.QuestionID),
			length(time.Duration(e.DurationMS)*time.Millisecond), shown(outcomeWords(e.Outcome)))
		if e.Reason != "" {
			head += ", " + shown(e.Reason)
		}
		return head, answerWords(t.asks[e.QuestionID].Questions, e.Partial)
	case host.QuestionDelivered:
		if e.Delivered {
			return "  the agent has the answer [" + shortID(e.QuestionID) + "]", nil
		}
		return "  the answer did not reach the agent [" + shortID(e.QuestionID) + "]", nil
	case host.WriteModeGranted:
		head = "  denied by " + shown(e.By)
		if e.Granted {
			head = "  allowed (" + shown(string(e.Scope)) + ") by " + shown(e.By)
		}
		if more = []string{shownText(e.Action)}; e.Reason != "" {
			more = append(more, shown(e.Reason))
		}
		return head + " · " + shown(string(e.Effect)), more
	case trace.AskNormalised:
		for _, n := range e.Notes {
			more = append(more, shown(n.Where)+": "+shown(n.Text))
		}
		return "  ask mended [" + shortID(e.QuestionID) + "]", more
	case trace.AskRefused:
		return fmt.Sprintf("  a connection was turned away (process %d of user %d): %s", e.PID, e.UID, kept(e.Reason)), nil
	case trace.Repaired:
		return fmt.Sprintf("the trace was continued after a torn line (%d bytes)", e.Bytes), nil
	case trace.Gap:
		return fmt.Sprintf("%d events are missing here: %s", e.Lost, shown(e.Error)), nil
	}
	return "", nil
}

func askerWords(a host.Asker) string {
	who := []string{kept(cmp.Or(a.Agent, "?"))}
	for _, p := range a.Path {
		who = append(who, kept(p))
	}
	return strings.Join(who, " › ")
}

// shortID is enough of an id to filter by.
func shortID(id string) string { return shown(id[:min(8, len(id))]) }

func questionWords(qs []host.TracedQuestion) []string {
	var out []string
	for _, q := range qs {
		text := keptText(q.Question)
		if q.Header != "" {
			text = kept(q.Header) + ": " + text
		}
		out = append(out, text)
		for _, label := range q.Labels {
			out = append(out, "  · "+kept(label))
		}
	}
	return out
}

func answerWords(qs []host.TracedQuestion, as []host.TracedAnswer) []string {
	var out []string
	for i, a := range as {
		var parts []string
		for _, label := range a.Labels {
			parts = append(parts, kept(label))
		}
		if a.Text != "" {
			parts = append(parts, "“"+shownText(a.Text)+"”")
		}
		text := strings.Join(parts, ", ")
		switch {
		case a.Skipped:
			text = "(skipped)"
		case text == "":
			text = "(nothing picked)"
		}
		if i < len(qs) && qs[i].Header != "" {
			text = kept(qs[i].Header) + ": " + text
		}
		if a.Note != "" {
			text += " (note: " + shown(a.Note) + ")"
		}
		out = append(out, "→ "+text)
	}
	return out
}
