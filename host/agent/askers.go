package agent

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"example.com/kitsoki/host"
)

// askers tells which sub-agent made a tool call. The call's id comes over the socket, the sub-agent from the
// stream's parent_tool_use_id; either can be first.
type askers struct {
	root host.Asker

	mu      sync.Mutex
	parents map[string]string // tool call to the call that started its sub-agent
	names   map[string]string // call that started a sub-agent to its name
	waiting map[string]host.OpenedAsk

	gated bool               // calls are kept for the gate; set before the first
	calls map[string]ToolUse // that were seen and not yet brought to the gate
	news  chan struct{}      // closed when one more was seen
}

// maxDepth is deeper than any agent nests; a cycle in hostile ids ends there.
const maxDepth = 8

func newAskers(root host.Asker) *askers {
	return &askers{
		root: root, parents: map[string]string{}, names: map[string]string{}, waiting: map[string]host.OpenedAsk{},
		calls: map[string]ToolUse{}, news: make(chan struct{}),
	}
}

// saw learns from a tool call in the stream.
func (a *askers) saw(e ToolUse) {
	a.mu.Lock()
	a.parents[e.ID] = e.Parent
	if a.gated {
		a.calls[e.ID] = e
		close(a.news)
		a.news = make(chan struct{})
	}
	if e.Name == "Agent" || e.Name == "Task" {
		a.names[e.ID] = subAgentName(e.Input)
	}
	ask := a.waiting[e.ID]
	delete(a.waiting, e.ID)
	a.mu.Unlock()
	if ask != nil && e.Parent != "" {
		ask.Identify(a.of(e.ID))
	}
}

func subAgentName(input json.RawMessage) string {
	var in struct {
		Type        string `json:"subagent_type"`
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(input, &in) // whatever is missing stays empty
	for _, s := range []string{in.Name, in.Type, in.Description} {
		if s != "" {
			return s
		}
	}
	return "sub-agent"
}

// of returns who made a tool call, as far as the stream has said.
func (a *askers) of(toolUseID string) host.Asker {
	a.mu.Lock()
	defer a.mu.Unlock()
	who := a.root
	who.Path = a.pathLocked(a.parents[toolUseID])
	return who
}

// path names the sub-agents down to the one that the call parent started, outermost first.
func (a *askers) path(parent string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pathLocked(parent)
}

func (a *askers) pathLocked(parent string) []string {
	var path []string
	for id := parent; id != "" && len(path) < maxDepth; id = a.parents[id] {
		name := a.names[id]
		if name == "" {
			name = "sub-agent"
		}
		path = append(path, name)
	}
	slices.Reverse(path)
	return path
}

// opened remembers an ask whose call the stream has not shown yet.
func (a *askers) opened(toolUseID string, ask host.OpenedAsk) {
	a.mu.Lock()
	_, known := a.parents[toolUseID]
	if !known && toolUseID != "" {
		a.waiting[toolUseID] = ask
	}
	a.mu.Unlock()
	if known {
		ask.Identify(a.of(toolUseID))
	}
}

// unbrought counts those of the calls that were never brought to the gate: the agent's own program denied them.
func (a *askers) unbrought(ids []string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, id := range ids {
		if _, ok := a.calls[id]; ok {
			n++
		}
	}
	return n
}

// waitFor returns a call that the stream has shown, as soon as it has, and once.
func (a *askers) waitFor(ctx context.Context, toolUseID string) (ToolUse, bool) {
	late := time.NewTimer(seenWithin)
	defer late.Stop()
	for {
		a.mu.Lock()
		e, ok := a.calls[toolUseID]
		delete(a.calls, toolUseID)
		news := a.news
		a.mu.Unlock()
		if ok && toolUseID != "" {
			return e, true
		}
		select {
		case <-news:
		case <-late.C:
			return ToolUse{}, false
		case <-ctx.Done():
			return ToolUse{}, false
		}
	}
}
