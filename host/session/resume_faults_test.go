package session

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/hosttest"
	"example.com/kitsoki/host/trace"
)

// onlyFile is the file of a name of the only session of a state.
func onlyFile(t *testing.T, state, name string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(state, "*", name))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%s: %v, %v", name, paths, err)
	}
	return paths[0]
}

func rewrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Files whose last line is torn, and a desk that cannot be read, cost what they held and nothing else: the session
// comes back, says so, and keeps the desk that it cannot read.
func TestFilesThatAreTorn(t *testing.T) {
	ctx := context.Background()
	tear := func(b []byte) []byte { return append(b, `{"seq":99,"time":"20`...) }
	for name, c := range map[string]struct {
		file   string
		change func([]byte) []byte
		says   string
		kept   bool // aside
	}{
		"trace":      {file: trace.FileName, change: tear},
		"transcript": {file: trace.TranscriptName, change: tear},
		"zeros":      {file: trace.FileName, change: func(b []byte) []byte { return append(b, make([]byte, 512)...) }},
		"desk":       {file: deskName, change: func(b []byte) []byte { return b[:len(b)/2] }, says: "not all of this session came back", kept: true},
		"empty desk": {file: deskName, change: func([]byte) []byte { return nil }, says: "not all of this session came back", kept: true},
		"later desk": {
			file: deskName, change: func(b []byte) []byte { return bytes.Replace(b, []byte(`"v":1`), []byte(`"v":9`), 1) },
			says: "of a later kitsoki", kept: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := lostTwo(t)
			path := onlyFile(t, state, c.file)
			rewrite(t, path, c.change)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			prompts := make(chan agent.Request, 10)
			s, asks := takenUp(t, state, atWork(prompts))
			own, sub := asks.both(t)
			if err := errors.Join(own.Answer(ctx, []host.Answer{{Picked: []int{0}}}), sub.Answer(ctx, []host.Answer{{Picked: []int{0}}})); err != nil {
				t.Fatal(err)
			}
			if got := nextRequest(t, prompts); !strings.Contains(got.Prompt, `"left"`) || got.Conversation != "talk-1" {
				t.Errorf("the agent was sent %q in %q", got.Prompt, got.Conversation)
			}
			if log := logOf(t, s); !strings.Contains(log, c.says) || !strings.Contains(log, "turn_started go") {
				t.Errorf("the log lacks %q:\n%s", c.says, log)
			}
			if err := s.Close(ctx, host.HostClosing); err != nil {
				t.Fatal(err)
			}
			checkFile(t, s.TracePath())
			if aside, err := os.ReadFile(path + ".unread"); c.kept && (err != nil || !bytes.Equal(aside, before)) {
				t.Errorf("the desk that could not be read is gone: %v", err)
			}
		})
	}
}

// Of two processes that come at once, one gets the session.
func TestTwoProcessesAtOnce(t *testing.T) {
	state := killedAnswered(t, nil, "", host.Answer{Picked: []int{0}})
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		m := managerAt(t, state, atWork(make(chan agent.Request, 10)))
		wg.Go(func() {
			_, err := m.Resume(context.Background(), "last", Spec{})
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	won := 0
	for err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, ErrInUse):
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d processes have the session", won)
	}
}

