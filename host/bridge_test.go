package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/hosttest"
)

// shiftedClock stands still at the machine's present time: the far end of a socket goes by its own clock.
type shiftedClock struct {
	*hosttest.Clock
	by time.Duration
}

func (c shiftedClock) Now() time.Time { return c.Clock.Now().Add(c.by) }

// bridge is a dispatch's socket with a switchboard behind it and a surface on that.
type bridge struct {
	*desk
	asks     <-chan shown
	socket   string
	listener *askbridge.Listener
}

func newBridge(t *testing.T, opt host.BridgeOptions) *bridge {
	clock := shiftedClock{Clock: hosttest.NewClock()}
	clock.by = time.Since(clock.Clock.Now())
	b := &bridge{desk: &desk{t: t, clock: clock.Clock, rec: &hosttest.Recorder{}}}
	b.board = host.NewSwitchboard(host.SwitchboardOptions{Clock: clock, Recorder: b.rec})
	t.Cleanup(b.board.Declare(nil))
	b.asks, _ = b.surface("terminal")

	runtime, err := os.MkdirTemp("", "k") //nolint:usetesting // a socket's path has to be short, which t.TempDir is not
	if err != nil {
		t.Fatal(err)
	}
	dir, err := askbridge.NewDir(runtime)
	if err != nil {
		t.Fatal(err)
	}
	limits := askbridge.DefaultLimits()
	limits.PerMinute = 1 << 20
	opt.Prompter, opt.SessionID = b.board, "s1"
	b.socket = dir.Socket()
	if b.listener, err = askbridge.Listen(dir, host.NewBridge(opt), askbridge.ListenOptions{Limits: limits}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // a test may have closed it
			t.Error(err)
		}
		if err := errors.Join(dir.Remove(), os.Remove(runtime)); err != nil {
			t.Error(err)
		}
		closed(t, b.board)
		if n := b.clock.Timers(); n != 0 {
			t.Errorf("%d timers left", n)
		}
	})
	return b
}

type final struct {
	askbridge.Final
	err      error
	exchange *askbridge.Exchange
}

// call is the grandchild's side of one tool call; its end comes out of the channel.
func (b *bridge) call(ctx context.Context, id string, args any) <-chan final {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	client, err := askbridge.Dial(b.socket)
	if err != nil {
		b.t.Fatal(err)
	}
	exchange, err := client.Ask(context.Background(), askbridge.AskParams{ID: id, ToolUseID: "toolu_" + id, Arguments: raw})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = exchange.Close() })
	ch := make(chan final, 1)
	go func() {
		f, err := exchange.Wait(ctx)
		ch <- final{f, err, exchange}
	}()
	return ch
}

// end waits for the end of the ask q1 in the trace.
func (b *bridge) end() (answered host.QuestionAnswered, unanswered host.QuestionUnanswered) {
	b.t.Helper()
	eventually(b.t, "the end of the ask in the trace", func() bool {
		for _, e := range b.rec.Events() {
			switch e := e.(type) {
			case host.QuestionAnswered:
				if e.QuestionID == "q1" {
					answered = e
					return true
				}
			case host.QuestionUnanswered:
				if e.QuestionID == "q1" {
					unanswered = e
					return true
				}
			}
		}
		return false
	})
	return answered, unanswered
}

func (b *bridge) delivered() (ok bool) {
	b.t.Helper()
	eventually(b.t, "the word of delivery", func() bool {
		for _, e := range b.rec.Events() {
			if d, is := e.(host.QuestionDelivered); is && d.QuestionID == "q1" {
				ok = d.Delivered
				return true
			}
		}
		return false
	})
	return ok
}

func questions(qs ...askbridge.Question) any { return map[string]any{"questions": qs} }

var nastyQuestion = askbridge.Question{
	Question: "Deploy \x1b[2J\u202e?\nReally ‹ESC›?", Header: "‹Dep›\tloy",
	Options: []askbridge.Option{{Label: "Yes\u202e"}, {Label: "Yes‹U+202E›"}, {Label: ` ["Yes"] `}},
}

