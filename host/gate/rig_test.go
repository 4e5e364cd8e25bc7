package gate

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

	"go.uber.org/goleak"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/gate/wall"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a turn's gate with a directory of its own, which is behind a wall as far as the gate knows, and an operator
// who does as they are told.
type rig struct {
	t    *testing.T
	gate *Gate
	turn *Turn
	dir  string

	mu     sync.Mutex // guards all below
	broken error      // of the recorder
	events []host.WriteModeGranted
	shown  []host.Proposal
	rows   [][]string
	ran    []Execution
	calls  int
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t}
	var err error
	if r.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	r.gate = New(Options{
		SessionID: "s", Self: []string{"/bin/kitsoki"}, Level: wall.Kernel,
		Record: func(_ context.Context, e host.Event) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.broken != nil {
				return r.broken
			}
			v, ok := e.(host.WriteModeGranted)
			if !ok {
				return fmt.Errorf("recorded was a %T", e)
			}
			r.events = append(r.events, v)
			return nil
		},
		Exec: func(_ context.Context, e Execution) (int, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.ran = append(r.ran, e)
			return 7, nil
		},
	})
	r.next(1)
	return r
}

// next begins a turn, behind the wall of its run.
func (r *rig) next(number int) {
	if r.turn != nil {
		r.turn.End()
	}
	r.turn = r.gate.Turn(number, r.dir)
	r.turn.socket = "/run/it's/sock"
}

// call makes a tool call; input is a JSON text, or something to make one of.
func (r *rig) call(tool string, input any) *askbridge.PermissionCall {
	raw, isText := input.(string)
	if !isText {
		b, err := json.Marshal(input)
		if err != nil {
			r.t.Fatal(err)
		}
		raw = string(b)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	return &askbridge.PermissionCall{ID: fmt.Sprint("p", r.calls), ToolUseID: fmt.Sprint("t", r.calls), Tool: tool, Input: json.RawMessage(raw)}
}

// permit is the gate's decision, with an operator who answers with a row, or "!reason" to decline.
func (r *rig) permit(row, tool string, input any) askbridge.Decision {
	return r.turn.Permit(r.operator(r.t.Context(), func() string { return row }), r.call(tool, input))
}

// operator answers proposals, and notes what was shown.
func (r *rig) operator(ctx context.Context, answer func() string) context.Context {
	return host.WithOperatorPrompter(ctx, host.PrompterFunc(func(ctx context.Context, session string, qs []host.OperatorQuestion) (map[string]any, error) {
		req := host.AskRequestFrom(ctx)
		r.mu.Lock()
		if req.Kind != host.KindProposal || req.Proposal == nil || session != "s" || len(qs) != 1 {
			r.t.Errorf("asked was %+v, %+v", req, qs)
		}
		r.shown = append(r.shown, *req.Proposal)
		var rows []string
		for _, o := range qs[0].Options {
			rows = append(rows, o.Label)
		}
		r.rows = append(r.rows, rows)
		r.mu.Unlock()
		row := answer()
		if reason, declined := strings.CutPrefix(row, "!"); declined {
			return nil, &host.Unanswered{Outcome: host.Declined, Reason: reason}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return map[string]any{qs[0].Question: row}, nil
	}))
}

func (r *rig) asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.shown)
}

// last is the newest proposal, and verdict the newest verdict.
func (r *rig) last() host.Proposal {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shown) == 0 {
		return host.Proposal{}
	}
	return r.shown[len(r.shown)-1]
}

func (r *rig) verdict() host.WriteModeGranted {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) == 0 {
		return host.WriteModeGranted{}
	}
	return r.events[len(r.events)-1]
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) write(name, text string) {
	r.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(r.path(name)), 0o700), os.WriteFile(r.path(name), []byte(text), 0o600)); err != nil {
		r.t.Fatal(err)
	}
}

// file is what a file holds; "-" when there is none.
func (r *rig) file(name string) string {
	r.t.Helper()
	raw, err := os.ReadFile(r.path(name))
	if errors.Is(err, os.ErrNotExist) {
		return "-"
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return string(raw)
}

func writes(path, content string) map[string]string {
	return map[string]string{"file_path": path, "content": content}
}

func edits(path, from, to string) map[string]any {
	return map[string]any{"file_path": path, "old_string": from, "new_string": to, "replace_all": false}
}

func runs(command string) map[string]string {
	return map[string]string{"command": command, "description": "lists the files"}
}

const made = "kitsoki has made it for you"
