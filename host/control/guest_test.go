package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/trace"
)

// receptionist is a surface that takes the asks of guests too.
type receptionist struct{ asks chan host.Ask }

func (r receptionist) TakesGuests() bool { return true }

func (r receptionist) Ask(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
	a, _ := host.AskFrom(ctx)
	r.asks <- a
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// receive attaches one to the rig's session twice, as a terminal is to several.
func (r *rig) receive() (asks <-chan host.Ask, leave func()) {
	r.t.Helper()
	p := receptionist{make(chan host.Ask, 100)}
	first, err := r.session.Attach("terminal", p)
	if err != nil {
		r.t.Fatal(err)
	}
	second, err := r.session.Attach("terminal", p)
	if err != nil {
		r.t.Fatal(err)
	}
	first()
	return p.asks, second
}

func deploy() GuestParams {
	return GuestParams{
		Agent: "shell", Dir: "/project", Parent: "deploy.sh (4711)", Wait: time.Minute,
		Arguments: json.RawMessage(`{"questions":[{"question":"Deploy \u001b[31mnow?","options":["yes","no, later"]}]}`),
	}
}

// checkGuests closes the sessions and holds their traces to the checker.
func (r *rig) checkGuests(want ...string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := errors.Join(r.client.Close(), r.server.Close(ctx), r.manager.Close(ctx, host.HostClosing)); err != nil {
		r.t.Error(err)
	}
	files, _ := filepath.Glob(filepath.Join(r.state, "*-guests", trace.FileName))
	if len(files) != 1 {
		r.t.Fatalf("there are %d traces of guests", len(files))
	}
	f, err := os.Open(files[0])
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if report := trace.Check(f, false); len(report.Violations) > 0 || report.State != trace.Closed {
		r.t.Errorf("the trace of guests: %+v", report)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		r.t.Fatal(err)
	}
	for _, words := range want {
		if !strings.Contains(string(raw), words) {
			r.t.Errorf("the trace of guests has no %s:\n%s", words, raw)
		}
	}
}

// A guest's question comes to the operator as one that nobody here started, and its answer goes home in its own words.
func TestGuestIsAnswered(t *testing.T) {
	r := newRig(t, asks)
	open, leave := r.receive()
	defer leave()
	deadlines := make(chan time.Time, 10)
	p := deploy()
	p.ToolUseID, p.Deadline = "t9", func(d time.Time) { deadlines <- d }
	type end struct {
		got GuestAnswer
		err error
	}
	done := make(chan end, 1)
	go func() { got, err := r.client.GuestAsk(t.Context(), p); done <- end{got, err} }()
	a := receive(t, open)
	info := a.Info()
	if info.Kind != host.KindQuestion || !info.Asker.Guest || who(info.Asker) != "shell › deploy.sh (4711)" || info.Asker.Dir != "/project" || strings.Contains(info.Questions[0].Question, "\x1b") {
		t.Errorf("the operator sees %+v", info)
	}
	if d := receive(t, deadlines); !d.Equal(info.Deadline) {
		t.Errorf("the guest was told %s, it is %s", d, info.Deadline)
	}
	rows, err := r.client.Work(t.Context())
	if err != nil || len(rows) != 2 || !rows[0].Guest || rows[0].Title != "guests" {
		t.Errorf("the work is %+v, %v", rows, err)
	}
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{1}, Note: "after lunch"}}); err != nil {
		t.Fatal(err)
	}
	got := receive(t, done)
	question := "Deploy \x1b[31mnow?"
	if got.err != nil || got.got.Answers[question] != "no, later" || got.got.Notes[question] != "after lunch" || len(got.got.Mended) == 0 {
		t.Errorf("the guest got %+v", got)
	}
	if err := r.client.Delivered(t.Context(), got.got, true); err != nil {
		t.Error(err)
	}
	if err := r.client.Delivered(t.Context(), got.got, true); !errors.Is(err, ErrNoProcess) {
		t.Errorf("delivered twice: %v", err)
	}
	if len(open) > 0 {
		t.Error("a surface that is attached to several sessions was asked twice")
	}
	leave()
	r.checkGuests(`"guest":true`, `"delivered":true`, "ask.normalised")
}

