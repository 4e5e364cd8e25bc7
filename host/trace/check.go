package trace

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// State is how a trace ends.
type State string

// The states of a trace.
const (
	Closed State = "closed" // the session was closed
	Open   State = "open"   // a process is writing it
	Killed State = "killed" // its process ended without closing the session
)

// Violation is something that must not be in a trace: one sentence, safe to show, about the record Seq (0: the
// file as a whole).
type Violation struct {
	Seq      uint64 `json:"seq"`
	Sentence string `json:"sentence"`
}

// Report is what Check found.
type Report struct {
	State      State       `json:"state"`
	Events     uint64      `json:"events"`
	Lost       uint64      `json:"lost"` // events that the recorder says are missing
	Torn       int64       `json:"torn"` // bytes of an unfinished last line
	Killed     int         `json:"killed"`
	Violations []Violation `json:"violations"`
}

// maxViolations bounds a report: a file that is broken throughout has one cause.
const maxViolations = 100

// Check reads a trace to its end and says what is wrong with it. live tells whether it is still being written:
// what is open at the end of such a trace may still end. What is open where a process was killed is no
// violation either; after a gap nothing is missed that could be in it.
func Check(r io.Reader, live bool) Report {
	c := &checker{}
	c.reset()
	rd := NewReader(r)
	for {
		rec, err := rd.Next()
		var bad *LineError
		switch {
		case err == nil:
			c.record(rec)
		case errors.As(err, &bad):
			c.seq = c.next
			c.fail("%v", bad)
			c.broken = true
		case errors.Is(err, io.EOF):
			if rd.begun == 0 && rd.Torn() == 0 {
				c.fail("the file is empty")
			}
			return c.finish(rd, live)
		default:
			c.fail("%v", err)
			return c.finish(rd, live)
		}
	}
}

// checker holds what the records so far have said.
type checker struct {
	report  Report
	seq     uint64 // of the record at hand
	next    uint64 // that should come
	last    time.Time
	broken  bool // a line could not be read: what is missing may have been in it
	session string
	opened  bool // and not closed
	closed  bool
	turn    int  // open; 0: none
	turns   int  // the last one started
	anew    bool // no turn was started since the session was opened
	agent   bool
	guests  bool // it is a session of guests, which has no turns
	asks    map[string]*ask
}

// ask is what is known of a question_id.
type ask struct {
	asked     host.QuestionAsked
	turn      int
	ended     uint64 // the record of its end
	outcome   host.Outcome
	delivered bool
	judged    bool // of a proposal: a verdict of the gate names it
}

// reset forgets what belongs to one process.
func (c *checker) reset() {
	c.opened, c.closed, c.agent, c.turn, c.anew = false, false, false, 0, true
	if c.asks == nil {
		c.asks = map[string]*ask{}
	}
}

func (c *checker) fail(format string, args ...any) {
	if len(c.report.Violations) < maxViolations {
		c.report.Violations = append(c.report.Violations, Violation{Seq: c.seq, Sentence: askbridge.Safe(fmt.Sprintf(format, args...))})
	}
}

// missing is for what could be in a gap of the trace.
func (c *checker) missing(format string, args ...any) {
	if c.report.Lost == 0 && !c.broken {
		c.fail(format, args...)
	}
}

func (c *checker) record(rec Record) {
	c.report.Events++
	c.seq = rec.Seq
	if c.next == 0 {
		c.next = 1
	}
	if rec.Seq != c.next && !c.broken {
		c.fail("the sequence number is %d, where %d should come", rec.Seq, c.next)
	}
	c.next = max(rec.Seq, c.next) + 1
	if rec.Time.Before(c.last) {
		c.fail("the time goes back from %s to %s", c.last.Format(time.RFC3339Nano), rec.Time.Format(time.RFC3339Nano))
	}
	c.last = rec.Time
	e, err := rec.Decode()
	switch {
	case err != nil:
		c.fail("%v", err)
	case e != nil:
		c.belongs(e)
		c.event(e)
	}
}

// belongs checks that an event is of this session and that it is open.
func (c *checker) belongs(e host.Event) {
	switch {
	case e.Session() == "":
		c.fail("%s names no session", e.Name())
	case c.session == "":
		c.session = e.Session()
	case c.session != e.Session():
		c.fail("%s belongs to the session %q, and this is the trace of %q", e.Name(), e.Session(), c.session)
	}
	switch e.(type) {
	case SessionOpened, Repaired, Gap:
		return
	}
	switch {
	case c.closed:
		c.fail("%s comes after the end of the session", e.Name())
	case !c.opened:
		c.missing("%s comes before the session was opened", e.Name())
	}
}

