package teatest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/teatest/messagesapi"
)

// crowd is how many sub-agents work at once.
const crowd = 20

// Twenty sub-agents want something at once. Each proposal says who, and one grant for the turn resolves all that wait
// and are of its kind; what leaves the machine waits on.
func TestGateTwentyProposalsAtOnce(t *testing.T) {
	t.Parallel()
	all := make(chan struct{}) // closed when everybody waits
	answer := func(p host.Proposal) string {
		<-all
		switch {
		case p.Effect == host.EffectExternal:
			return "deny"
		case strings.HasSuffix(p.Text, " 7"):
			return "turn"
		}
		return "" // a grant ends it
	}
	var blocks []messagesapi.Block
	var steps []messagesapi.Step
	for i := range crowd {
		id, job := fmt.Sprintf("sub%02d", i), fmt.Sprintf("job number %d.", i)
		blocks = append(blocks, messagesapi.Use(id, "Agent", map[string]any{
			"description": "work", "prompt": job, "subagent_type": "general-purpose", "run_in_background": true,
		}))
		command := fmt.Sprintf("touch sub-%d # %d", i, i)
		if i == crowd-1 {
			command = "git push"
		}
		mine := func(s messagesapi.Step) messagesapi.Step {
			s.When = messagesapi.All(messagesapi.PromptContains(job), s.When)
			return inSubAgent(s)
		}
		steps = append(steps, mine(do("", "call"+id, "Bash", bash(command))), mine(goOn("call"+id, "Done.")))
	}
	steps = append(steps,
		messagesapi.Step{When: messagesapi.All(messagesapi.OfKind(messagesapi.Conversation), messagesapi.Not(messagesapi.HasToolResult())), Reply: messagesapi.With(blocks...)},
		messagesapi.Step{When: messagesapi.OfKind(messagesapi.Conversation), Reply: messagesapi.Say("All are at work."), Repeat: true},
	)
	r := newGateRig(t, answer, func(string) []messagesapi.Step { return steps })
	ended := r.begin("go")
	for range crowd {
		wait(t, "a proposal", r.open)
	}
	snapshot, err := r.session.Snapshot(t.Context())
	if err != nil || snapshot.Asks != crowd || snapshot.State != session.Asking {
		t.Errorf("%+v, %v", snapshot, err)
	}
	close(all)
	if err := wait(t, "the end of the turn", ended); err != nil {
		t.Error(err)
	}
	for i := range crowd - 1 {
		if r.file(fmt.Sprintf("sub-%d", i)) != "" {
			t.Errorf("sub-%d was not made", i)
		}
	}
	by := map[string]int{}
	for _, v := range r.verdicts() {
		by[fmt.Sprint(strings.Fields(v.By)[0], v.Granted)]++
	}
	if by["operatortrue"] != 1 || by["granttrue"] != crowd-2 || by["operatorfalse"] != 1 {
		t.Errorf("the verdicts are by %v", by)
	}
	for _, h := range r.handles {
		if who := h.Info().Asker; who.Agent != "claude" || !slices.Equal(who.Path, []string{"general-purpose"}) {
			t.Errorf("asked by %+v", who)
		}
	}
	ends := map[string]int{}
	for _, outcome := range checkTraceSoFar(t, r.env) {
		ends[outcome]++
	}
	if ends["answered"] != 2 || ends["cancelled"] != crowd-2 {
		t.Errorf("the proposals ended as %v", ends)
	}
}

// checkTraceSoFar is how the asks ended until now, in a session that goes on.
func checkTraceSoFar(t *testing.T, env []string) map[string]string {
	t.Helper()
	outcomes := map[string]string{}
	for _, r := range traceOf(t, env) {
		if id, _ := r.Data["question_id"].(string); r.Event == "operator.question.answered" || r.Event == "operator.question.unanswered" {
			outcomes[id], _ = r.Data["outcome"].(string)
		}
	}
	return outcomes
}

