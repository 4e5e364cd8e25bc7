package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
)

type runner func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error)

func (r runner) Run(ctx context.Context, _ agent.Command, req agent.Request, obs agent.Observer) (agent.Result, error) {
	return r(ctx, req, obs)
}

// turn runs one turn to its end and returns the notices of the session up to then.
func turn(t *testing.T, s *session.Session, prompt string) (notices []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.StartTurn(ctx, prompt); err != nil {
		t.Fatal(err)
	}
	for after := uint64(0); ; {
		b, err := s.Events(ctx, after)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			after = e.Seq
			switch {
			case e.Kind == session.Notice:
				notices = append(notices, e.Text)
			case e.Kind == session.TurnEnded && e.Text != "" && !e.Failed:
				t.Errorf("the turn ended with %q", e.Text)
			}
			if e.Kind == session.TurnEnded {
				return notices
			}
		}
	}
}

func closeManager(t *testing.T, m *session.Manager) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return m.Close(ctx, host.HostClosing)
}

// A secret in every place that an agent or an operator can put one into (claude-code#33947, oh-my-pi#8596,
// gh-aw#25103): no file of the session, no log and no output of the command has it.
func TestY2NoOutputHoldsASecret(t *testing.T) {
	const secret = "hunter2/Hunter2+<&>\u00e4"
	token := "sk-ant-" + "api03-0123456789abcdef"
	state := t.TempDir()
	log := filepath.Join(t.TempDir(), "log")
	logger, closeLog, err := openLog(log)
	if err != nil {
		t.Fatal(err)
	}
	both := secret + " and " + token
	m := session.NewManager(session.ManagerOptions{
		State: state, Log: logger, Environ: []string{"SERVICE_PASSWORD=" + secret, "PATH=/bin"},
		Runner: runner(func(ctx context.Context, req agent.Request, obs agent.Observer) (agent.Result, error) {
			obs.Line([]byte(`{"type":"user","x":"` + strings.ReplaceAll(both, "/", `\/`) + `"}`))
			obs.Line([]byte("Traceback: " + both))
			obs.Event(agent.ToolUse{ID: both, Name: both}, []string{both})
			obs.Refused(askbridge.Refusal{Reason: both})
			p, _ := host.OperatorPrompterFrom(ctx)
			ctx = host.WithAskRequest(ctx, host.AskRequest{ToolUseID: "t1", Asker: host.Asker{Agent: "scripted", Path: []string{both}, Dir: "/" + both}})
			_, err := p.Ask(ctx, req.SessionID, []host.OperatorQuestion{{Question: both, Header: both, Options: []host.OperatorOption{{Label: both}, {Label: "no"}}}})
			if err != nil {
				return agent.Result{}, err
			}
			return agent.Result{Conversation: both}, &agent.Failure{Sentence: "it failed: " + both}
		}),
	})
	s, err := m.New(session.Options{Command: agent.Command{Name: "scripted"}, Dir: "/" + both, Access: agent.Edit})
	if err != nil {
		t.Fatal(err)
	}
	detach, err := s.Attach("terminal", host.PrompterFunc(func(ctx context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
		ask, _ := host.AskFrom(ctx)
		return nil, ask.Answer(ctx, []host.Answer{{Text: both, Note: both}})
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer detach()
	turn(t, s, "use "+both)
	if err := closeManager(t, m); err != nil {
		t.Error(err)
	}
	closeLog()

	outputs := map[string]string{}
	for _, dir := range []string{state, filepath.Dir(log)} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			outputs[filepath.Base(path)] = string(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{"timeline": {s.TracePath()}, "json": {s.TracePath(), "--json"}, "list": {state}, "check": {state, "--check"}} {
		cmd, out := newTrace(), &bytes.Buffer{}
		cmd.SetOut(out)
		cmd.SetArgs(args)
		if err := cmd.Execute(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		outputs[name] = out.String()
	}
	for _, name := range []string{trace.FileName, trace.TranscriptName, "log", "timeline", "json"} {
		if !strings.Contains(strings.ReplaceAll(outputs[name], `\u2039`, "‹"), "‹redacted SERVICE_PASSWORD") &&
			!strings.Contains(outputs[name], "redacted SERVICE_PASSWORD") {
			t.Errorf("nothing was redacted in %s, so the test proves nothing:\n%s", name, outputs[name])
		}
	}
	for name, text := range outputs {
		for _, part := range []string{"hunter2", "Hunter2", "0123456789abcdef"} {
			if at := strings.Index(text, part); at >= 0 {
				t.Errorf("%s holds %q: …%s…", name, part, text[max(0, at-60):min(len(text), at+60)])
			}
		}
	}
}

// A full disk (here of 64 KiB) is said once on the screen, and the turn goes on.
func TestY2FullDiskIsSaidOnceAndTheTurnGoesOn(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small tmpfs cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	incomplete(t, filepath.Join(dir, "sessions"))
}

func TestUnwritablePlaceIsSaidOnceAndTheTurnGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	incomplete(t, file)
}

func incomplete(t *testing.T, state string) {
	t.Helper()
	m := session.NewManager(session.ManagerOptions{
		State: state, Environ: []string{},
		Runner: runner(func(_ context.Context, _ agent.Request, obs agent.Observer) (agent.Result, error) {
			for range 200 {
				obs.Line([]byte(strings.Repeat("x", 1000)))
				obs.Event(agent.ToolUse{Name: strings.Repeat("x", 1000)}, nil)
			}
			return agent.Result{}, nil
		}),
	})
	s, err := m.New(session.Options{Command: agent.Command{Name: "scripted"}})
	if err != nil {
		t.Fatal(err)
	}
	notices := turn(t, s, "go")
	if len(notices) != 1 || !strings.Contains(notices[0], "of this session is incomplete, and the session goes on without") {
		t.Errorf("%d notices: %.300q", len(notices), notices)
	}
	if snap, err := s.Snapshot(t.Context()); err != nil || snap.State != session.Idle {
		t.Errorf("afterwards %+v, %v", snap, err)
	}
	_ = closeManager(t, m) // which says that the end is missing
}
