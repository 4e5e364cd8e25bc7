package teatest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/gate"
	"example.com/kitsoki/host/gate/wall"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/messagesapi"
)

// gateRig is a session with the access ask, the real agent, a throw-away repository, and an operator who answers
// proposals as they are told.
type gateRig struct {
	t       *testing.T
	api     *messagesapi.Server
	dir     string // the repository
	env     []string
	session *session.Session
	manager *session.Manager

	mu        sync.Mutex
	proposals []host.Proposal
	handles   []host.Ask // of the proposals
	questions []string   // answered with their third row
	open      chan struct{}
}

// answerer says what the operator does with a proposal: one of its rows, or "" to let it wait, or "!reason" to decline.
type answerer func(p host.Proposal) string

func always(row string) answerer { return func(host.Proposal) string { return row } }

type gateOption func(*session.ManagerOptions)

func withWait(d time.Duration) gateOption { return func(o *session.ManagerOptions) { o.Wait = d } }
func withLevel(l wall.Level) gateOption {
	return func(o *session.ManagerOptions) { o.Gate.Level = l }
}

func newGateRig(t *testing.T, answer answerer, script func(dir string) []messagesapi.Step, options ...gateOption) *gateRig {
	t.Helper()
	bin := claudecli.Require(t, claudecli.Current)
	kitsoki := program(t)
	r := &gateRig{t: t, dir: t.TempDir(), open: make(chan struct{}, 64)}
	r.api = messagesapi.Start(t, script(r.dir)...)
	d := dispatcher(t, r.api)
	r.env = d.Env
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	opt := session.ManagerOptions{
		Runner: d, State: filepath.Join(lookup(d.Env, "XDG_STATE_HOME"), "kitsoki", "sessions"), Environ: d.Env, Wait: time.Minute,
		Gate: gate.Options{
			Self: []string{kitsoki}, Home: lookup(d.Env, "HOME"), Level: wall.Probe().Level(),
			Exec: func(ctx context.Context, e gate.Execution) (int, error) { return d.Exec(ctx, agent.Execution(e)) },
		},
	}
	for _, o := range options {
		o(&opt)
	}
	m := session.NewManager(opt)
	s, err := m.New(session.Options{Command: agent.Command{Name: "claude", Path: bin, Inherits: true}, Dir: r.dir, Access: agent.Gated})
	if err != nil {
		t.Fatal(err)
	}
	r.session, r.manager = s, m
	if answer != nil {
		if _, err := s.Attach("test", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
			return nil, r.answer(ctx, answer)
		})); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := m.Close(ctx, host.HostClosing); err != nil {
			t.Error(err)
		}
		checkTrace(t, r.env)
	})
	return r
}

func (r *gateRig) answer(ctx context.Context, answer answerer) error {
	a, _ := host.AskFrom(ctx)
	p := a.Info().Proposal
	if a.Info().Kind == host.KindQuestion && p == nil {
		r.mu.Lock()
		r.questions = append(r.questions, a.Info().Questions[0].Question)
		r.mu.Unlock()
		return a.Answer(ctx, []host.Answer{{Picked: []int{2}}})
	}
	if a.Info().Kind != host.KindProposal || p == nil {
		r.t.Errorf("asked was no proposal: %+v", a.Info())
		return ctx.Err()
	}
	r.mu.Lock()
	r.proposals, r.handles = append(r.proposals, *p), append(r.handles, a)
	r.mu.Unlock()
	r.open <- struct{}{}
	var err error
	switch row := answer(*p); {
	case row == "":
	case row[0] == '!':
		err = a.Decline(ctx, row[1:], nil)
	default:
		rows := a.Info().Questions[0].Options
		n := slices.IndexFunc(rows, func(o host.OperatorOption) bool { return o.Label == row })
		if n < 0 {
			r.t.Errorf("there is no row %q in %v", row, rows)
			return ctx.Err()
		}
		err = a.Answer(ctx, []host.Answer{{Picked: []int{n}}})
	}
	if err != nil {
		r.t.Error(err)
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// asked are the proposals so far.
func (r *gateRig) asked() []host.Proposal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.proposals)
}

func (r *gateRig) turn(prompt string) session.Result {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	res, err := r.session.Run(ctx, session.Input{Prompt: prompt})
	if err != nil {
		r.t.Fatalf("the turn failed: %v; the model read %+v", err, r.api.ToolResults())
	}
	return res
}

// begin starts a turn, and returns its end.
func (r *gateRig) begin(prompt string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		_, err := r.session.Run(ctx, session.Input{Prompt: prompt})
		ended <- err
	}()
	return ended
}

