package profiles

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Server is the MCP server as an agent starts it.
type Server struct {
	Command string
	Args    []string
	Env     map[string]string // over what the agent passes on by itself
}

// serverName is what every agent knows the server as. Claude Code names its tool mcp__operator__ask.
const serverName = "operator"

// ClaudeTool is the tool as Claude Code names it.
const ClaudeTool = "mcp__operator__ask"

// waitMS is how long agents are told to wait for an answer, in milliseconds; kitsoki's own words come long before.
const waitMS = 24 * 60 * 60 * 1000

// passedOn are the variables by which a server finds its operator: its dispatch, or the directory of all sockets.
func passedOn() []string {
	return []string{"KITSOKI_OPERATOR_ASK_SOCK", "KITSOKI_DISPATCH", "XDG_RUNTIME_DIR", "TMPDIR"}
}

// Profile is what is known of one agent.
type Profile struct {
	Name  string
	entry func(Server) any
	parts func(Server) []Part
	wrap  func([]string, func(string) string, Bridge) (Wrapped, error)
}

// Part is a piece of an agent's own configuration.
type Part struct {
	Where string // in words
	Text  string
}

// Entry is the server's entry in the agent's own configuration, as it is marshalled to JSON.
func (p Profile) Entry(s Server) any { return p.entry(s) }

// Config is what goes into the agent's own files.
func (p Profile) Config(s Server) []Part { return p.parts(s) }

// Bridge is what one run of an agent is given.
type Bridge struct {
	Server *Server // nil: nobody can be asked
	Clause string  // for the system prompt, where there is a way to give one
	Dir    string  // a private directory for files of the run
}

// Wrapped is an agent's command line with the bridge in it.
type Wrapped struct {
	Args     []string // after the program
	Env      []string // "NAME=value", over what is inherited
	Defaults []string // likewise, where nothing is inherited
	Headless bool     // the run has no screen of its own
}

// Wrap puts a bridge into a command line, given without its program, and leaves all else of it as it is. getenv is the
// environment that the command would run in.
func (p Profile) Wrap(args []string, getenv func(string) string, b Bridge) (Wrapped, error) {
	return p.wrap(slices.Clone(args), getenv, b)
}

func all() []Profile {
	return []Profile{claude(), codex(), opencode(), gemini()}
}

// Names lists the agents that are known.
func Names() []string {
	var names []string
	for _, p := range all() {
		names = append(names, p.Name)
	}
	return names
}

// Find finds an agent by its name, or by the path of its program.
func Find(program string) (Profile, error) {
	name := filepath.Base(program)
	for _, p := range all() {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("%q is no agent that kitsoki knows; it knows %s", name, strings.Join(Names(), ", "))
}

// before puts more in front of a bare "--", after which nothing is read as a flag, else at the end.
func before(args []string, more ...string) []string {
	at := slices.Index(args, "--")
	if at < 0 {
		at = len(args)
	}
	return slices.Insert(args, at, more...)
}

// flags are the arguments in which flags can be.
func flags(args []string) []string {
	if at := slices.Index(args, "--"); at >= 0 {
		return args[:at]
	}
	return args
}
