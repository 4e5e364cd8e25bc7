package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/gate/classify"
	"example.com/kitsoki/host/gate/wall"
)

// Launch is how a run of an agent is started.
type Launch struct {
	Path  string
	Args  []string
	Env   []string
	Dir   string
	Files []*os.File                 // inherited from descriptor 3 on
	Attr  func(*syscall.SysProcAttr) // what it has to be started in, beside what the starter asks for; nil: nothing

	Scratch string // a directory of the run's own
	Socket  string // over which the run reaches the host; empty: not at all
	Config  string // where the agent keeps its own files; empty: it has none
}

// wallEnds is how long the wall's supervisor has to see that nobody is left behind the wall.
const wallEnds = 2 * time.Second

// Enclose puts a run of the agent behind the wall. done waits for the wall's end.
func (t *Turn) Enclose(ctx context.Context, l Launch) (Launch, func() error, error) {
	nothing := func() error { return nil }
	l.Env = append(slices.Clone(l.Env), classify.Environment(func(name string) string { return lookup(l.Env, name) })...)
	t.mu.Lock()
	t.socket = l.Socket
	t.mu.Unlock()
	if t.gate.opt.Level == wall.None {
		return l, nothing, nil
	}
	spec := wall.Spec{Writable: []string{l.Scratch}, AgentConnects: true}
	if l.Socket != "" {
		spec.Sockets = []string{l.Socket}
	}
	if l.Config != "" {
		kept, err := wall.Conversations(l.Config, l.Dir)
		if err != nil {
			return l, nothing, err
		}
		spec.Writable = append(spec.Writable, kept...)
		t.mu.Lock()
		t.kept = kept
		t.mu.Unlock()
	}
	w, err := wall.Prepare(spec, t.gate.opt.Level, func(r wall.Refusal) {
		t.gate.opt.Notice(askbridge.Safe(fmt.Sprintf("the wall kept %s from this: %s", r.Command, r.What)))
	})
	if err != nil {
		return l, nothing, err
	}
	t.mu.Lock()
	t.scratch = l.Scratch
	t.mu.Unlock()
	l.Env = append(l.Env, "TMPDIR="+l.Scratch, "CLAUDE_CODE_TMPDIR="+l.Scratch)
	l.Path, l.Args, l.Files = w.Wrap(t.gate.opt.Self, l.Path, l.Args)
	l.Attr = w.Attr
	running, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(running) }()
	return l, func() error {
		late := time.AfterFunc(wallEnds, func() { stop(errAgentGone) })
		defer late.Stop()
		err := <-ended
		stop(nil)
		if errors.Is(err, errAgentGone) {
			err = nil
		}
		return errors.Join(err, w.Close())
	}, nil
}

var errAgentGone = errors.New("the agent is gone")

// isOutput reports whether a Read is of what a tool of the agent's printed, and was too long for its model: claude keeps
// that beside the transcript of the conversation (measured with 2.1.332).
func (t *Turn) isOutput(input json.RawMessage) bool {
	in, err := members(input)
	if err != nil {
		return false
	}
	file, err := text(in, "file_path")
	if err != nil || file == nil || !filepath.IsAbs(*file) {
		return false
	}
	path, err := filepath.EvalSymlinks(*file)
	if err != nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.kept, func(dir string) bool {
		rel, err := filepath.Rel(dir, filepath.Dir(path))
		return err == nil && filepath.IsLocal(rel) && filepath.Base(rel) == "tool-results" && rel != "tool-results"
	})
}

func lookup(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