func TestBridgeCarriesTheAnswerByteForByte(t *testing.T) {
	b := newBridge(t, host.BridgeOptions{Asker: func(toolUseID string) host.Asker { return host.Asker{Agent: "claude", Path: []string{toolUseID}} }})
	multi := askbridge.Question{Question: "Which?", MultiSelect: true, Options: []askbridge.Option{{Label: "a, b"}, {Label: "c\x07"}, {Label: "d"}}}
	got := b.call(context.Background(), "q1", questions(nastyQuestion, multi))
	a := wait(t, b.asks)
	info := a.Info()
	if info.ID != "q1" || info.ToolUseID != "toolu_q1" || info.SessionID != "s1" || info.Asker.Agent != "claude" || !slices.Equal(info.Asker.Path, []string{"toolu_q1"}) {
		t.Errorf("info %+v", info)
	}
	if shown := info.Questions[0]; strings.ContainsAny(shown.Question+shown.Header+shown.Options[0].Label, "\x1b\u202e\t") || shown.Options[0].Label == shown.Options[1].Label {
		t.Errorf("shown was %+v", shown)
	}
	answers := []host.Answer{{Picked: []int{0}, Text: "tomorrow‹›\x1b", Note: "n"}, {Picked: []int{0, 1}, Text: "own"}}
	if err := a.Answer(context.Background(), answers); err != nil {
		t.Fatal(err)
	}
	f := wait(t, got)
	want := map[string]any{nastyQuestion.Question: "Yes\u202e", "Which?": []any{"a, b", "c\x07", "own"}}
	if f.err != nil || f.Error != "" || !reflect.DeepEqual(f.Answers, want) {
		t.Fatalf("the agent got %q, %q, %v; want %q", f.Answers, f.Error, f.err, want)
	}
	if want := map[string]string{nastyQuestion.Question: "tomorrow‹›\x1b\nn"}; !reflect.DeepEqual(f.Notes, want) {
		t.Errorf("notes %q, want %q", f.Notes, want)
	}
	if err := f.exchange.Delivered(); err != nil {
		t.Fatal(err)
	}
	if !b.delivered() {
		t.Error("the answer was recorded as not delivered")
	}
	if answered, _ := b.end(); answered.Surface != "terminal" || answered.ToolUseID != "toolu_q1" {
		t.Errorf("the trace has %+v", answered)
	}
}

// Whatever the texts are, the picked label and the question come home as they were sent.
func TestBridgeTextsProperty(t *testing.T) {
	b := newBridge(t, host.BridgeOptions{})
	valid := hostile().Filter(func(s string) bool { return notBlank(s) && utf8.ValidString(s) })
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		q := askbridge.Question{Question: valid.Draw(t, "question")}
		for _, l := range rapid.SliceOfNDistinct(valid, 1, 4, rapid.ID[string]).Draw(t, "labels") {
			q.Options = append(q.Options, askbridge.Option{Label: l})
		}
		row := rapid.IntRange(0, len(q.Options)-1).Draw(t, "row")
		got := b.call(context.Background(), host.NewID(), questions(q))
		a := within(t, "the ask", b.asks)
		if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{row}}}); err != nil {
			t.Fatal(err)
		}
		f := within(t, "the answer", got)
		_ = f.exchange.Close()
		if want := map[string]any{q.Question: q.Options[row].Label}; f.err != nil || !reflect.DeepEqual(f.Answers, want) {
			t.Fatalf("the agent got %q, %q, %v; want %q", f.Answers, f.Error, f.err, want)
		}
		n++
	})
	t.Logf("%d asks", n)
}

func TestBridgeAnswerThatIsNotPassedOn(t *testing.T) {
	b := newBridge(t, host.BridgeOptions{})
	got := b.call(context.Background(), "q1", questions(nastyQuestion))
	if err := wait(t, b.asks).Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Fatal(err)
	}
	if err := wait(t, got).exchange.Close(); err != nil {
		t.Fatal(err)
	}
	if b.delivered() {
		t.Error("the grandchild died before it passed the answer on, and the trace has it as delivered")
	}
	if answered, _ := b.end(); answered.Outcome != host.Answered {
		t.Errorf("the trace has %+v", answered)
	}
}

