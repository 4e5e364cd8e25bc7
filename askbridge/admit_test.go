package askbridge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// SztuCode#163
func TestT6ASecondAskWithALiveIDIsRefused(t *testing.T) {
	h, arrived, _, end := open()
	b := listen(t, h, askbridge.ListenOptions{})
	first := b.ask(t, "same", simple)
	receive(t, "the ask", arrived)
	got, err := b.ask(t, "same", simple).Wait(bounded(t))
	if err != nil || got.Outcome != "invalid" || !strings.Contains(got.Error, "has this id already") {
		t.Errorf("the second got %+v, %v", got, err)
	}
	f, done := answer("b")
	go func() { end <- f }()
	got, err = first.Wait(bounded(t))
	if err != nil || got.Answers["Q?"] != "b" {
		t.Errorf("the first got %+v, %v", got, err)
	}
	if err := first.Delivered(); err != nil || !receive(t, "the delivery", done) {
		t.Errorf("the first was not delivered: %v", err)
	}
	// An id is free when its ask is over.
	go func() { end <- f }()
	waitFor(t, "the id to be free", func() bool {
		got, err := b.ask(t, "same", simple).Wait(bounded(t))
		return err == nil && got.Answers["Q?"] == "b"
	})
}

func TestAnAskNeedsAnID(t *testing.T) {
	b := listen(t, &handler{}, askbridge.ListenOptions{})
	for _, id := range []string{"", strings.Repeat("i", 129)} {
		if got, err := b.ask(t, id, simple).Wait(bounded(t)); err != nil || got.Outcome != "invalid" {
			t.Errorf("an id of %d bytes got %+v, %v", len(id), got, err)
		}
	}
}

func TestTheNinthOpenAskIsRefused(t *testing.T) {
	h, arrived, _, end := open()
	b := listen(t, h, askbridge.ListenOptions{})
	var asks []*askbridge.Exchange
	for i := range 8 {
		asks = append(asks, b.ask(t, fmt.Sprint(i), simple))
		receive(t, "the ask", arrived)
	}
	got, err := b.ask(t, "9", simple).Wait(bounded(t))
	if err != nil || got.Outcome != "limit" || !strings.Contains(got.Error, "8 asks") {
		t.Errorf("the ninth got %+v, %v", got, err)
	}
	f, _ := answer("a")
	f.Done = nil
	for range asks {
		end <- f
	}
	for i, ex := range asks {
		if got, err := ex.Wait(bounded(t)); err != nil || len(got.Answers) != 1 {
			t.Errorf("open ask %d got %+v, %v", i, got, err)
		}
		_ = ex.Close()
	}
	waitFor(t, "a place to be free", func() bool {
		id := fmt.Sprint("later", len(asks))
		asks = append(asks, b.ask(t, id, simple))
		select {
		case got := <-arrived:
			return got == id
		case <-time.After(50 * time.Millisecond):
			return false // refused: the host has not seen the end of the others yet
		}
	})
}

func TestThe21stAskOfAMinuteIsRefused(t *testing.T) {
	h, _, causes, _ := open()
	b := listen(t, h, askbridge.ListenOptions{})
	for i := range 20 {
		_ = b.ask(t, fmt.Sprint(i), simple).Close()
		if i >= 4 { // at most four are open at once
			_ = receive(t, "the end of an ask", causes)
		}
	}
	for range 4 {
		_ = receive(t, "the end of an ask", causes)
	}
	got, err := b.ask(t, "21", simple).Wait(bounded(t))
	if err != nil || got.Outcome != "limit" || !strings.Contains(got.Error, "20 times a minute") {
		t.Errorf("the 21st got %+v, %v", got, err)
	}
}

func TestArgumentsThatCannotBeShown(t *testing.T) {
	b := listen(t, &handler{}, askbridge.ListenOptions{})
	got, err := b.ask(t, "id", `{"questions":[{"question":" "},{"question":1}]}`).Wait(bounded(t))
	if err != nil || got.Outcome != "invalid" || got.Answers != nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, words := range []string{"questions[0].question: is blank", "questions[1].question: must be a string", "correct the arguments"} {
		if !strings.Contains(got.Error, words) {
			t.Errorf("%q does not say %q", got.Error, words)
		}
	}
}

func TestTheThirdTimeTheSameFaultIsTheLast(t *testing.T) {
	b := listen(t, &handler{}, askbridge.ListenOptions{})
	send := func(id, arguments string) string {
		got, err := b.ask(t, id, arguments).Wait(bounded(t))
		if err != nil || got.Outcome != "invalid" {
			t.Fatalf("got %+v, %v", got, err)
		}
		return got.Error
	}
	for i := 1; i <= 4; i++ {
		if got := send(fmt.Sprint(i), `{}`); strings.HasPrefix(got, "do not retry") != (i >= 3) || !strings.Contains(got, "questions: is missing") {
			t.Errorf("time %d: %q", i, got)
		}
		if got := send(fmt.Sprint("other", i), `{"questions":[{"question":`+fmt.Sprint(i)+`}`+strings.Repeat(`,{}`, i)+`]}`); strings.Contains(got, "do not retry") {
			t.Errorf("another fault counts too: %q", got)
		}
	}
}

// mcp-go#588 and its kind: what is too long is named, whoever notices it, and the dispatch goes on.
func TestArgumentsOverTheFrame(t *testing.T) {
	f, _ := answer("a")
	b := listen(t, &handler{ask: always(f)}, askbridge.ListenOptions{})
	for _, size := range []int{1<<20 + 1, 1<<20 + 3<<10, 3 << 20} {
		arguments := json.RawMessage(`{"x":"` + strings.Repeat("x", size-8) + `"}`)
		words := ""
		ex, err := b.client(t).Ask(t.Context(), askbridge.AskParams{ID: "id", Arguments: arguments})
		if err == nil {
			final, waitErr := ex.Wait(bounded(t))
			words, err = final.Error, waitErr
			_ = ex.Close()
		}
		var faults *askbridge.Faults
		if errors.As(err, &faults) {
			words = err.Error()
		}
		if !strings.Contains(words, fmt.Sprintf("the arguments are %d bytes, 1048576 can be sent", size)) {
			t.Errorf("%d bytes: %q, %v", size, words, err)
		}
	}
	if got, err := b.ask(t, "id2", simple).Wait(bounded(t)); err != nil || got.Answers["Q?"] != "a" {
		t.Errorf("the next ask got %+v, %v", got, err)
	}
}

// What is within the limit arrives, whatever it is made of: an escape that JSON does not need would make it six
// times as long.
func TestArgumentsOfAFullFrame(t *testing.T) {
	f, _ := answer("a")
	b := listen(t, &handler{ask: always(f)}, askbridge.ListenOptions{})
	raw := `{"questions":[{"question":"Q?","options":["a"]}],"x":"`
	raw += strings.Repeat("<", 1<<20-len(raw)-2) + `"}`
	if got, err := b.ask(t, "id", raw).Wait(bounded(t)); err != nil || got.Answers["Q?"] != "a" {
		t.Errorf("%d bytes of arguments got %+v, %v", len(raw), got, err)
	}
}
