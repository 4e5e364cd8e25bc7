package messagesapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/teatest/messagesapi"
)

func TestErrorsHaveTheVendorsBody(t *testing.T) {
	for status, kind := range map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
	} {
		s := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Fail(status, "so sorry")})
		got, text := post(t, s, prompt("x"))
		var e struct {
			Type  string
			Error struct{ Type, Message string }
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			t.Fatalf("%d: %v in %s", status, err, text)
		}
		if got != status || e.Type != "error" || e.Error.Type != kind || e.Error.Message != "so sorry" {
			t.Errorf("%d came as %d %s", status, got, text)
		}
	}
}

func TestARequestThatNoStepWantsFailsTheTest(t *testing.T) {
	r := &recorder{TB: t}
	s := messagesapi.Start(r, messagesapi.Step{When: messagesapi.ToolOffered("A"), Name: "the question", Reply: messagesapi.Say("hi")})
	status, text := post(t, s, prompt("something else"))
	if status != http.StatusBadRequest || !strings.Contains(text, "no step") {
		t.Errorf("%d %s", status, text)
	}
	failures := r.end()
	if len(failures) != 1 || !strings.Contains(failures[0], "something else") || !strings.Contains(failures[0], "the question") {
		t.Errorf("failures %q", failures)
	}
}

func TestAStepThatIsLeftOverFailsTheTest(t *testing.T) {
	r := &recorder{TB: t}
	s := messagesapi.Start(r,
		messagesapi.Step{Reply: messagesapi.Say("hi")},
		messagesapi.Step{Name: "the farewell", Reply: messagesapi.Say("bye")},
		messagesapi.Step{Optional: true},
		messagesapi.Step{Repeat: true},
	)
	say(t, s, prompt("x"))
	failures := r.end()
	if len(failures) != 1 || !strings.Contains(failures[0], "never used: the farewell\n") {
		t.Errorf("failures %q", failures)
	}
}

func TestOtherCredentialsFailTheTest(t *testing.T) {
	for _, header := range []string{"X-Api-Key", "Authorization"} {
		r := &recorder{TB: t}
		s := messagesapi.Start(r, messagesapi.Step{Optional: true, Reply: messagesapi.Say("hi")})
		req := request(t, http.MethodPost, s.URL()+"/v1/messages", prompt("x"))
		req.Header.Set(header, "Bearer of-the-machine")
		status, text := do(t, req)
		failures := r.end()
		if status != http.StatusUnauthorized || len(failures) != 1 {
			t.Errorf("%s: %d %s, failures %q", header, status, text, failures)
		}
		if strings.Contains(text+strings.Join(failures, ""), "of-the-machine") {
			t.Errorf("%s: the credential is printed", header)
		}
	}
}

func TestABodyThatIsNoRequestFailsTheTest(t *testing.T) {
	r := &recorder{TB: t}
	s := messagesapi.Start(r)
	if status, _ := post(t, s, []string{"no", "object"}); status != http.StatusBadRequest {
		t.Errorf("status %d", status)
	}
	if failures := r.end(); len(failures) != 1 {
		t.Errorf("failures %q", failures)
	}
}

func TestSideRequestsTakeNoStep(t *testing.T) {
	title := prompt("name this conversation")
	delete(title, "thinking")
	search := prompt("search", "web_search")
	delete(search, "thinking")
	search["tool_choice"] = map[string]any{"type": "auto"}
	// An older model does not think, but it converses.
	plain := prompt("x", "Bash")
	delete(plain, "thinking")

	s := messagesapi.Start(t, messagesapi.Step{Reply: messagesapi.Say("scripted")})
	for _, req := range []map[string]any{title, search} {
		if got := say(t, s, req); got.Texts[0] == "scripted" {
			t.Errorf("a side request took the step: %v", req)
		}
	}
	if got := say(t, s, plain); got.Texts[0] != "scripted" {
		t.Errorf("the conversation got %q", got.Texts)
	}
	if loop, side := len(s.Requests()), len(s.SideRequests()); loop != 1 || side != 2 {
		t.Errorf("%d requests of the conversation and %d beside it", loop, side)
	}
}

func TestAStepCanAnswerSideRequests(t *testing.T) {
	title := prompt("name this conversation")
	delete(title, "thinking")
	s := messagesapi.Start(t,
		messagesapi.Step{Side: true, Reply: messagesapi.Say("A title")},
		messagesapi.Step{Reply: messagesapi.Say("scripted")},
	)
	if got := say(t, s, prompt("x")); got.Texts[0] != "scripted" {
		t.Errorf("the conversation got %q", got.Texts)
	}
	if got := say(t, s, title); got.Texts[0] != "A title" {
		t.Errorf("the side request got %q", got.Texts)
	}
}

func TestWhatElseTheCLIAsks(t *testing.T) {
	s := messagesapi.Start(t)
	for _, c := range []struct {
		method, path string
		status       int
		text         string
	}{
		{http.MethodHead, "/", 200, ""},
		{http.MethodHead, "/api/hello", 200, ""},
		{http.MethodPost, "/v1/messages/count_tokens?beta=true", 200, `{"input_tokens":10}`},
		{http.MethodGet, "/v1/models", 404, "not_found_error"},
		{http.MethodPost, "/v1/messagesque", 404, "not_found_error"},
	} {
		status, text := do(t, request(t, c.method, s.URL()+c.path, prompt("x")))
		if status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	if n := len(s.Requests()) + len(s.SideRequests()); n != 0 {
		t.Errorf("%d of them count as requests", n)
	}
}

func TestAHeldAnswerComesWhenReleased(t *testing.T) {
	release := make(chan struct{})
	s := messagesapi.Start(t, messagesapi.Step{Hold: release, Reply: messagesapi.Say("at last")})
	answered := make(chan string, 1)
	go func() { answered <- say(t, s, prompt("x")).Texts[0] }()
	s.WaitRequest(1)
	select {
	case got := <-answered:
		t.Fatalf("answered %q before the release", got)
	default:
	}
	close(release)
	select {
	case got := <-answered:
		if got != "at last" {
			t.Errorf("answered %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("no answer after the release")
	}
}

func TestTheTestsEndFreesWhatIsHeld(t *testing.T) {
	r := &recorder{TB: t}
	s := messagesapi.Start(r, messagesapi.Step{Hold: make(chan struct{}), Reply: messagesapi.Say("never")})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := make(chan struct{})
	go func() {
		defer close(left)
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(request(t, http.MethodPost, s.URL()+"/v1/messages", prompt("x")).WithContext(ctx))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	s.WaitRequest(1)
	began := time.Now()
	if failures := r.end(); len(failures) != 0 {
		t.Errorf("failures %q", failures)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the end took %v", took)
	}
	<-left
}