// A decline says what was answered before, with the agent's own texts, and no label that was not picked.
func TestBridgeDeclineWithPartialWords(t *testing.T) {
	b := newBridge(t, host.BridgeOptions{})
	multi := askbridge.Question{Question: "Which?", MultiSelect: true, Options: []askbridge.Option{{Label: "alpha"}, {Label: "beta"}, {Label: "gamma"}}}
	last := askbridge.Question{Question: "When?", Options: []askbridge.Option{{Label: "never (Recommended)"}}}
	got := b.call(context.Background(), "q1", questions(nastyQuestion, multi, last))
	partial := []host.Answer{{Picked: []int{1}, Note: "so be it"}, {Picked: []int{0, 2}, Text: "own \"words\""}, {}}
	if err := wait(t, b.asks).Decline(context.Background(), "ask me tomorrow", partial); err != nil {
		t.Fatal(err)
	}
	f := wait(t, got)
	if f.err != nil || f.Answers != nil || f.Outcome != "declined" {
		t.Fatalf("the agent got %+v", f)
	}
	for _, words := range []string{
		"operator did not answer; proceed without this input", "declined", "ask me tomorrow", "Yes‹U+202E›", "so be it", `"Which?"`, `["alpha", "gamma", "own \"words\""]`,
	} {
		if !strings.Contains(f.Error, words) {
			t.Errorf("%q is not in %q", words, f.Error)
		}
	}
	for _, words := range []string{"beta", "never", "When?"} {
		if strings.Contains(f.Error, words) {
			t.Errorf("%q is in %q", words, f.Error)
		}
	}
	if _, e := b.end(); e.Outcome != host.Declined || len(e.Partial) != 3 || !slices.Equal(e.Partial[1].Indexes, []int{0, 2}) {
		t.Errorf("the trace has %+v", e)
	}
}

// T7 (gentle-pi#1162) and its neighbours: how the agent's side went away is told apart, and takes the ask along.
func TestBridgeCancelledAndGone(t *testing.T) {
	for name, c := range map[string]struct {
		leave func(b *bridge, cancel context.CancelCauseFunc)
		want  host.Outcome
	}{
		"cancelled by the client": {func(_ *bridge, cancel context.CancelCauseFunc) { cancel(context.Canceled) }, host.Cancelled},
		"its process ended":       {func(_ *bridge, cancel context.CancelCauseFunc) { cancel(askbridge.ErrAskerGone) }, host.AskerGone},
		"the dispatch ended": {func(b *bridge, _ context.CancelCauseFunc) {
			if err := b.listener.Close(); err != nil {
				b.t.Error(err)
			}
		}, host.AskerGone},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t, host.BridgeOptions{})
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			got := b.call(ctx, "q1", questions(nastyQuestion))
			a := wait(t, b.asks)
			c.leave(b, cancel)
			// A closing listener may let the last words out before the connection goes.
			if f := wait(t, got); f.err == nil && (f.Outcome != string(host.AskerGone) || f.Error == "" || f.Answers != nil) {
				t.Errorf("the grandchild got %+v", f)
			}
			if _, e := b.end(); e.Outcome != c.want || e.Partial != nil {
				t.Errorf("the trace has %+v, want %s", e, c.want)
			}
			wait(t, a.ctx.Done())
			if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); !errors.Is(err, host.ErrResolved) {
				t.Errorf("an answer afterwards got %v", err)
			}
			if n := len(b.board.Pending(nil)); n != 0 {
				t.Errorf("%d asks are pending", n)
			}
		})
	}
}

