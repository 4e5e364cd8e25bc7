package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/rpc"
)

// ask opens an ask without an agent, and returns what came of it.
func (r *rig) ask(ctx context.Context, id string, wait time.Duration, qs ...host.OperatorQuestion) <-chan error {
	end := make(chan error, 1)
	opened := make(chan struct{})
	go func() {
		ctx := host.WithAskRequest(ctx, host.AskRequest{ID: id, Wait: wait, Opened: func(host.OpenedAsk) { close(opened) }})
		_, err := r.manager.Board().Ask(ctx, r.session.ID(), qs)
		end <- err
	}()
	select {
	case <-opened:
	case err := <-end: // it was not opened
		end <- err
	case <-time.After(10 * time.Second):
		r.t.Error("an ask did not open")
	}
	return end
}

func (r *rig) dial() *Client {
	r.t.Helper()
	c, err := Dial(r.t.Context(), r.server.Path())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			r.t.Error(err)
		}
	})
	return c
}

// Of two that answer at once one has answered, and the other is told who did, and how.
func TestOfTwoAnswersOneSettles(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	clients := []*Client{r.client, r.dial()}
	won := map[string]int{}
	for n := range 1000 {
		id := fmt.Sprintf("race%d", n)
		end := r.ask(t.Context(), id, time.Minute, database)
		var errs [2]error
		start := make(chan struct{})
		var both sync.WaitGroup
		for i, c := range clients {
			a := c.Ask(&Question{ID: id, SessionID: r.session.ID(), Questions: wireQuestions([]host.OperatorQuestion{database})}, fmt.Sprint("surface ", i))
			both.Go(func() {
				<-start
				errs[i] = a.Answer(t.Context(), []host.Answer{{Picked: []int{i}}})
			})
		}
		close(start)
		both.Wait()
		if err := receive(t, end); err != nil {
			t.Fatal(err)
		}
		winner, loser := 0, 1
		if errs[0] != nil {
			winner, loser = 1, 0
		}
		var resolution *host.Resolution
		if errs[winner] != nil || !errors.Is(errs[loser], host.ErrResolved) || !errors.As(errs[loser], &resolution) ||
			resolution.Outcome != host.Answered || resolution.Surface != fmt.Sprint("surface ", winner) {
			t.Fatalf("race %d: %v and %v", n, errs[0], errs[1])
		}
		won[resolution.Surface]++
	}
	t.Log("won by:", won)
}

// W2: what does not fit is refused with what is expected, and nothing is used up by it.
func TestWrongAnswersLeaveTheAskOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	multi := host.OperatorQuestion{Question: "Regions?", Options: []host.OperatorOption{{Label: "eu"}, {Label: "us"}}, MultiSelect: true}
	end := r.ask(t.Context(), "w2", time.Minute, database, multi)
	for name, params := range map[string]string{
		"a key that is no question": `"answers":{"nope":"Beta"}`,
		"a number":                  `"answers":{"Which database?":7}`,
		"null":                      `"answers":{"Which database?":null}`,
		"nothing":                   `"answers":{}`,
		"an empty list":             `"answers":{"Which database?":[]}`,
		"two rows where one can be": `"answers":{"Which database?":["Postgres","SQLite, in a file"]}`,
		"two texts":                 `"answers":{"Regions?":["mars","venus"]}`,
		"a row that is not there":   `"picks":[{"picked":[2]},{"none":true}]`,
		"a row below the first":     `"picks":[{"picked":[-1]},{"none":true}]`,
		"too few":                   `"picks":[{"picked":[0]}]`,
		"one left open":             `"picks":[{"picked":[0]},{}]`,
		"none of a single choice":   `"picks":[{"none":true},{"none":true}]`,
		"neither":                   `"surface":"x"`,
		"both":                      `"answers":{"Which database?":"Postgres"},"picks":[{"picked":[0]},{"none":true}]`,
		"no list":                   `"picks":{"0":1}`,
		"another spelling":          `"Answers":{"Which database?":"Postgres"}`,
	} {
		var e *rpc.Error
		err := r.client.conn.Call(t.Context(), methodAnswer, json.RawMessage(`{"question_id":"w2",`+params+`}`), nil)
		if !errors.As(err, &e) || e.Code != rpc.InvalidParams || e.Message == "" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "a key that is no question" {
			var data invalid
			if json.Unmarshal(e.Data, &data) != nil || len(data.Expected) != 2 || data.Expected[0] != database.Question || !strings.Contains(data.Fields["answers"], "nope") {
				t.Errorf("the data is %s", e.Data)
			}
		}
	}
	if got, err := r.client.Asks(t.Context(), ""); err != nil || len(got.Questions) != 1 {
		t.Fatalf("open are %+v, %v", got, err)
	}
	if err := r.client.conn.Call(t.Context(), methodAnswer, json.RawMessage(`{"question_id":"w2","answers":{"Which database?":"Postgres","Regions?":[]}}`), nil); err != nil {
		t.Error(err)
	}
	if err := receive(t, end); err != nil {
		t.Error(err)
	}
}

