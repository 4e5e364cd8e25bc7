package classify

import (
	"strings"
)

// byTool goes by the tool's exact name. What is not known leaves the machine: nobody can say what it does.
func (c Call) byTool(p *places) Verdict {
	switch c.Tool {
	case "Bash":
		return c.bash(p)
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return c.edit(p)
	case "Read", "NotebookRead", "LS", "Grep", "Glob":
		return c.look(p)
	case "WebFetch", "WebSearch":
		return Verdict{Effect: External, Reason: "fetches from the web"}
	}
	known, free := freeTools()[c.Tool]
	switch {
	case free:
		f, err := parseInput(c.Input)
		if err == nil {
			err = f.only(known...)
		}
		if err != nil {
			return Verdict{Effect: Write, Reason: c.Tool + " " + err.Error()}
		}
		return Verdict{Effect: Read, Reason: "changes nothing by itself"}
	case changingTools()[c.Tool]:
		return Verdict{Effect: Write, Reason: "runs " + c.Tool}
	case strings.HasPrefix(c.Tool, "mcp__"):
		return Verdict{Effect: External, Reason: "calls a tool of an MCP server"}
	}
	return Verdict{Effect: External, Reason: "calls a tool that is not known"}
}

// freeTools keep to the agent's own memory, or start sub-agents whose calls come here one by one. With a field that
// is not listed they may do more: Agent can make a working tree or change the mode, ExitPlanMode can carry grants.
func freeTools() map[string][]string {
	agent := []string{"description", "prompt", "subagent_type", "model", "run_in_background"}
	output := []string{"task_id", "bash_id", "agentId", "block", "timeout", "wait_up_to", "filter"}
	return map[string][]string{
		"Agent":         agent,
		"Task":          agent,
		"BashOutput":    output,
		"TaskOutput":    output,
		"EnterPlanMode": {},
		"ExitPlanMode":  {"plan"},
		"TodoRead":      {},
		"TodoWrite":     {"todos"},
		"ToolSearch":    {"query", "max_results"},
	}
}

// changingTools are built into the agent and change something without asking by themselves.
func changingTools() map[string]bool {
	out := map[string]bool{}
	for _, name := range strings.Fields(`
		CronCreate CronDelete CronList Config EnterWorktree ExitWorktree KillBash KillShell LSP Monitor
		SendMessage Skill SlashCommand TaskCreate TaskGet TaskList TaskStop TaskUpdate TeamCreate TeamDelete Workflow`) {
		out[name] = true
	}
	return out
}

// edit judges the tools that write one file. What cannot be read is External, so that no grant for edits covers it.
func (c Call) edit(p *places) Verdict {
	f, err := parseInput(c.Input)
	if err == nil {
		err = f.only("file_path", "notebook_path", "content", "old_string", "new_string", "replace_all", "edits",
			"new_source", "cell_id", "cell_type", "edit_mode", "cell_number")
	}
	name, other := "file_path", "notebook_path"
	if c.Tool == "NotebookEdit" {
		name, other = other, name
	}
	var file string
	if err == nil {
		file, _, err = f.text(name)
	}
	_, both := f[other]
	switch {
	case err != nil:
		return Verdict{Effect: External, Reason: c.Tool + ": " + err.Error()}
	case file == "" || both:
		return Verdict{Effect: External, Reason: c.Tool + " does not say which file"}
	}
	v := Verdict{Effect: Write}
	p.writes(&v, file, p.dir)
	return v
}

// writes adds a file that is written to a verdict.
func (p *places) writes(v *Verdict, file, from string) {
	if rest, ok := strings.CutPrefix(file, "~/"); ok && p.home != "" {
		// Some tools expand it and some do not.
		p.writes(v, p.home+"/"+rest, from)
		v.Guarded = true
		return
	}
	s := p.locate(file, from)
	s.vague = s.vague || !steady(file)
	v.Paths = append(v.Paths, s.real...)
	last := s.real[len(s.real)-1]
	switch {
	case s.vague:
		v.Guarded, v.Reason = true, "writes a file that cannot be followed: "+file
	case !p.inside(s):
		v.Guarded, v.Reason = true, "writes outside of the directory: "+last
	case s.secret():
		v.Guarded, v.Reason = true, "writes a file of secrets: "+p.short(last)
	case startsPrograms(last) || startsPrograms(s.named):
		v.Guarded, v.Reason = true, "writes a file that can start programs: "+p.short(last)
	default:
		v.Reason = "writes a file: " + p.short(last)
	}
}

// look judges the tools that read files.
func (c Call) look(p *places) Verdict {
	f, err := parseInput(c.Input)
	name := "path"
	switch c.Tool {
	case "Read":
		name = "file_path"
		err = firstOf(err, f.only("file_path", "offset", "limit", "pages"))
	case "NotebookRead":
		name = "notebook_path"
		err = firstOf(err, f.only("notebook_path", "cell_id"))
	case "LS":
		err = firstOf(err, f.only("path", "ignore"))
	case "Glob":
		err = firstOf(err, f.only("path", "pattern"))
	case "Grep":
		err = firstOf(err, f.only("path", "pattern", "glob", "type", "output_mode", "-A", "-B", "-C", "-n", "-i", "-o", "context",
			"head_limit", "offset", "multiline"))
	}
	file, there, bad := f.text(name)
	pattern, _, worse := f.text("pattern")
	if err = firstOf(firstOf(err, bad), worse); err != nil {
		return Verdict{Effect: Write, Reason: c.Tool + ": " + err.Error()}
	}
	if !there || file == "" {
		if name != "path" {
			return Verdict{Effect: Write, Reason: c.Tool + " does not say which file"}
		}
		file = p.dir
	}
	v := Verdict{Effect: Read, Reason: "reads"}
	p.reads(&v, file, p.dir)
	if c.Tool == "Glob" && (strings.Contains(pattern, "..") || strings.HasPrefix(strings.TrimSpace(pattern), "/") || strings.ContainsAny(pattern, `~\$`) ||
		strings.Contains(pattern, "{/") || strings.Contains(pattern, ",/")) {
		v.Ask, v.Reason = true, "looks outside of the directory: "+pattern
	}
	return v
}

// reads marks a verdict where a file that is read must be asked for.
func (p *places) reads(v *Verdict, file, from string) {
	s := p.locate(file, from)
	switch {
	case strings.HasPrefix(file, "~") || s.vague || !steady(file) || !p.inside(s):
		v.Ask, v.Reason = true, "reads outside of the directory: "+file
	case s.secret():
		v.Ask, v.Reason = true, "reads what may be a secret: "+file
	}
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
