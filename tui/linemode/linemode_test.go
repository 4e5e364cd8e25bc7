package linemode

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/charmbracelet/x/exp/golden"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/hosttest"
	"example.com/kitsoki/host/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type play func(ctx context.Context, ask func(...host.OperatorQuestion) (map[string]any, error), say func(string))

func (p play) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	board, ok := host.OperatorPrompterFrom(ctx)
	ask := func(qs ...host.OperatorQuestion) (map[string]any, error) {
		if !ok {
			return nil, &host.Unanswered{Outcome: host.NoOperator}
		}
		return board.Ask(host.WithAskRequest(ctx, host.AskRequest{Asker: host.Asker{Agent: "scripted"}}), req.SessionID, qs)
	}
	p(ctx, ask, func(text string) { obs.Event(agent.Text{MessageID: text, Text: text}, nil) })
	return agent.Result{}, nil
}

// typist is an operator at line mode.
type typist struct {
	t     *testing.T
	clock *hosttest.Clock
	in    *io.PipeWriter
	done  chan Exit

	mu  sync.Mutex
	out bytes.Buffer
}

func (o *typist) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(p)
}

func (o *typist) output() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.String()
}

func start(t *testing.T, p play) *typist { t.Helper(); return startWith(t, p) }

func startWith(t *testing.T, p session.Runner) *typist {
	t.Helper()
	o := &typist{t: t, clock: hosttest.NewClock(), done: make(chan Exit, 1)}
	m := session.NewManager(session.ManagerOptions{Runner: p, State: t.TempDir(), Clock: o.clock})
	s, err := m.New(session.Options{Command: agent.Command{Name: "scripted"}, Dir: "/project", Access: agent.Edit})
	if err != nil {
		t.Fatal(err)
	}
	in, w := io.Pipe()
	o.in = w
	go func() {
		exit, err := Run(context.Background(), Options{Client: s, In: in, Out: o, Clock: o.clock})
		if err != nil {
			t.Error(err)
		}
		o.done <- exit
	}()
	t.Cleanup(func() {
		_ = w.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := m.Close(ctx, host.HostClosing); err != nil {
			t.Error(err)
		}
		select {
		case <-o.done:
		case <-ctx.Done():
			t.Error("line mode did not end")
		}
	})
	return o
}

// see waits for a text in what was written after the last one that was seen.
func (o *typist) see(text string) {
	o.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		o.mu.Lock()
		_, rest, found := strings.Cut(o.out.String(), text)
		if found {
			o.out.Reset()
			o.out.WriteString(rest)
		}
		o.mu.Unlock()
		if found {
			return
		}
	}
	o.t.Fatalf("never wrote %q; wrote:\n%s", text, o.output())
}

func (o *typist) enter(lines ...string) {
	o.t.Helper()
	for _, l := range lines {
		o.clock.Advance(time.Second)
		if _, err := fmt.Fprintln(o.in, l); err != nil {
			o.t.Fatal(err)
		}
	}
}

var (
	database = host.OperatorQuestion{Question: "Which DB?", Options: []host.OperatorOption{{Label: "Postgres", Description: "runs already"}, {Label: "SQLite"}}}
	checks   = host.OperatorQuestion{Question: "Which checks?", MultiSelect: true, Options: []host.OperatorOption{{Label: "lint"}, {Label: "unit"}, {Label: "race"}}}
	name     = host.OperatorQuestion{Question: "Which name?"}
)

func asksAndQuotes(qs ...host.OperatorQuestion) play {
	return func(_ context.Context, ask func(...host.OperatorQuestion) (map[string]any, error), say func(string)) {
		answers, err := ask(qs...)
		say(fmt.Sprintf("got %v, %v.", answers, err))
	}
}

func TestRowNumberAnswers(t *testing.T) {
	o := start(t, asksAndQuotes(database))
	o.see("Type what the agent")
	o.enter("go")
	o.see("? scripted asks, question 1 of 1, waits 300 s: Which DB?")
	o.see("  1 Postgres - runs already\n  2 SQLite\n")
	o.see("answer with a row")
	o.enter("7")
	o.see(`"7" is no row`)
	o.enter("2")
	o.see("= sent")
	o.see("got map[Which DB?:SQLite], <nil>.")
	o.see("(the turn has ended)")
}

