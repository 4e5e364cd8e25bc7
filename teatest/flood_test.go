package teatest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"

	"example.com/kitsoki/teatest/claudecli"
)

// Three agents ask within a moment, some time after the prompt: the operator has let go of the keyboard by then.
const threeWithinAMoment = `name: n
description: d
pace: 1ms
without_operator: Nobody can be asked.
steps:
  - tool: {name: Read, input: {file_path: notes}, takes: 1500ms, result: nothing}
  - together:
      - parent: {id: a, name: one, description: d, prompt: p, steps: [{ask: {id: aa, questions: [{question: Port?, header: Port, options: [{label: one}, {label: two}], multiSelect: false}]}}, {say: x}]}
      - parent: {id: b, name: two, description: d, prompt: p, steps: [{tool: {name: Read, input: {file_path: b}, takes: 4ms, result: x}}, {ask: {id: bb, questions: [{question: Port?, header: Port, options: [{label: one}, {label: two}], multiSelect: false}]}}, {say: x}]}
      - parent: {id: c, name: three, description: d, prompt: p, steps: [{tool: {name: Read, input: {file_path: c}, takes: 8ms, result: x}}, {ask: {id: cc, questions: [{question: Which hosts?, header: Hosts, options: [{label: here}, {label: there}], multiSelect: true}]}}, {say: x}]}
  - say: That is all.
`

// Two hundred keys in one burst, Enter among them, settle nothing, and nothing that they type is lost.
func TestFloodOnAnAsk(t *testing.T) {
	f := openFlooded(t)
	f.see("3 · scripted")
	b := burst(f.t, everyKey, isWhole)
	f.keys(b.raw)
	f.see(fmt.Sprintf("%d early keys are in the prompt", len(b.text)))
	f.checkNoneSettled()
	f.keys("\x1b")
	f.waitComposer(b.text)
	f.leave()
}

// bubbletea takes an arrow that its reads of 256 bytes tear apart for Esc and text, so that the ask is folded.
// That answers nothing, either.
func TestFloodThatIsTornByARead(t *testing.T) {
	f := openFlooded(t)
	f.see("3 · scripted")
	b := burst(f.t, everyKey, isTorn)
	f.keys(b.raw)
	f.checkAllKept(b.text)
	f.leave()
}

// The burst begins before the operator can see an ask: some of it may go out as prompts.
func TestFloodAsTheAsksArrive(t *testing.T) {
	f := openFlooded(t)
	if !eventually(func() bool { return len(f.asked()) > 0 }) {
		t.Fatal("nobody asked")
	}
	b := burst(f.t, forwardKeys, isAny)
	f.keys(b.raw)
	f.checkAllKept(b.text)
	f.leave()
}

// Asks that arrive while the operator types do not open; the Enter in the burst is for the prompt.
func TestFloodIntoAPrompt(t *testing.T) {
	f := openFlooded(t)
	f.keys("half a prompt ")
	f.see("3 wait")
	b := burst(f.t, forwardKeys, isAny)
	f.keys(b.raw)
	f.checkAllKept("half a prompt " + b.text)
	f.leave()
}

// flooded is the program on a terminal that is wide enough for everything to stand in one line.
type flooded struct {
	*terminal
	env  []string
	rows uint16
}

const floodWidth = 180

func openFlooded(t *testing.T) *flooded {
	t.Helper()
	env := claudecli.Env(t, "http://127.0.0.1:9")
	argv := []string{program(t), "demo", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, threeWithinAMoment)}
	f := &flooded{terminal: openTerminal(t, env, argv...), env: env, rows: 20}
	f.see("This is a demo")
	f.frame()
	f.keys("begin")
	f.waitComposer("begin")
	f.keys("\r")
	f.see("working")
	return f
}

func (f *flooded) keys(raw string) {
	f.t.Helper()
	if _, err := f.ptm.WriteString(raw); err != nil {
		f.t.Fatal(err)
	}
}

// frame has the whole screen drawn anew, by a change of its height, and returns its text.
func (f *flooded) frame() string {
	f.t.Helper()
	from := len(f.output())
	f.rows = 41 - f.rows
	if err := pty.Setsize(f.ptm, &pty.Winsize{Rows: f.rows, Cols: floodWidth}); err != nil {
		f.t.Fatal(err)
	}
	end := fmt.Sprintf("\x1b[%d;H", f.rows)
	f.waitUntil("a new frame", func() bool { return strings.Contains(f.output()[from:], end) })
	return strings.ReplaceAll(ansi.Strip(f.output()[from:]), "\r", "")
}

// see waits until the text was drawn, in whatever colours.
func (f *flooded) see(text string) {
	f.t.Helper()
	f.waitUntil(fmt.Sprintf("%q", text), func() bool { return strings.Contains(ansi.Strip(f.output()), text) })
}

func (f *flooded) waitUntil(what string, ok func() bool) {
	f.t.Helper()
	if !eventually(ok) {
		f.t.Fatalf("never saw %s; the screen is\n%s", what, f.frame())
	}
}

var (
	composerLine = regexp.MustCompile(`(?m)^> (.*)$`)
	queuedCount  = regexp.MustCompile(`· (\d+) queued`)
)

// composer is what stands in the prompt, without the blanks at its end; empty while an ask hides it.
func (f *flooded) composer() string {
	f.t.Helper()
	frame := f.frame()
	_, below, _ := strings.Cut(frame, strings.Repeat("-", floodWidth))
	lines := composerLine.FindAllStringSubmatch(below, -1)
	if len(lines) == 0 {
		return ""
	}
	// Where nothing is coloured the cursor is drawn as a sign.
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(lines[len(lines)-1][1], " "), "|"), " ")
}