// T4: who comes too late is told so, and it is in the trace. T6: an id is given once. T7: an ask whose asker is gone is
// gone from every surface.
func TestHowAsksEndForOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	ended := make(chan error, 10)
	w, err := r.client.Watch(t.Context(), "", "watch", func(ctx context.Context, _ host.Ask, _ Question) { <-ctx.Done(); ended <- context.Cause(ctx) })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	end := r.ask(t.Context(), "late", 20*time.Millisecond, database)
	a := r.client.Ask(&Question{ID: "late", Questions: wireQuestions([]host.OperatorQuestion{database})}, "slow")
	_ = receive(t, end)
	var was *host.Resolution
	if err := receive(t, ended); !errors.As(err, &was) || was.Outcome != host.TimedOut {
		t.Errorf("the watch was told %v", err)
	}
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); !errors.Is(err, host.ErrTooLate) {
		t.Errorf("too late: %v", err)
	}
	if trace := r.trace(); !strings.Contains(trace, "too_late") || !strings.Contains(trace, `"slow"`) {
		t.Errorf("the late answer is not in the trace:\n%s", trace)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	end = r.ask(ctx, "one", time.Minute, database)
	if err := receive(t, r.ask(t.Context(), "one", time.Minute, database)); !errors.Is(err, host.ErrDuplicateID) {
		t.Errorf("the second of one id: %v", err)
	}
	cancel(&host.Unanswered{Outcome: host.AskerGone})
	_ = receive(t, end)
	if err := receive(t, ended); !errors.As(err, &was) || was.Outcome != host.AskerGone {
		t.Errorf("the watch was told %v", err)
	}
	got, err := r.client.Asks(t.Context(), "on")
	if err != nil || len(got.Questions) > 0 || len(got.Ended) != 1 || got.Ended[0].Outcome != host.AskerGone {
		t.Errorf("there are %+v, %v", got, err)
	}
}

// 200 who only listen cost nobody anything, and each is told everything.
func TestManySubscribers(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	const n = 200
	var shown, over atomic.Int32
	var watches []*Watch
	for range n {
		w, err := r.dial().Watch(t.Context(), "", "idle", func(ctx context.Context, _ host.Ask, _ Question) {
			shown.Add(1)
			<-ctx.Done()
			over.Add(1)
		})
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, w)
	}
	var ends []<-chan error
	for i := range 3 { // T5: at once
		ends = append(ends, r.ask(t.Context(), fmt.Sprint("a", i), time.Minute, database))
	}
	waitFor(t, "all to be told", func() bool { return shown.Load() == 3*n })
	for i, end := range ends {
		a := watches[i].c.Ask(&Question{ID: fmt.Sprint("a", i)}, "one")
		if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); err != nil {
			t.Error(err)
		}
		if err := receive(t, end); err != nil {
			t.Error(err)
		}
	}
	waitFor(t, "all to be told of the ends", func() bool { return over.Load() == 3*n })
	for _, w := range watches {
		w.Close()
	}
	r.server.opt.Feed.mu.Lock()
	defer r.server.opt.Feed.mu.Unlock()
	if left := len(r.server.opt.Feed.watchers); left > 0 {
		t.Errorf("%d subscriptions are left", left)
	}
}

// One who subscribes and does not read holds up nobody, costs a bounded memory, and is told to begin anew once it reads.
func TestASubscriberThatDoesNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	deaf, err := net.Dial("unix", r.server.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deaf.Close() }()
	if _, err := fmt.Fprintln(deaf, `{"jsonrpc":"2.0","id":1,"method":"`+methodSubscribe+`"}`); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the subscription", func() bool {
		r.server.opt.Feed.mu.Lock()
		defer r.server.opt.Feed.mu.Unlock()
		return len(r.server.opt.Feed.watchers) == 1
	})
	end := r.ask(t.Context(), "q", time.Minute, database)
	a := r.client.Ask(&Question{ID: "q", Drafts: make([]draft, 1), Questions: wireQuestions([]host.OperatorQuestion{database})}, "busy")
	began := time.Now()
	for rev := range 100 { // some 2 MB of news
		if err := a.SetDraft(t.Context(), 0, host.Draft{Answer: host.Answer{Text: strings.Repeat("x", 20<<10)}, Rev: rev}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("100 drafts took %s", time.Since(began))
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Error(err)
	}
	_ = receive(t, end)
	_ = deaf.SetReadDeadline(time.Now().Add(20 * time.Second))
	in := bufio.NewReader(deaf)
	for lines, bytes := 0, 0; ; lines++ {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d lines: %v", lines, err)
		}
		bytes += len(line)
		if strings.Contains(line, `"what":"resync"`) {
			t.Logf("resync after %d lines, %d bytes", lines, bytes)
			break
		}
	}
	fmt.Fprintln(deaf, `{"jsonrpc":"2.0","id":2,"method":"`+methodSubscribe+`","params":{"replaces":1}}`)
	line, err := in.ReadString('\n')
	if err != nil || !strings.Contains(line, `"questions":[]`) || !strings.Contains(line, `"outcome":"answered"`) {
		t.Errorf("it began anew with %s, %v", line, err)
	}
}