// Somebody behind the wall finds the dispatch's socket and its token, while the real agent waits for an answer: they get
// no permission, run nothing, and change nothing of what the operator decides.
func TestGateHostileAtTheSocket(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	r := newGateRig(t, func(host.Proposal) string { <-answered; return "action" }, func(string) []messagesapi.Step {
		return []messagesapi.Step{
			do("", "real", "Bash", bash("echo really > made")),
			goOn("real", "Done."),
		}
	})
	ended := r.begin("go")
	wait(t, "the proposal", r.open)
	sockets, err := filepath.Glob(filepath.Join(lookup(r.env, "XDG_RUNTIME_DIR"), "kitsoki", "*", "ask.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("the sockets are %v, %v", sockets, err)
	}
	client, err := askbridge.Dial(sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	ctx := aMinute(t)
	var attacks sync.WaitGroup
	permit := func(toolUse, tool, input string) {
		attacks.Go(func() {
			d := client.Permit(ctx, askbridge.PermissionParams{ID: host.NewID(), ToolUseID: toolUse, Tool: tool, Input: json.RawMessage(input)})
			if d.Allow || !strings.HasPrefix(d.Message, "denied") && !strings.Contains(d.Message, "so it is denied") {
				t.Errorf("%s %s: %+v", tool, input, d)
			}
		})
	}
	permit("real", "Bash", `{"command":"echo really > made","description":"harmless"}`) // it was brought already
	permit("real", "Bash", `{"command":"rm -rf ."}`)
	permit("real", "Write", `{"file_path":"made","content":"x"}`)
	permit("made-up", "Bash", `{"command":"touch forged"}`)
	permit("", "Bash", `{"command":"touch forged"}`)
	permit("real", agent.PermitTool, `{"tool_name":"Bash","input":{"command":"touch forged"},"tool_use_id":"real"}`)
	permit("x", "Bash", `{"command":"`+strings.Repeat("a", 2<<20)+`"}`)
	for _, token := range []string{"", "real", strings.Repeat("0", 32), strings.Repeat("a", 4096)} {
		attacks.Go(func() {
			if _, err := client.Run(ctx, token, r.dir, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "was not allowed") {
				t.Errorf("the token %.40q: %v", token, err)
			}
		})
	}
	done := make(chan struct{})
	go func() { attacks.Wait(); close(done) }()
	wait(t, "the end of the attacks", done)
	close(answered)
	if err := wait(t, "the end of the turn", ended); err != nil {
		t.Error(err)
	}
	r.checkFiles(map[string]string{"made": "really\n", "forged": "-"})
	if len(r.asked()) != 1 || len(r.verdicts()) != 1 {
		t.Errorf("asked was %q, and the verdicts are %+v", r.texts(), r.verdicts())
	}
}

// A prompter that is detached while its proposal is open decides nothing; whoever comes next can.
func TestGateSurfaceThatLeaves(t *testing.T) {
	t.Parallel()
	r := newGateRig(t, nil, func(string) []messagesapi.Step {
		return []messagesapi.Step{do("", "a", "Bash", bash("touch made")), goOn("a", "Done.")}
	})
	first := make(chan struct{}, 1)
	detach, err := r.session.Attach("first", host.PrompterFunc(func(ctx context.Context, _ string, qs []host.OperatorQuestion) (map[string]any, error) {
		first <- struct{}{}
		<-ctx.Done()
		return map[string]any{qs[0].Question: "session"}, nil // too late: it was taken away
	}))
	if err != nil {
		t.Fatal(err)
	}
	ended := r.begin("go")
	wait(t, "the proposal", first)
	second := make(chan error, 1)
	leave, err := r.session.Attach("second", host.PrompterFunc(func(ctx context.Context, _ string, _ []host.OperatorQuestion) (map[string]any, error) {
		detach()
		a, _ := host.AskFrom(ctx)
		second <- a.Answer(ctx, []host.Answer{{Picked: []int{1}}})
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if err := errors.Join(wait(t, "the answer", second), wait(t, "the end of the turn", ended)); err != nil {
		t.Error(err)
	}
	r.checkFiles(map[string]string{"made": ""})
	if v := r.verdicts(); len(v) != 1 || v[0].Scope != host.ScopeAction || len(r.grants()) != 0 {
		t.Errorf("%+v", v)
	}
}
