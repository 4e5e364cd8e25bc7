package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/kitsoki/askbridge"
)

// carried is what a run gets of the operator's set-up where the agent does not read it by itself, because settings
// files are shut out (see Request.sources). The CLI then drops all of these (measured with 2.1.332): settings, and
// credentials in them; MCP servers; CLAUDE.md. Credentials outside of settings files it finds in any case.
type carried struct {
	fewer    bool
	sources  string
	settings map[string]any // for a settings file; empty: none
	servers  []server
	dirs     []string // whose CLAUDE.md is read
	env      []string // over the inherited one
	deny     []string // uses of tools that are not safe in this directory
	notes    []string // files of instructions that are in none of dirs
}

// needsDir reports whether there is anything to write into the dispatch's directory.
func (c carried) needsDir() bool { return len(c.settings)+len(c.servers)+len(c.notes) > 0 }

// passing are the settings that say how the agent reaches its model, and which. None of them lets a tool run.
func passing() []string {
	return []string{
		"apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "proxyAuthHelper", "env", "forceLoginMethod", "forceLoginOrgUUID",
		"model", "modelOverrides", "availableModels", "effortLevel", "language",
	}
}

// carry collects what a request's run is to get. Sentences for the operator go to notice.
func (d *Dispatcher) carry(cmd Command, req Request, notice func(string)) carried {
	var c carried
	own, ok := homeOf(append(slices.Clone(d.Env), cmd.Env...))
	if !cmd.Inherits || !ok || (!req.onlyReads() && req.Access == Full) {
		c.sources, c.fewer = req.sources(!cmd.Inherits)
		return c
	}
	at, err := placeOf(req.Dir)
	if err != nil {
		c.sources, c.fewer = req.sources(false)
		return c // the agent cannot be started there either, and that has its own sentence
	}
	state, err := stateOf(own.state, at)
	if err != nil {
		notice(fmt.Sprintf("your MCP servers were left out, and no directory counts as trusted, because their file could not be read: %v", err))
	}
	if c.sources, c.fewer = req.sources(state.trusted()); !c.fewer {
		return c
	}
	c.dirs = []string{at.dir}
	if gitRunsPrograms(at.dir) {
		c.env = withoutGitsPrograms(d.Env)
	}
	if at.root != "" && at.root != at.dir {
		c.note(filepath.Join(at.root, memoryFile))
	}
	c.servers = operatorsServers(state, req.guarded())
	c.settings = map[string]any{}
	c.forbid(own, at)
	if !req.guarded() { // then it reads the operator's settings by itself
		if len(c.env) > 0 {
			c.deny = []string{anyGit}
		}
		d.sayOnce(at.dir, len(c.deny) > 0, notice)
		return c
	}
	c.note(filepath.Join(own.dir, memoryFile))
	var settings map[string]json.RawMessage
	path := filepath.Join(own.dir, settingsFile)
	if err := readJSON(path, &settings); err != nil && !errors.Is(err, fs.ErrNotExist) {
		notice(fmt.Sprintf("nothing of your settings was handed to the agent, because they could not be read: %v", err))
	}
	for _, name := range passing() {
		if value, ok := settings[name]; ok {
			c.settings[name] = value
		}
	}
	return c
}

// Names of the CLI's files, in the operator's directory and in a project.
const (
	settingsFile = "settings.json"
	memoryFile   = "CLAUDE.md"
)

// note adds a file of instructions, when it is there.
func (c *carried) note(path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		c.notes = append(c.notes, path)
	}
}

// operatorsServers are the MCP servers that the operator added for a place, and for all where everywhere says so,
// less those that were switched off. Nothing allows their tools: without an allow rule of the operator's none of
// them can be called (measured). One of our server's name gives way to it.
func operatorsServers(state claudeState, everywhere bool) []server {
	entries := map[string]json.RawMessage{}
	if everywhere {
		maps.Copy(entries, state.servers)
	}
	for _, p := range slices.Backward(state.projects) {
		maps.Copy(entries, p.Servers)
	}
	for _, p := range state.projects {
		for _, name := range p.Off {
			delete(entries, name)
		}
	}
	delete(entries, operatorServer)
	var list []server
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		list = append(list, server{name: name, entry: entries[name]})
	}
	return list
}

// rules are the parts of a settings file that only ever narrow what an agent may do.
type rules struct {
	Permissions struct {
		Deny []string `json:"deny"`
		Ask  []string `json:"ask"`
	} `json:"permissions"`
}