func (c *checker) event(e host.Event) {
	switch e := e.(type) {
	case Gap:
		c.report.Lost += e.Lost
		if e.Lost == 0 {
			c.fail("a gap without lost events")
		}
	case SessionOpened:
		if c.opened { // by a process that did not come to close it
			c.report.Killed++
			c.forgive()
		}
		c.reset()
		c.opened, c.guests = true, e.Agent == Guests
	case SessionClosed:
		c.ends("the session was closed")
		c.opened, c.closed = false, true
	case TurnStarted:
		c.turnStarted(e)
	case TurnEnded:
		c.turnEnded(e)
	case AgentStarted:
		if c.agent {
			c.missing("the agent of turn %d was started twice", e.Turn)
		}
		c.inTurn(e.Name(), e.Turn)
		c.agent = true
	case AgentEnded:
		if !c.agent {
			c.missing("an agent ended that was not started")
		}
		c.inTurn(e.Name(), e.Turn)
		c.agent = false
	case AgentTool:
		c.inTurn(e.Name(), e.Turn)
	case AskRecalled:
		c.inTurn(e.Name(), e.Turn)
	case AskRefused:
		c.inTurn(e.Name(), e.Turn)
	default:
		c.question(e)
	}
}

func (c *checker) turnStarted(e TurnStarted) {
	if c.guests {
		c.fail("turn %d started in a session of guests", e.Turn)
	}
	if c.turn != 0 {
		c.missing("turn %d started while turn %d was open", e.Turn, c.turn)
	}
	if e.Turn != c.turns+1 && (!c.anew || e.Turn != 1) { // they are counted on, or by an earlier kitsoki from 1
		c.missing("turn %d started after turn %d", e.Turn, c.turns)
	}
	c.turn, c.turns, c.agent, c.anew = e.Turn, e.Turn, false, false
}

func (c *checker) turnEnded(e TurnEnded) {
	c.inTurn(e.Name(), e.Turn)
	if c.agent {
		c.missing("turn %d ended before its agent", e.Turn)
	}
	for _, id := range slices.Sorted(maps.Keys(c.asks)) {
		if a := c.asks[id]; a.ended == 0 && a.turn == e.Turn && a.asked.ToolUseID != "" {
			c.missing("turn %d ended while its ask %q was open", e.Turn, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.asks)) {
		if a := c.asks[id]; a.turn == e.Turn && a.asked.Kind == host.KindProposal && a.ended != 0 && !a.judged {
			c.missing("turn %d ended, and nothing says what became of the proposal %q", e.Turn, id)
			a.judged = true
		}
	}
	c.turn, c.agent = 0, false
}

// inTurn checks that an event belongs to the turn that is open.
func (c *checker) inTurn(event string, turn int) {
	switch {
	case c.turn == 0:
		c.missing("%s belongs to turn %d, which is not open", event, turn)
	case turn != c.turn:
		c.missing("%s belongs to turn %d while turn %d is open", event, turn, c.turn)
	}
}

// ends checks that nothing is open any more.
func (c *checker) ends(what string) {
	if c.agent {
		c.missing("%s before the agent of turn %d ended", what, c.turn)
	}
	if c.turn != 0 {
		c.missing("%s before turn %d ended", what, c.turn)
	}
	for _, id := range slices.Sorted(maps.Keys(c.asks)) {
		if a := c.asks[id]; a.ended == 0 {
			c.missing("%s before the ask %q ended", what, id)
			a.ended = c.seq
		}
	}
	c.turn, c.agent = 0, false
}

// forgive ends what a killed process left open.
func (c *checker) forgive() {
	for _, a := range c.asks {
		if a.ended == 0 {
			a.ended = c.seq
		}
	}
}

func (c *checker) finish(rd *Reader, live bool) Report {
	c.report.Torn = rd.Torn()
	switch {
	case live:
		c.report.State = Open
	case c.closed:
		c.report.State = Closed
	default:
		c.report.State = Killed
		c.report.Killed++
	}
	if c.closed && !live && c.report.Torn > 0 {
		c.seq = 0
		c.fail("%d bytes come after the end of the session", c.report.Torn)
	}
	return c.report
}
