package control

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"encoding/json"

	"example.com/kitsoki/host/rpc"
)

// The page names every method with its params, every code, field and limit as they are.
func TestThePageIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../docs/control.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	want := []string{
		fmt.Sprintf("%d bytes", rpc.MaxLine), fmt.Sprintf("%d requests in hand", rpc.MaxInHand), fmt.Sprintf("%d subscriptions", maxSubscriptions), fmt.Sprintf("%d connections", rpc.MaxConns),
		fmt.Sprintf("the last %d ended", keptEnds), fmt.Sprintf("up to %v at once", longest.Seconds()), fmt.Sprintf("the first %d\ncharacters", MinHash),
		fmt.Sprintf("%d open asks and %d a minute of one parent, %d\nopen ones", guestOpen, guestPerMinute, guestOpenAll), fmt.Sprintf("`_`, %d at the most", maxGuestID),
		fmt.Sprintf("in %v seconds", guestDelivers.Seconds()), "`" + methodQuestions + "`", "`" + methodGuestNews + "`",
	}
	r := newRig(t, asks)
	for method := range r.server.methods() {
		want = append(want, "`"+method+"`")
		var e *rpc.Error
		if err := r.client.conn.Call(t.Context(), method, json.RawMessage(`{"nope":1}`), nil); !errors.As(err, &e) {
			t.Fatalf("%s: %v", method, err)
		}
		_, fields, _ := strings.Cut(e.Message, "there are ")
		fields, _, _ = strings.Cut(fields, ";")
		at := strings.Index(page, "`"+method+"`")
		for field := range strings.SplitSeq(fields, ", ") {
			if field = strings.TrimSpace(field); field != "" && at >= 0 && !strings.Contains(page[at:min(at+900, len(page))], "`"+field+"`") {
				t.Errorf("docs/control.md does not say that %s takes %s", method, field)
			}
		}
	}
	for code := codeUnknown; code <= codeLimit; code++ {
		want = append(want, fmt.Sprintf("| %d | ", code))
	}
	for _, v := range []any{
		Question{}, Row{Headers: []string{}}, Ended{At: time.Now()}, settled{}, invalid{}, guestFinal{}, guestNews{}, Info{}, questionEvent{}, pick{}, unqueued{}, peeked{},
	} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		for name := range members {
			if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, `"`+name+`"`) {
				t.Errorf("docs/control.md lacks the field %s of %T", name, v)
			}
		}
	}
	for _, what := range []string{opened, updated, resolved, resync} {
		want = append(want, "| `"+what+"` | ")
	}
	if len(want) < 50 {
		t.Errorf("only %d things are looked for", len(want))
	}
	for _, words := range want {
		if !strings.Contains(page, words) {
			t.Errorf("docs/control.md lacks %q", words)
		}
	}
}