// A session works in its own directory and with its own agent's conversation.
func TestWhatCannotBeChanged(t *testing.T) {
	ctx := context.Background()
	state := killedAnswered(t, nil, "", host.Answer{Picked: []int{0}})
	m := managerAt(t, state, atWork(make(chan agent.Request, 10)))
	if _, err := m.Resume(ctx, "last", Spec{Dir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "it works in ") {
		t.Errorf("another directory: %v", err)
	}
	if _, err := m.Resume(ctx, "last", Spec{Access: "everything"}); err == nil {
		t.Error("an access that is none was taken")
	}
	if _, err := m.Resume(ctx, "2", Spec{}); err != nil { // what failed has let go of the trace
		t.Error(err)
	}

	other := managerAt(t, crash(t, state), atWork(make(chan agent.Request, 10)))
	s, err := other.Resume(ctx, "last", Spec{Agent: "another", Access: "read"})
	if err != nil {
		t.Fatal(err)
	}
	if s.conversation != "" || !strings.Contains(logOf(t, s), "the agent was scripted and is another now") || snap(t, s).Access != "read" {
		t.Errorf("another agent goes on with %q:\n%s", s.conversation, logOf(t, s))
	}
	dir := s.opt.Dir
	if err := errors.Join(s.Close(ctx, host.HostClosing), os.Remove(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Resume(ctx, "last", Spec{}); err == nil || !strings.Contains(err.Error(), "directory "+dir+" does not exist") {
		t.Errorf("without its directory: %v", err)
	}
}

// The desk is written a moment after the trace. Of an ask that the trace knows the end of, nothing is asked again; what
// was typed into one that was not answered is among the unsent texts.
func TestADeskThatIsOlderThanTheTrace(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		end  func(s *Session, own, sub host.Ask) error
		kept int
		owed int
	}{
		"answered": {owed: 2, end: func(_ *Session, own, sub host.Ask) error {
			return errors.Join(own.Answer(ctx, []host.Answer{{Picked: []int{0}}}), sub.Decline(ctx, "no", nil))
		}},
		"cancelled": {kept: 1, end: func(s *Session, own, sub host.Ask) error {
			s.m.board.End(host.OnlySession(s.id), host.Unanswered{Outcome: host.Cancelled})
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := lostTwo(t)
			s, asks := takenUp(t, state, func(ctx context.Context, _ agent.Request, _ agent.Observer) (agent.Result, error) {
				<-ctx.Done() // it does not come to work
				return agent.Result{}, context.Cause(ctx)
			})
			own, sub := asks.both(t)
			if err := own.SetDraft(ctx, 0, host.Draft{Answer: host.Answer{Text: "half a thought"}, Rev: own.Draft(0).Rev}); err != nil {
				t.Fatal(err)
			}
			var old []byte
			until(t, "the draft is on the desk", func() bool {
				old, _ = os.ReadFile(filepath.Join(state, s.ID(), deskName))
				return strings.Contains(string(old), "half a thought") && strings.Contains(string(old), sub.Info().ID)
			})
			if err := c.end(s, own, sub); err != nil {
				t.Fatal(err)
			}
			until(t, "both have ended", func() bool { return snap(t, s).Asks == 0 })
			state = crash(t, state)
			if err := os.WriteFile(onlyFile(t, state, deskName), old, 0o600); err != nil {
				t.Fatal(err)
			}
			next, err := managerAt(t, state, nil).Resume(ctx, "last", Spec{})
			if err != nil {
				t.Fatal(err)
			}
			if len(next.reopen) > 0 || len(next.owed) != c.owed || len(next.desk.Kept) != c.kept {
				t.Errorf("asked again %+v, owed %+v, kept %q", next.reopen, next.owed, next.desk.Kept)
			}
		})
	}
}

// Where no words are kept, nobody is asked a hash.
func TestNobodyIsAskedAHash(t *testing.T) {
	state := lostTwo(t)
	rewrite(t, onlyFile(t, state, trace.FileName), func(b []byte) []byte {
		b = bytes.ReplaceAll(b, []byte(`"question":"declined"`), []byte(`"question":"sha256:0123456789ab"`))
		return bytes.ReplaceAll(b, []byte(`"question":"Which ‹\u003c›one›?\nSay."`), []byte(`"question":"sha256:ba9876543210"`))
	})
	removeDesks(t, state)
	s, asks := takenUp(t, state, nil)
	if log := logOf(t, s); !strings.Contains(log, "2 open when kitsoki ended, of which no words were kept") || len(asks) > 0 {
		t.Errorf("%d asks, and the log:\n%s", len(asks), log)
	}
}

// A clock that went back months between two processes makes no trace that goes back, and no ask that is over already.
func TestTheClockGoesBack(t *testing.T) {
	ctx := context.Background()
	state := lostTwo(t)
	m := NewManager(ManagerOptions{
		Runner: atWork(make(chan agent.Request, 10)), State: state, Clock: hosttest.NewClock(),
		Agent: func(name string) (agent.Command, error) { return agent.Command{Name: name, Path: name}, nil },
	})
	s, err := m.Resume(ctx, "last", Spec{})
	if err != nil {
		t.Fatal(err)
	}
	asks := make(holder, 4)
	detach, err := s.Attach("terminal", asks)
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	own, _ := asks.both(t)
	if left := own.Info().Deadline.Sub(own.Info().Opened); left != host.DefaultWait {
		t.Errorf("it is open for %s", left)
	}
	if err := m.Close(ctx, host.HostClosing); err != nil {
		t.Fatal(err)
	}
	checkFile(t, s.TracePath())
}

// A trace that was replaced under a living process is not locked any more; the session is in use all the same.
func TestATraceThatHasLostItsLock(t *testing.T) {
	ctx := context.Background()
	state := t.TempDir()
	s, err := managerAt(t, state, askingRunner(make(chan agent.Request, 1))).OpenSession(ctx, Spec{Agent: "scripted", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(ctx, Input{Prompt: "hello"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(s.TracePath())
	if err != nil {
		t.Fatal(err)
	}
	if err := writeWhole(s.TracePath(), data); err != nil {
		t.Fatal(err)
	}
	if _, err := managerAt(t, state, nil).Resume(ctx, "last", Spec{}); !errors.Is(err, ErrInUse) {
		t.Errorf("the second process got %v", err)
	}
}

// What was handed over is not handed over again by a process that comes after a kill in the middle of that turn; nor is
// it after a turn of an agent that says nothing of its work.
func TestWhatWasTakenIsNotOwed(t *testing.T) {
	ctx := context.Background()
	for name, r := range map[string]runner{
		"at work": func(ctx context.Context, _ agent.Request, obs agent.Observer) (agent.Result, error) {
			obs.Event(agent.Init{Conversation: "talk-1"}, nil)
			obs.Event(agent.Unknown{Type: "system", Subtype: "status"}, nil)
			<-ctx.Done()
			return agent.Result{}, context.Cause(ctx)
		},
		"silent": func(context.Context, agent.Request, agent.Observer) (agent.Result, error) { return agent.Result{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := killedAnswered(t, nil, "", host.Answer{Picked: []int{0}})
			s, _ := takenUp(t, state, r)
			until(t, "it was taken", func() bool { return strings.Contains(logOf(t, s), "ask_delivery") })
			next, err := managerAt(t, crash(t, state), nil).Resume(ctx, "last", Spec{})
			if err != nil || len(next.owed) > 0 || len(next.reopen) > 0 {
				t.Errorf("the next process has %+v and %+v, %v", next.owed, next.reopen, err)
			}
		})
	}
}

// Of two asks one was answered and not taken, and one was open: that is asked again, and both go at once.
func TestOneOfTwoWasAnswered(t *testing.T) {
	ctx := context.Background()
	state := lostTwo(t)
	s, asks := takenUp(t, state, func(ctx context.Context, _ agent.Request, _ agent.Observer) (agent.Result, error) {
		<-ctx.Done()
		return agent.Result{}, context.Cause(ctx)
	})
	own, _ := asks.both(t)
	if err := own.Answer(ctx, []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Fatal(err)
	}
	until(t, "the answer is on the desk", func() bool {
		data, _ := os.ReadFile(filepath.Join(state, s.ID(), deskName))
		return strings.Contains(string(data), `"owed"`)
	})
	prompts := make(chan agent.Request, 10)
	again, asks := takenUp(t, crash(t, state), atWork(prompts))
	if err := asks.next(t).Answer(ctx, []host.Answer{{Picked: []int{1}}}); err != nil {
		t.Fatal(err)
	}
	if got := nextRequest(t, prompts).Prompt; !strings.Contains(got, `"left"`) || !strings.Contains(got, `{"declined":"no"}`) {
		t.Errorf("the agent was sent %q", got)
	}
	until(t, "the session is idle", func() bool { return snap(t, again).State == Idle })
	if n := len(asks); n > 0 {
		t.Errorf("%d more asks", n)
	}
}

// An ask that was asked again under another id, and answered there, is not asked a third time by a desk that knows the
// first id alone.
func TestADeskThatKnowsTheFirstIDAlone(t *testing.T) {
	ctx := context.Background()
	state := lostTwo(t)
	idle, err := managerAt(t, state, nil).Resume(ctx, "last", Spec{}) // nobody is there, and nothing is asked
	if err != nil {
		t.Fatal(err)
	}
	if err := idle.Close(ctx, host.HostClosing); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(onlyFile(t, state, deskName))
	if err != nil {
		t.Fatal(err)
	}
	prompts := make(chan agent.Request, 10)
	s, asks := takenUp(t, state, atWork(prompts))
	own, sub := asks.both(t)
	if err := errors.Join(own.Answer(ctx, []host.Answer{{Picked: []int{0}}}), sub.Answer(ctx, []host.Answer{{Picked: []int{0}}})); err != nil {
		t.Fatal(err)
	}
	nextRequest(t, prompts)
	until(t, "the session is idle", func() bool { return snap(t, s).State == Idle })
	state = crash(t, state)
	if err := os.WriteFile(onlyFile(t, state, deskName), old, 0o600); err != nil {
		t.Fatal(err)
	}
	next, err := managerAt(t, state, nil).Resume(ctx, "last", Spec{})
	if err != nil || len(next.reopen) > 0 || len(next.owed) > 0 {
		t.Errorf("asked again %+v, owed %+v, %v", next.reopen, next.owed, err)
	}
}