func TestGuestIsRefused(t *testing.T) {
	r := newRig(t, asks)
	refused := func(p GuestParams, outcome string) {
		t.Helper()
		var e *GuestRefused
		if _, err := r.client.GuestAsk(t.Context(), p); !errors.As(err, &e) || e.Outcome != outcome || e.Words == "" {
			t.Errorf("want %s, got %v", outcome, err)
		}
	}
	refused(deploy(), "no_operator")
	release := r.session.Present() // of a surface that does not take guests
	refused(deploy(), "no_operator")
	release()
	if files, _ := filepath.Glob(filepath.Join(r.state, "*-guests")); len(files) > 0 {
		t.Error("a session was opened for guests whom nobody can hear")
	}
	_, leave := r.receive()
	defer leave()
	bad := deploy()
	bad.Arguments = json.RawMessage(`{"questions":[{"question":""}]}`)
	refused(bad, "invalid")
	for name, params := range map[string]string{
		"a proposal":  `{"agent":"a","kind":"proposal","questions":[{"question":"?"}]}`,
		"no agent":    `{"questions":[{"question":"?"}]}`,
		"both":        `{"agent":"a","arguments":{},"questions":[{"question":"?"}]}`,
		"a long name": fmt.Sprintf(`{"agent":%q,"questions":[{"question":"?"}]}`, strings.Repeat("a", 5000)),
		"a bad id":    `{"agent":"a","question_id":"../x","questions":[{"question":"?"}]}`,
		"a bad wait":  `{"agent":"a","wait_seconds":-1,"questions":[{"question":"?"}]}`,
	} {
		var e *rpc.Error
		if err := r.client.conn.Call(t.Context(), methodGuest, json.RawMessage(params), nil); !errors.As(err, &e) || e.Code != rpc.InvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, done, err := r.manager.Guests()
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if s.StartTurn(t.Context(), "go") == nil {
		t.Error("a turn was started in the session of guests")
	}
}

// However a guest goes away, its ask ends as that.
func TestGuestGoesAway(t *testing.T) {
	r := newRig(t, asks)
	open, leave := r.receive()
	defer leave()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := r.client.GuestAsk(ctx, deploy()); done <- err }()
	receive(t, open)
	cancel()
	if err := receive(t, done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	other, err := Dial(t.Context(), r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, err := other.GuestAsk(t.Context(), deploy()); done <- err }()
	receive(t, open)
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	_ = receive(t, done)
	go func() { _, err := r.client.GuestAsk(t.Context(), deploy()); done <- err }()
	if err := receive(t, open).Decline(t.Context(), "not today", nil); err != nil {
		t.Error(err)
	}
	var e *GuestRefused
	if err := receive(t, done); !errors.As(err, &e) || e.Outcome != "declined" || e.Never() || !strings.Contains(e.Words, "not today") {
		t.Error(err)
	}
	waitFor(t, "the ends", func() bool { return len(r.manager.Board().Pending(nil)) == 0 })
	leave()
	r.checkGuests(`"outcome":"cancelled"`, `"outcome":"asker_gone"`, `"outcome":"declined"`)
}

func TestGuestsAreBounded(t *testing.T) {
	var g guests
	now := time.Now()
	var all []func()
	admit := func(parent string) error {
		release, err := g.admit(parent, now)
		if err == nil {
			all = append(all, release)
		}
		return err
	}
	for range guestOpen {
		if err := admit("a"); err != nil {
			t.Fatal(err)
		}
	}
	if err := admit("a"); err == nil {
		t.Error("one parent has more asks open than it may")
	}
	for i := range guestOpenAll - guestOpen {
		if err := admit(fmt.Sprint(i)); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := admit("more"); err == nil {
		t.Error("guests have more asks open than they may")
	}
	for _, release := range all {
		release()
	}
	n := guestOpen
	for ; n < 100 && admit("a") == nil; n++ {
		all[len(all)-1]()
	}
	if n != guestPerMinute {
		t.Errorf("%d asks of one parent in a minute", n)
	}
	now = now.Add(time.Minute)
	if err := admit("a"); err != nil {
		t.Error(err)
	}
	for i := range 2 * guestParents { // names that are made up cost no memory beyond the bound
		if admit(fmt.Sprint("p", i)) == nil {
			all[len(all)-1]()
		}
	}
	if len(g.parents) > guestParents {
		t.Errorf("%d parents are kept", len(g.parents))
	}
}

// Many guests at once share one session, and each gets its own answer.
func TestGuestsAtOnce(t *testing.T) {
	r := newRig(t, asks)
	open, leave := r.receive()
	defer leave()
	var all sync.WaitGroup
	all.Go(func() {
		for range 30 {
			a := <-open
			if err := a.Answer(t.Context(), []host.Answer{{Text: a.Info().Questions[0].Question}}); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 30 {
		all.Go(func() {
			c, err := Dial(t.Context(), r.server.Path())
			if err != nil {
				t.Error(err)
				return
			}
			p := deploy()
			p.Parent = fmt.Sprint(i)
			text := fmt.Sprintf("question %d", i)
			p.Arguments = json.RawMessage(fmt.Sprintf(`{"questions":[{"question":%q}]}`, text))
			got, err := c.GuestAsk(t.Context(), p)
			if err != nil || got.Answers[text] != text {
				t.Errorf("%s: %+v, %v", text, got, err)
			}
			if err := c.Close(); err != nil { // without the word of delivery
				t.Error(err)
			}
		})
	}
	all.Wait()
	waitFor(t, "the words of delivery", func() bool {
		r.server.guests.mu.Lock()
		defer r.server.guests.mu.Unlock()
		return len(r.server.guests.delivered) == 0
	})
	leave()
	r.checkGuests(`"delivered":false`)
}