// wait waits for what comes out of a channel, a minute at most.
func wait[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(time.Minute):
		t.Fatalf("waited for %s in vain", what)
		panic("unreachable")
	}
}

// check compares what the model read of each call with a part of it; an error where it begins with "!".
func (r *gateRig) check(want map[string]string) {
	r.t.Helper()
	results := r.api.ToolResults()
	for id, part := range want {
		part, failed := strings.CutPrefix(part, "!")
		if got := results[id]; got.IsError != failed || !strings.Contains(got.Text, part) {
			r.t.Errorf("%s: the model read %+v, want %q, failed: %v", id, got, part, failed)
		}
	}
}

// checkFiles compares files of the repository with their contents; "-" where there is to be none.
func (r *gateRig) checkFiles(want map[string]string) {
	r.t.Helper()
	for name, content := range want {
		if got := r.file(name); got != content {
			r.t.Errorf("%s has %q, want %q", name, got, content)
		}
	}
}

// grants are what is granted now.
func (r *gateRig) grants() []gate.Grant {
	r.t.Helper()
	s, err := r.session.Snapshot(r.t.Context())
	if err != nil {
		r.t.Error(err)
	}
	return s.Grants
}

// texts are the commands and files of the proposals so far, in their order.
func (r *gateRig) texts() []string {
	var out []string
	for _, p := range r.asked() {
		if p.Tool == "Bash" {
			out = append(out, p.Text)
		} else {
			out = append(out, p.Tool+" "+p.Title)
		}
	}
	return out
}

// file is the content of a file of the repository; "-" when there is none.
func (r *gateRig) file(name string) string {
	r.t.Helper()
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return "-"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return string(raw)
}

// verdicts are the gate's events in the trace.
func (r *gateRig) verdicts() []host.WriteModeGranted {
	r.t.Helper()
	var out []host.WriteModeGranted
	f, err := os.Open(r.session.TracePath())
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rd := trace.NewReader(f)
	for {
		rec, err := rd.Next()
		if err != nil {
			return out
		}
		if rec.Event == (host.WriteModeGranted{}).Name() {
			var v host.WriteModeGranted
			if err := json.Unmarshal(rec.Data, &v); err != nil {
				r.t.Fatal(err)
			}
			out = append(out, v)
		}
	}
}

// do is a step in which the model calls a tool, once the call before has its result ("" for the first).
func do(after, id, tool string, input any) messagesapi.Step {
	s := messagesapi.Step{When: messagesapi.Not(messagesapi.HasToolResult()), Reply: messagesapi.Call(id, tool, input)}
	if after != "" {
		s.When = messagesapi.HasToolResultFor(after)
	}
	return s
}

func bash(command string) map[string]string {
	return map[string]string{"command": command, "description": "harmless"}
}

// The main path: a read passes, a command, a new file and an edit are proposed, allowed once each, and happen exactly as
// shown.
func TestGateAllowsOneActionEach(t *testing.T) {
	t.Parallel()
	r := newGateRig(t, always("action"), func(dir string) []messagesapi.Step {
		made := filepath.Join(dir, "made.txt")
		return []messagesapi.Step{
			do("", "t_ls", "Bash", bash("ls -la")),
			do("t_ls", "t_touch", "Bash", bash("printf 'one\\n' > sh.txt && cat sh.txt")),
			do("t_touch", "t_write", "Write", map[string]string{"file_path": made, "content": "one\ntwo\n"}),
			do("t_write", "t_read", "Read", map[string]string{"file_path": made}),
			do("t_read", "t_edit", "Edit", map[string]string{"file_path": made, "old_string": "two", "new_string": "zwei"}),
			goOn("t_edit", "All is done."),
		}
	})
	res := r.turn("go")
	results := r.api.ToolResults()
	for id, want := range map[string]string{"t_ls": ".git", "t_touch": "one", "t_write": "kitsoki has made it for you", "t_edit": "kitsoki has made it for you"} {
		if !strings.Contains(results[id].Text, want) {
			t.Errorf("%s: the model read %+v, want %q", id, results[id], want)
		}
	}
	if got := r.file("sh.txt"); got != "one\n" {
		t.Errorf("sh.txt has %q", got)
	}
	if got := r.file("made.txt"); got != "one\nzwei\n" {
		t.Errorf("made.txt has %q", got)
	}
	if n := len(r.asked()); n != 3 || res.Denials != 0 {
		t.Errorf("%d proposals, %d denials: %+v", n, res.Denials, r.asked())
	}
	for _, v := range r.verdicts() {
		if !v.Granted || v.Scope != host.ScopeAction || v.By != "operator" || v.Effect != host.EffectWrite || len(v.Hash) != 64 {
			t.Errorf("a verdict is %+v", v)
		}
	}
}