// forbid adds what any settings file denies. Those of the project are read too: a rule that narrows can be heeded
// whoever wrote it, and one that keeps the agent from reading a file must not be lost because it may do less.
func (c *carried) forbid(own home, at place) {
	for _, f := range []struct{ path, root string }{
		{filepath.Join(own.dir, settingsFile), own.dir},
		{filepath.Join(at.dir, ".claude", settingsFile), at.dir},
		{filepath.Join(at.dir, ".claude", "settings.local.json"), at.dir},
	} {
		var r rules
		if readJSON(f.path, &r) != nil {
			continue // the CLI would leave it out too
		}
		c.rule("deny", rooted(r.Permissions.Deny, f.root)...)
		c.rule("ask", rooted(r.Permissions.Ask, f.root)...)
	}
}

// rule adds rules of a kind to the settings.
func (c *carried) rule(kind string, list ...string) {
	if len(list) == 0 {
		return
	}
	permissions, ok := c.settings["permissions"].(map[string][]string)
	if !ok {
		permissions = map[string][]string{}
		c.settings["permissions"] = permissions
	}
	permissions[kind] = append(permissions[kind], list...)
}

// ask brings each use of the tools that read to the gate, and each command: the agent's own idea of what is harmless
// lets it read the operator's secrets unasked (measured with 2.1.332: a rule without a path takes precedence over it,
// links and all; the files of instructions, and those that the operator names with @, are read as before).
func (c *carried) ask(req Request) {
	if !req.gated() {
		return
	}
	if c.settings == nil {
		c.settings = map[string]any{}
	}
	c.rule("ask", "Bash", "Read", "Grep", "Glob")
}

// rooted makes rules independent of the file that they are in: a path with one slash before it starts where the
// file belongs to, with two at the root (measured). Rules about our own server are not for a settings file to make.
func rooted(list []string, root string) []string {
	var out []string
	for _, rule := range list {
		if strings.HasPrefix(rule, "mcp__"+operatorServer) {
			continue
		}
		tool, path, ok := strings.Cut(rule, "(/")
		if ok && !strings.HasPrefix(path, "/") && slices.Contains(fileTools(), tool) {
			rule = tool + "(/" + strings.TrimSuffix(root, "/") + "/" + path
		}
		out = append(out, rule)
	}
	return out
}

// fileTools are those whose rules have a path.
func fileTools() []string {
	return []string{"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep", "LS"}
}

// write puts what is carried into the dispatch's directory. The notes get a place of their own there, because the
// agent may read beside them: what else is in the directory is not for it, and nothing there is for it to change.
func (c carried) write(dir *askbridge.Dir, s *setup) error {
	for i, path := range c.notes {
		notes := dir.Join(fmt.Sprintf("notes-%d", i+1))
		if err := os.Mkdir(notes, 0o700); err != nil {
			return err
		}
		if err := os.Symlink(path, filepath.Join(notes, memoryFile)); err != nil {
			return err
		}
		s.dirs = append(s.dirs, notes)
	}
	if len(c.notes) > 0 {
		c.rule("deny", "Edit(/"+dir.Path()+"/**)")
	}
	if len(c.settings) == 0 {
		return nil
	}
	raw, err := json.MarshalIndent(c.settings, "", "  ")
	if err != nil {
		return err
	}
	s.settings = dir.Join(settingsFile)
	return os.WriteFile(s.settings, raw, 0o600)
}

// sayOnce tells the operator, once for each directory, what is less because they did not trust it.
func (d *Dispatcher) sayOnce(dir string, noGit bool, notice func(string)) {
	var less []string
	for _, name := range []string{".claude/settings.json", ".claude/settings.local.json", ".mcp.json"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			less = append(less, "does not read its "+name)
		}
	}
	if noGit {
		less = append(less, "may not run git, because the repository's own configuration names programs")
	}
	if len(less) > 0 && d.sayFirst(dir) {
		notice(fmt.Sprintf("you did not trust %s yet, so the agent %s; to trust it, run claude in it once and say so", dir, strings.Join(less, ", ")))
	}
}

// sayFirst reports whether nothing was said of a directory yet.
func (d *Dispatcher) sayFirst(dir string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.said[dir] {
		return false
	}
	if d.said == nil {
		d.said = map[string]bool{}
	}
	d.said[dir] = true
	return true
}