// The end that is nobody's answer is an error in words on the wire, with its outcome.
func TestBridgeEndsInWords(t *testing.T) {
	for want, end := range map[string]func(b *bridge){
		"timed_out":    func(b *bridge) { b.clock.Advance(host.DefaultWait) },
		"host_closing": func(b *bridge) { b.board.End(nil, host.Unanswered{Outcome: host.HostClosing}) },
		"no_operator": func(b *bridge) {
			b.board.End(nil, host.Unanswered{Outcome: host.NoOperator, Reason: "the terminal was lost"})
		},
	} {
		t.Run(want, func(t *testing.T) {
			b := newBridge(t, host.BridgeOptions{})
			got := b.call(context.Background(), "q1", questions(nastyQuestion))
			wait(t, b.asks)
			end(b)
			f := wait(t, got)
			if f.err != nil || f.Answers != nil || f.Outcome != want || !strings.Contains(f.Error, want) || strings.Contains(f.Error, "Yes") {
				t.Errorf("the agent got %+v", f)
			}
		})
	}
}

// An ask that cannot be opened leaves the open one alone.
func TestBridgeRefusals(t *testing.T) {
	b := newBridge(t, host.BridgeOptions{})
	got := b.call(context.Background(), "q1", questions(nastyQuestion))
	a := wait(t, b.asks)
	if f := wait(t, b.call(context.Background(), "q1", questions(nastyQuestion))); f.err != nil || f.Error == "" || f.Answers != nil {
		t.Errorf("a second ask with the id got %+v", f)
	}
	if f := wait(t, b.call(context.Background(), "q2", questions(nastyQuestion, nastyQuestion))); f.err != nil || !strings.Contains(f.Error, "questions[1]") {
		t.Errorf("a question that stands twice got %+v", f)
	}
	if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{2}}}); err != nil {
		t.Fatal(err)
	}
	if f := wait(t, got); f.Answers[nastyQuestion.Question] != ` ["Yes"] ` {
		t.Errorf("the first got %+v", f)
	}
}

// The grandchild is told of every move of the deadline; and who asks may be learned late.
func TestBridgeTellsTheDeadline(t *testing.T) {
	opened := make(chan host.OpenedAsk, 1)
	b := newBridge(t, host.BridgeOptions{Wait: 2 * time.Minute, Opened: func(_ string, a host.OpenedAsk) { opened <- a }})
	token, err := os.ReadFile(filepath.Join(filepath.Dir(b.socket), "token"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", b.socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	send := func(m map[string]any) {
		if err := json.NewEncoder(conn).Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(conn)
	next := func() (m struct {
		Accepted *struct{ Deadline time.Time }
		Deadline time.Time
		Answers  map[string]any
	}) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the host said no more: %v", lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	send(map[string]any{"v": 1, "type": "ask", "id": "q1", "token": string(token), "arguments": questions(nastyQuestion)})
	a := wait(t, b.asks)
	start := a.Info().Opened
	if m := next(); m.Accepted == nil || !m.Accepted.Deadline.Equal(start.Add(2*time.Minute)) {
		t.Fatalf("accepted with %+v", m)
	}
	wait(t, opened).Identify(host.Asker{Agent: "claude", Path: []string{"tests"}})
	if err := a.Extend(context.Background(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if m := next(); !m.Deadline.Equal(start.Add(3 * time.Minute)) {
		t.Errorf("the extension was told as %s", m.Deadline.Sub(start))
	}
	b.clock.Advance(150 * time.Second)
	a.Touch()
	if m := next(); !m.Deadline.Equal(a.Info().Deadline) || m.Deadline.Before(start.Add(210*time.Second)) {
		t.Errorf("the activity was told as %s", m.Deadline.Sub(start))
	}
	if path := a.Info().Asker.Path; !slices.Equal(path, []string{"tests"}) {
		t.Errorf("the asker is %q", path)
	}
	if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{2}}}); err != nil {
		t.Fatal(err)
	}
	if m := next(); m.Answers[nastyQuestion.Question] != ` ["Yes"] ` {
		t.Errorf("the answer is %+v", m)
	}
	send(map[string]any{"delivered": true})
	if !b.delivered() {
		t.Error("not delivered")
	}
}