func TestThreeQuestionsAreReviewedAndSent(t *testing.T) {
	o := start(t, asksAndQuotes(database, checks, name))
	o.enter("go")
	o.see("question 1 of 3")
	o.see("answer with")
	o.enter("n not for long", "1")
	o.see("question 2 of 3")
	o.see("answer with")
	o.enter("1,3")
	o.see("question 3 of 3")
	o.see("answer with")
	o.enter("o 15:00, Nova")
	o.see("send sends this")
	o.see("Which name?: “15:00, Nova”")
	o.enter("send")
	o.see("= sent")
	o.see("got map[Which DB?:Postgres Which checks?:[lint race] Which name?:15:00, Nova], <nil>.")
}

// The end of the input is an operator who is gone, never an answer; the turn is waited for.
func TestEndOfInputAnswersNothing(t *testing.T) {
	o := start(t, asksAndQuotes(database))
	o.enter("go")
	o.see("answer with")
	if err := o.in.Close(); err != nil {
		t.Fatal(err)
	}
	o.see("the input has ended")
	o.clock.Advance(6 * time.Minute)
	o.see("timed_out")
	select {
	case exit := <-o.done:
		o.done <- exit
	case <-time.After(10 * time.Second):
		t.Fatal("did not end after the turn")
	}
}

func TestLineThatCameBeforeTheQuestionAnswersNothing(t *testing.T) {
	o := start(t, asksAndQuotes(database))
	o.enter("go")
	o.see("answer with")
	if _, err := fmt.Fprintln(o.in, "1"); err != nil { // at the very moment it was written
		t.Fatal(err)
	}
	o.see("was not taken: 1")
	o.enter("1")
	o.see("= sent")
}

func TestDeclineFoldAndNone(t *testing.T) {
	o := start(t, asksAndQuotes(checks))
	o.enter("go")
	o.see("answer with")
	o.enter("fold")
	o.see("folded")
	o.enter("/open")
	o.see("Which checks?")
	o.see("answer with")
	o.enter("+")
	o.see("now waits")
	o.enter("d ask me tomorrow")
	o.see("= sent")
	o.see("declined): ask me tomorrow")
	o.see("(the turn has ended)")
	o.enter("go")
	o.see("answer with")
	o.enter("none")
	o.see("got map[Which checks?:[]], <nil>.")
}

func TestAskBackIsADeclineThatSaysSo(t *testing.T) {
	o := start(t, asksAndQuotes(database))
	o.enter("go")
	o.see("answer with")
	o.enter("e what does each cost?")
	o.see("= sent")
	o.see("declined): the operator asks back before deciding: what does each cost?")
}

func TestPreviewAndPeekAnswerNothing(t *testing.T) {
	q := database
	q.Options = []host.OperatorOption{{Label: "Flat", Preview: "main.go\nserve.go"}, {Label: "Nested (Recommended)"}}
	o := start(t, asksAndQuotes(q))
	o.enter("go")
	o.see("1 Flat (p 1 shows its preview)")
	o.see("answer with")
	o.enter("p 1")
	o.see("  main.go\n  serve.go\n")
	o.enter("p 2")
	o.see("! row 2 has no preview")
	o.enter("p x")
	o.see("! p needs one of the rows 1 to 2 after it")
	o.enter("v")
	o.see("/project cannot be looked at")
	o.enter("r")
	o.see("the recommended row is lit")
	o.enter("send")
	o.see("got map[Which DB?:Nested (Recommended)], <nil>.")
}

// The whole of a short session, as it is read aloud.
func TestWholeOutput(t *testing.T) {
	permission := host.OperatorQuestion{Question: "May I delete the branch?", Header: "Permission", Options: []host.OperatorOption{{Label: "Allow"}, {Label: "Deny"}}}
	o := start(t, asksAndQuotes(database, checks, permission))
	for _, step := range [][2]string{
		{"go", "question 1 of 3"}, {"2", "question 2 of 3"}, {"1,3", "question 3 of 3"}, {"n only once", "note"}, {"2", "send sends this"}, {"send", "(the turn has ended)"},
	} {
		o.enter(step[0])
		o.has(step[1])
	}
	golden.RequireEqual(t, []byte(o.output()))
}

// has waits for a text and takes nothing of the output away.
func (o *typist) has(text string) {
	o.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		if strings.Contains(o.output(), text) {
			return
		}
	}
	o.t.Fatalf("never wrote %q; wrote:\n%s", text, o.output())
}
