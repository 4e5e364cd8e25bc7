package scripted

import (
	"fmt"
	"slices"
	"strings"
)

// askTool is the operator's tool as the agent sees it.
const askTool = "mcp__operator__ask"

// subAgentTool starts a sub-agent. claude lists it as Task and its model calls it Agent.
const subAgentTool = "Agent"

// valueTool returns the value of a run with a schema.
const valueTool = "StructuredOutput"

// toolbox knows which tools a run has and may call, and calls those of MCP servers.
type toolbox struct {
	builtin []string
	denied  []string // rules
	allowed []string // rules
	bypass  bool
	servers []*server // in the order of their names
}

// builtinTools are the tools that a scenario can imitate without being refused.
func builtinTools() []string {
	return []string{"Task", "Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write"}
}

func newToolbox(o options, servers []*server) *toolbox {
	t := &toolbox{
		builtin: builtinTools(),
		denied:  splitRules(o.disallowed),
		allowed: splitRules(o.allowed),
		bypass:  o.permissionMode == "bypassPermissions",
		servers: servers,
	}
	if given := splitRules(o.tools); o.tools != nil && !slices.Contains(given, "default") {
		t.builtin = slices.DeleteFunc(t.builtin, func(name string) bool {
			return !slices.ContainsFunc(given, func(g string) bool { return sameTool(g, name) })
		})
	}
	if o.schema != "" { // also beside --tools
		t.builtin = append(t.builtin, valueTool)
	}
	if o.permissionTool != "" { // measured: claude lists it as soon as somebody could permit it
		t.builtin = append(t.builtin, "AskUserQuestion")
	}
	return t
}

// names lists the tools of a run as system/init does: the built-in ones, then those of MCP servers. A tool that
// still needs a permission is listed, a denied one is not.
func (t *toolbox) names() []string {
	names := slices.Clone(t.builtin)
	for _, s := range t.servers {
		for _, tool := range s.tools {
			names = append(names, "mcp__"+s.cfg.name+"__"+tool.Name)
		}
	}
	return slices.DeleteFunc(names, t.isDenied)
}

func (t *toolbox) has(tool string) bool {
	return slices.ContainsFunc(t.names(), func(name string) bool { return sameTool(name, tool) })
}

// permitted reports whether a tool may be called. Built-in tools always may: what they do is imitated.
func (t *toolbox) permitted(tool string) bool {
	return !strings.HasPrefix(tool, "mcp__") || t.bypass ||
		slices.ContainsFunc(t.allowed, func(rule string) bool { return covers(rule, tool) })
}

func (t *toolbox) isDenied(tool string) bool {
	return slices.ContainsFunc(t.denied, func(rule string) bool { return covers(rule, tool) })
}

// lookup finds the server of an MCP tool and what the server calls it.
func (t *toolbox) lookup(tool string) (s *server, name string, ok bool) {
	for _, s := range t.servers {
		if name, ok := strings.CutPrefix(tool, "mcp__"+s.cfg.name+"__"); ok {
			return s, name, true
		}
	}
	return nil, "", false
}

// covers reports whether a rule speaks of a tool as a whole. "mcp__server" and "mcp__server__*" speak of all
// tools of a server; a rule with a pattern in parentheses only of some uses of a tool.
func covers(rule, tool string) bool {
	if strings.Contains(rule, "(") {
		return false
	}
	if sameTool(rule, tool) {
		return true
	}
	server := strings.TrimSuffix(rule, "__*")
	return strings.HasPrefix(server, "mcp__") && !strings.Contains(server[len("mcp__"):], "__") &&
		strings.HasPrefix(tool, server+"__")
}

func sameTool(a, b string) bool {
	alias := func(name string) string {
		if name == "Task" {
			return subAgentTool
		}
		return name
	}
	return alias(a) == alias(b)
}

// splitRules splits lists of tools at commas and blanks outside of parentheses: "Bash(git *) Edit".
func splitRules(lists []string) []string {
	var rules []string
	for _, list := range lists {
		depth, start := 0, 0
		cut := func(end int) {
			if rule := list[start:end]; rule != "" {
				rules = append(rules, rule)
			}
			start = end + 1
		}
		for i, r := range list {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case depth == 0 && (r == ',' || r == ' '):
				cut(i)
			}
		}
		cut(len(list))
	}
	return rules
}

// toolResult is what came of a call: content as the model reads it, a string or a list of blocks, and detail,
// which the stream carries beside it.
type toolResult struct {
	content, detail any
	text            string // content as text
	isError         bool
	builtin         bool // claude marks these as an error or not; others only as an error
}

func errorResult(text string) toolResult {
	return toolResult{content: text, detail: "Error: " + text, text: text, isError: true}
}

// The first two are claude's own words (2.1.332): callers match them.

func noSuchTool(name string) toolResult {
	text := "Error: No such tool available: " + name
	return toolResult{content: "<tool_use_error>" + text + "</tool_use_error>", detail: text, text: text, isError: true}
}

func notGranted(name string) toolResult {
	return errorResult(fmt.Sprintf("Claude requested permissions to use %s, but you haven't granted it yet.", name))
}

func rejected() toolResult {
	return errorResult("the run was interrupted, so this tool was not used")
}
