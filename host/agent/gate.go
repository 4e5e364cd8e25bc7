package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// PermitTool is the tool that an agent's program brings its permissions to. It is not for its model.
const PermitTool = "mcp__operator__permit"

// Gate stands between an agent whose access is Gated and the machine, for one verb call.
type Gate interface {
	// Permit decides about a tool call of the agent, and blocks while the operator does. Its context has the operator's
	// prompter, and an AskRequest for the ask that it may open.
	Permit(ctx context.Context, call *askbridge.PermissionCall) askbridge.Decision
	// Run runs a command that Permit allowed.
	Run(ctx context.Context, call askbridge.RunCall) (exit int, err error)
	// Enclose puts a run of the agent behind what holds it to the gate, and says how it is to be started instead. done,
	// which is never nil, is called when the run has ended; its error is what went wrong with the wall meanwhile.
	Enclose(ctx context.Context, l Launch) (enclosed Launch, done func() error, err error)
	// Denials counts the calls that were denied so far.
	Denials() int
}

// Launch is how a run of an agent is started.
type Launch struct {
	Path  string
	Args  []string
	Env   []string
	Dir   string
	Files []*os.File                 // inherited from descriptor 3 on, and closed after the start
	Attr  func(*syscall.SysProcAttr) // what it has to be started in; nil: nothing

	Scratch string // a directory of this run's own, that ends with it
	Socket  string // over which it reaches the host; empty: not at all
	Config  string // where the agent keeps its own files; empty: it has no place that is known
}

// seenWithin is how long a permission may be ahead of the agent's stream.
const seenWithin = 5 * time.Second

// permit lets the gate decide about a call that the agent's stream has shown, once: whoever else writes to the socket
// behind the wall can make up permissions, but not what the model said.
func (r *run) permit(ctx context.Context, call *askbridge.PermissionCall) askbridge.Decision {
	seen, ok := r.askers.waitFor(ctx, call.ToolUseID)
	switch {
	case !ok:
		return askbridge.Decision{Message: "denied: kitsoki did not see this call in the agent's stream"}
	case call.Tool == PermitTool:
		return askbridge.Decision{Message: "denied: this tool is for the agent's own program, and a call of it allows nothing"}
	case seen.Name != call.Tool, !sameInput(seen.Input, call.Input):
		return askbridge.Decision{Message: "denied: this is not the call that kitsoki saw in the agent's stream"}
	}
	req := host.AskRequestFrom(ctx)
	req.Asker = r.askers.of(call.ToolUseID)
	ctx = host.WithAskRequest(ctx, req)
	return r.req.Gate.Permit(host.WithOperatorPrompter(ctx, r.operator), call)
}

// nobody is the prompter of a run without an operator, whose agent has no tool to ask with: whoever asks by other ways
// learns the same.
type nobody struct{}

func (nobody) Ask(context.Context, string, []host.OperatorQuestion) (map[string]any, error) {
	return nil, &host.Unanswered{Outcome: host.NoOperator, Reason: "nobody can be asked during this run"}
}

// sameInput reports whether a permission is wanted for the input that the stream showed. Between the two the agent's
// program completes the path of a file and leaves out what is not set (measured with 2.1.332); it changes nothing else.
func sameInput(seen, call json.RawMessage) bool {
	var was, now map[string]any
	if json.Unmarshal(seen, &was) != nil || json.Unmarshal(call, &now) != nil {
		return false
	}
	for name, value := range now {
		before, there := was[name]
		path, isText := value.(string)
		switch {
		case reflect.DeepEqual(before, value), !there && (value == nil || value == false):
		case isText && isPath(name) && completes(path, before):
		default:
			return false
		}
	}
	for name, value := range was {
		if _, there := now[name]; !there && value != nil && value != false && name != "description" {
			return false
		}
	}
	return true
}

func isPath(name string) bool {
	return name == "file_path" || name == "notebook_path" || name == "path"
}

// completes reports whether path is the whole of one that was written from somewhere.
func completes(path string, written any) bool {
	short, _ := written.(string)
	short = strings.TrimPrefix(strings.TrimSpace(short), "~")
	for strings.HasPrefix(short, "../") || strings.HasPrefix(short, "./") {
		_, short, _ = strings.Cut(short, "/")
	}
	short = filepath.Clean("/" + short)
	return filepath.IsAbs(path) && strings.HasSuffix(filepath.Clean(path), short)
}

// enclose puts the run behind its gate's wall, if it has one.
func (r *run) enclose(ctx context.Context, l Launch) (Launch, func() error, error) {
	if !r.req.gated() {
		return l, func() error { return nil }, nil
	}
	return r.req.Gate.Enclose(ctx, l)
}
