package teatest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// Whoever logs in by their settings can use every verb and access: the key, its helper, the address and the model
// come along where settings files are shut out, with and without an operator, and in no argument. What the project
// says of them counts nowhere but where it is trusted.
func TestClaudesCredentialsComeAlong(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	program(t)
	t.Parallel()
	for name, c := range map[string]struct {
		req     agent.Request
		helper  bool
		present bool
	}{
		"read, with a key":                    {agent.Request{Verb: agent.Task, Access: agent.Read}, false, false},
		"ask, by a helper":                    {agent.Request{Verb: agent.Ask}, true, false},
		"read, by a helper, with an operator": {agent.Request{Verb: agent.Converse, Access: agent.Read}, true, true},
		"edit, by a helper":                   {agent.Request{Verb: agent.Task}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			credentials(t, bin, c.req, c.helper, c.present)
		})
	}
}

const helperKey = "sk-ant-of-the-helper"

func credentials(t *testing.T, bin string, req agent.Request, helper, present bool) {
	first := messagesapi.Step{Reply: messagesapi.Say("Logged in.")}
	api := messagesapi.Start(t, first)
	d, ctx := dispatcher(t, api), aMinute(t)
	if present {
		ctx = staffed(t, 0, func(context.Context, host.Ask) error { return nil })
	}
	home, dir := t.TempDir(), t.TempDir()
	y := &yard{t: t}
	settings := map[string]any{"model": "model-of-the-operator", "env": map[string]string{"ANTHROPIC_BASE_URL": api.URL(), "ANTHROPIC_API_KEY": messagesapi.FakeKey}}
	if helper {
		door, used := doorFor(t, api.URL())
		settings["env"] = map[string]string{"ANTHROPIC_BASE_URL": door}
		settings["apiKeyHelper"] = "echo " + helperKey
		defer func() {
			if used.Load() == 0 {
				t.Error("the helper's key did not come")
			}
		}()
	}
	y.writeJSON(filepath.Join(home, ".claude", "settings.json"), settings)
	y.writeJSON(filepath.Join(dir, ".claude", "settings.json"), map[string]any{
		"apiKeyHelper": "touch " + filepath.Join(home, "theirs"), "model": "model-of-the-project",
		"env": map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_API_KEY": "sk-ant-of-the-project"},
	})
	d.Env = slices.DeleteFunc(d.Env, func(kv string) bool { return strings.HasPrefix(kv, "ANTHROPIC_") })
	d.Env = append(d.Env, "HOME="+home, "CLAUDE_CODE_MAX_RETRIES=1")
	req.Prompt, req.SessionID, req.Dir = "hello", "s", dir
	res, err := d.Run(ctx, agent.Command{Name: "claude", Path: bin, Inherits: true}, req, agent.Observer{Started: func(argv []string) {
		for _, s := range []string{messagesapi.FakeKey, helperKey, api.URL()} {
			if strings.Contains(strings.Join(argv, " "), s) {
				t.Errorf("an argument has %s: %v", s, argv)
			}
		}
	}})
	if err != nil || res.Text != "Logged in." || res.Model != "model-of-the-operator" {
		t.Fatalf("got %+v, %v", res, err)
	}
	if present != slices.Contains(api.WaitRequest(1).Tools, askTool) {
		t.Error("the tool to ask with")
	}
	if _, err := os.Stat(filepath.Join(home, "theirs")); err == nil {
		t.Error("the project's helper ran")
	}
}

// doorFor is an address that lets the helper's key in, and hands on with the one that the scripted API knows. It
// counts.
func doorFor(t *testing.T, to string) (string, *atomic.Int32) {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	used := &atomic.Int32{}
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		if r.In.Header.Get("X-Api-Key") == helperKey {
			used.Add(1)
			r.Out.Header.Set("X-Api-Key", messagesapi.FakeKey)
			r.Out.Header.Del("Authorization")
		}
	}}
	server := httptest.NewServer(http.Handler(proxy))
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL, used
}
