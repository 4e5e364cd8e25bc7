package teatest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// A run of the real agent without a screen and without an operator, that goes wrong by the API or by a signal.
type mishap struct {
	args   []string
	script func(hold <-chan struct{}) []messagesapi.Step
	signal unix.Signal // to the agent, once its request has come
	want   []string    // words of the one sentence
}

// failing is an API that never gets over an error.
func failing(status int, message string) func(<-chan struct{}) []messagesapi.Step {
	return func(<-chan struct{}) []messagesapi.Step {
		return []messagesapi.Step{{Reply: messagesapi.Fail(status, message), Repeat: true}}
	}
}

// thinking is a model that does not answer before the test ends.
func thinking(hold <-chan struct{}) []messagesapi.Step {
	return []messagesapi.Step{{Reply: messagesapi.Say("too late"), Hold: hold, Repeat: true}}
}

func readsOnAndOn(<-chan struct{}) []messagesapi.Step {
	return []messagesapi.Step{{Reply: messagesapi.Call("", "Read", map[string]string{"file_path": os.DevNull}), Repeat: true}}
}

const interrupted = "something outside interrupted the agent"

func mishaps() map[string]mishap {
	return map[string]mishap{
		"API 400":   {script: failing(400, "no such feature"), want: []string{"the agent failed", "400", "no such feature"}},
		"API 401":   {script: failing(401, "invalid x-api-key"), want: []string{"the agent failed", "Invalid API key"}},
		"API 500":   {script: failing(500, "it broke"), want: []string{"the agent failed", "500"}},
		"API 529":   {script: failing(529, "overloaded"), want: []string{"the agent failed", "529"}},
		"max turns": {args: []string{"--max-turns", "1"}, script: readsOnAndOn, want: []string{"the agent failed", "turns"}},
		"SIGINT":    {script: thinking, signal: unix.SIGINT, want: []string{interrupted}},
		"SIGTERM":   {script: thinking, signal: unix.SIGTERM, want: []string{"the agent ended without a result", "SIGTERM"}},
		"kill -9":   {script: thinking, signal: unix.SIGKILL, want: []string{"the agent ended without a result", "SIGKILL"}},
	}
}

func TestClaudesMishapsAreOneSentence(t *testing.T) {
	bin := claudecli.Require(t, claudecli.Current)
	for name, m := range mishaps() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold := make(chan struct{})
			defer close(hold)
			api := messagesapi.Start(t, m.script(hold)...)
			d := dispatcher(t, api, "kitsoki-is-not-started-here")
			d.Env = append(d.Env, "CLAUDE_CODE_MAX_RETRIES=1")
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			signalled := make(chan struct{})
			go func() {
				defer close(signalled)
				if m.signal != 0 {
					api.WaitRequest(1)
					signal(t, member(t, d.Env, "stream-json"), m.signal)
				}
			}()
			_, err := d.Run(ctx, agent.Command{Name: "claude", Path: bin, Args: m.args},
				agent.Request{Verb: agent.Converse, Prompt: "build it", SessionID: "s", Dir: t.TempDir(), Access: agent.Edit}, agent.Observer{})
			<-signalled
			checkNobodyLeft(t, d.Env)
			if err == nil || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("the operator reads %v", err)
			}
			for _, w := range m.want {
				// An interrupt that comes before the CLI has begun to work ends it without a word, with code 0.
				early := w == interrupted && strings.Contains(err.Error(), "the agent ended without a result")
				if !early && !strings.Contains(err.Error(), w) {
					t.Errorf("the operator reads %q, without %q", err, w)
				}
			}
		})
	}
}