// What makes no sense is refused, and nobody else notices.
func TestGarbage(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	for _, line := range []string{"", "x", "{}", "[]", "\x00\xff\xfe", `{"jsonrpc":"2.0","id":1,"method":"runstatus.session.answer_question","params":[]}`, strings.Repeat("[", 100_000), `{"jsonrpc":"2.0","id":1`} {
		conn, err := net.Dial("unix", r.server.Path())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(line + "\n"))
		_ = conn.Close()
	}
	for method := range r.server.methods() {
		var e *rpc.Error
		if err := r.client.conn.Call(t.Context(), method, json.RawMessage(`{"nope":1}`), nil); !errors.As(err, &e) || e.Code != rpc.InvalidParams {
			t.Errorf("%s: %v", method, err)
		}
	}
	for range maxSubscriptions {
		if err := r.client.conn.Call(t.Context(), methodSubscribe, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	var e *rpc.Error
	if err := r.client.conn.Call(t.Context(), methodSubscribe, nil, nil); !errors.As(err, &e) || e.Code != codeLimit {
		t.Errorf("one subscription more: %v", err)
	}
	if err := r.client.conn.Call(t.Context(), methodSubscribe, json.RawMessage(`{"replaces":1}`), nil); err != nil {
		t.Error(err)
	}
	if w, err := r.dial().Watch(t.Context(), "", "other", func(context.Context, host.Ask, Question) {}); err != nil {
		t.Error(err)
	} else {
		w.Close()
	}
	end := r.ask(t.Context(), "q", time.Minute, database)
	if err := r.client.Ask(&Question{ID: "q"}, "x").Decline(t.Context(), "no", nil); err != nil {
		t.Error(err)
	}
	_ = receive(t, end)
}

// A proposal is allowed from elsewhere only by who names its hash; it is denied without.
func TestProposalsNeedTheirHash(t *testing.T) {
	t.Parallel()
	r := newRig(t, asks)
	defer r.session.Present()()
	hash := strings.Repeat("0123456789abcdef", 4)
	propose := func(id string) <-chan error {
		end := make(chan error, 1)
		go func() {
			ctx := host.WithAskRequest(t.Context(), host.AskRequest{ID: id, Kind: host.KindProposal, Proposal: &host.Proposal{Tool: "Bash", Effect: host.EffectWrite, Text: "rm x", Hash: hash}})
			_, err := r.manager.Board().Ask(ctx, r.session.ID(), []host.OperatorQuestion{{Question: "Allow it?", Options: []host.OperatorOption{{Label: string(host.ScopeAction)}, {Label: host.Deny}}}})
			end <- err
		}()
		waitFor(t, "the proposal", func() bool { _, ok := r.manager.Board().Find(id, "x"); return ok })
		return end
	}
	end := propose("p1")
	for _, params := range []string{
		`"picks":[{"picked":[0]}]`, `"answers":{"Allow it?":"action"}`, `"picks":[{"picked":[0]}],"hash":"0123456789a"`,
		`"picks":[{"picked":[0]}],"hash":"1123456789abcdef"`, `"picks":[{"picked":[0]}],"hash":"0123456789abcdeF"`, `"answers":{"Allow it?":"yes"},"hash":"0123456789abcdef"`,
		`"picks":[{"picked":[0],"text":"and more"}],"hash":"0123456789abcdef"`, `"picks":[{"skipped":true}]`,
	} {
		var e *rpc.Error
		if err := r.client.conn.Call(t.Context(), methodAnswer, json.RawMessage(`{"question_id":"p1",`+params+`}`), nil); !errors.As(err, &e) || e.Code != rpc.InvalidParams {
			t.Errorf("%s: %v", params, err)
		}
	}
	if err := r.client.conn.Call(t.Context(), methodAnswer, json.RawMessage(`{"question_id":"p1","picks":[{"picked":[0]}],"hash":"0123456789ab"}`), nil); err != nil {
		t.Error(err)
	}
	if err := receive(t, end); err != nil {
		t.Error(err)
	}
	end = propose("p2")
	if err := r.client.conn.Call(t.Context(), methodAnswer, json.RawMessage(`{"question_id":"p2","answers":{"Allow it?":"deny"}}`), nil); err != nil {
		t.Error(err)
	}
	_ = receive(t, end)
}