// waitPrompt waits until what stands in the prompt is as it should be, and returns it. Between two looks it leaves
// the program time for more than drawing new frames.
func (f *flooded) waitPrompt(what string, ok func(text string) bool) string {
	f.t.Helper()
	for range 30 {
		if text := f.composer(); ok(text) {
			return text
		}
		quiet()
	}
	f.t.Fatalf("in the prompt is never %s; the screen is\n%s", what, f.frame())
	return ""
}

func (f *flooded) waitComposer(text string) {
	f.t.Helper()
	f.waitPrompt(fmt.Sprintf("%q", text), func(now string) bool { return now == text })
}

// asked lists the asks by what became of each.
func (f *flooded) asked() map[string]string {
	f.t.Helper()
	asks := map[string]string{}
	for _, r := range traceOf(f.t, f.env) {
		id, _ := r.Data["question_id"].(string)
		switch r.Event {
		case "operator.question.asked":
			asks[id] = "open"
		case "operator.question.answered", "operator.question.unanswered":
			asks[id], _ = r.Data["outcome"].(string)
		}
	}
	return asks
}

func (f *flooded) checkNoneSettled() {
	f.t.Helper()
	f.waitUntil("three asks", func() bool { return len(f.asked()) == 3 })
	for id, now := range f.asked() {
		if now != "open" {
			f.t.Errorf("the burst settled ask %s: %s", id, now)
		}
	}
}

// checkAllKept checks that nothing was settled, and that what was typed is, in its order, in the prompts that were
// queued and the one in hand.
func (f *flooded) checkAllKept(typed string) {
	f.t.Helper()
	f.checkNoneSettled()
	quiet()
	if f.composer() == "" {
		f.keys("\x1b") // an ask is in front
	}
	last := typed[len(typed)-1:]
	parts := []string{f.waitPrompt("the last key", func(now string) bool { return strings.HasSuffix(now, last) })}
	for {
		queued := queuedCount.FindStringSubmatch(f.frame())
		if queued == nil {
			break
		}
		f.keys("\x15\x10") // clear, and take back what is queued: with one, it; with several, from a list
		if queued[1] != "1" {
			f.see("queued, the next first")
			f.keys("\r")
		}
		before := parts[0]
		queuedBefore := f.waitPrompt("the one that was queued", func(now string) bool { return now != "" && now != before })
		parts = slices.Insert(parts, 0, queuedBefore)
	}
	kept := strings.ReplaceAll(strings.Join(parts, ""), " ", "")
	for _, r := range strings.ReplaceAll(typed, " ", "") {
		_, rest, ok := strings.Cut(kept, string(r))
		if !ok {
			f.t.Errorf("%q of %q is not in %q", r, typed, parts)
			break
		}
		kept = rest
	}
	f.checkNoneSettled()
}

// leave quits, with the asks still open.
func (f *flooded) leave() {
	f.t.Helper()
	f.keys("\x03")
	f.see("again quits")
	f.keys("\x03")
	if code := f.waitExit(); code != 0 {
		f.t.Errorf("exit code %d", code)
	}
	outcomes := checkTrace(f.t, f.env)
	for id, outcome := range outcomes {
		if outcome != "host_closing" {
			f.t.Errorf("ask %s ended as %s", id, outcome)
		}
	}
	if len(outcomes) != 3 {
		f.t.Errorf("%d asks ended, want 3", len(outcomes))
	}
	checkNobodyLeft(f.t, f.env)
	checkNothingLeft(f.t, f.env)
}

// flooding is a burst: its bytes, and those of its keys that type something.
type flooding struct{ raw, text string }

const (
	floodKeys = 200
	readSize  = 256 // of bubbletea's reads
)

// The keys between the printable ones. The forward ones do not move the cursor of a prompt that is typed at its end,
// so that what is typed stands in its order wherever it lands.
var (
	everyKey    = []string{"\r", "\x1b[A", "\t", "\x1b[B", " ", "\x1b[D", "\x1b[C", "\x1b[B"}
	forwardKeys = []string{"\r", "\x1b[C", "\t", "\x1b[B", " "}
)

// burst mixes 200 keys: two that are printable, of all that mean something on an ask, and one of the others. It
// begins with as many plain ones as it takes for the bytes to be as is wanted.
func burst(t *testing.T, others []string, is func(raw string) bool) flooding {
	t.Helper()
	const printable = "abcdefghijklmnopqrstuvwxyz0123456789?/+-"
	for plain := range floodKeys {
		var b flooding
		for i := range floodKeys {
			key := string(printable[i%len(printable)])
			switch {
			case i == floodKeys-1:
				key = "." // the only one
			case i >= plain && i%3 == 1:
				key = others[i/3%len(others)]
			}
			b.raw += key
			if len(key) == 1 && key >= " " {
				b.text += key
			}
		}
		if is(b.raw) {
			return b
		}
	}
	t.Fatal("no such burst")
	return flooding{}
}

func isAny(string) bool { return true }

// isTorn reports whether a read ends within an arrow.
func isTorn(raw string) bool { return len(raw) > readSize && raw[readSize-1] == '\x1b' }

// isWhole reports whether no read does.
func isWhole(raw string) bool {
	return len(raw) > readSize && raw[readSize-1] != '\x1b' && raw[readSize-2] != '\x1b'
}
