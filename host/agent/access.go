package agent

import (
	"slices"
	"strings"
)

// readTools are the agent's tools that change nothing.
func readTools() []string { return []string{"Read", "Grep", "Glob", "Agent"} }

// editTools are those that Edit has. They are named one by one, so that a tool which a later release brings is not
// there until somebody has looked at it. Missing are the ones that never ask for permission and reach beyond the
// working directory, or the end of the run: EnterWorktree (branches of the whole repository), CronCreate,
// ScheduleWakeup, SendMessage and Workflow (measured with 2.1.332).
func editTools() []string {
	return []string{
		"Read", "Grep", "Glob", "Edit", "Write", "NotebookEdit", "Bash", "BashOutput", "KillShell", "Monitor", "TaskOutput", "TaskStop",
		"Agent", "Skill", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch",
	}
}

// gatedTools are those that Gated has: what changes something comes to the gate. Missing is what changes something
// without asking for permission (measured with 2.1.332), and NotebookEdit, which the gate cannot carry out.
func gatedTools() []string {
	return []string{
		"Read", "Grep", "Glob", "Edit", "Write", "Bash", "BashOutput", "KillShell", "TaskOutput", "TaskStop", "Agent", "TodoWrite", "ToolSearch",
		"WebFetch", "WebSearch",
	}
}

// levelTools are the tools of a request's access level; nil is all that there are.
func (r Request) levelTools() []string {
	switch {
	case r.onlyReads():
		return readTools()
	case r.gated():
		return gatedTools()
	case r.Access == Full:
		return nil
	}
	return editTools()
}

// toolArgs says which of its own tools the agent has and what it may do with them. Sub-agents have no others
// (measured).
func (r Request) toolArgs() []string {
	tools := r.levelTools()
	if r.Tools != nil {
		wanted := func(name string) bool { return slices.Contains(r.Tools, name) }
		if tools == nil {
			tools = slices.DeleteFunc(slices.Clone(r.Tools), func(name string) bool { return name == ownQuestions })
		} else {
			tools = slices.DeleteFunc(tools, func(name string) bool { return !wanted(name) })
		}
	}
	var args []string
	if tools != nil {
		args = append(args, "--tools", strings.Join(tools, ","))
	}
	mode := "acceptEdits"
	switch {
	case r.onlyReads(), r.gated():
		mode = "default"
	case r.Access == Full:
		mode = "bypassPermissions"
	}
	return append(args, "--permission-mode", mode)
}

// The agent's own question tool resolves empty without a terminal, whatever else is given.
const ownQuestions = "AskUserQuestion"

// aloneInAWorktree is a sub-agent that gets a worktree and a branch of its own, without asking (measured), wherever
// in the repository the agent works.
const aloneInAWorktree = "Agent(isolation:worktree)"

// denied are the tools, and the uses of tools, that an access level takes away, more beside them.
func (r Request) denied(more []string) []string {
	if !r.onlyReads() && r.Access == Full {
		return []string{ownQuestions}
	}
	return append([]string{ownQuestions, aloneInAWorktree}, more...)
}

// gated reports whether what changes something goes through the gate.
func (r Request) gated() bool { return !r.onlyReads() && r.Access == Gated }

// guarded reports whether no settings file may let a tool run unasked.
func (r Request) guarded() bool { return r.onlyReads() || r.gated() }

// sources names the settings files that the agent reads, and reports whether it reads fewer than it would by itself.
// Settings can carry allow rules and hooks, which let tools run unasked: where nothing may be changed none is read;
// where changes stay in the working directory, none that came with a directory which the operator does not trust.
func (r Request) sources(trusted bool) (names string, fewer bool) {
	switch {
	case r.guarded():
		return "", true
	case r.Access == Full || trusted:
		return "", false
	}
	return "user", true
}
