package agent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Names of our MCP server and of its tool as the agent sees them. The server's own name for the tool is "ask".
const (
	operatorServer = "operator"
	AskTool        = "mcp__operator__ask"
)

// The clauses are appended to the agent's system prompt. Which one depends on nothing but the prompter.
const (
	clauseOperator = `An operator is at the terminal and can be asked. When you need a decision, a preference or a fact that only ` +
		`the operator has, and a wrong guess would cost them, call the tool ` + AskTool + ` instead of guessing or ending your turn ` +
		`with a question: it waits for the answer and returns it. Put several questions into one call. If it returns an error, nobody ` +
		`answered: do not treat that as consent or as any of the options; go on without the input where that is safe, and say what you assumed.`
	clauseNobody = `Nobody can be asked during this run: there is no operator, and no tool reaches one. Do not end your turn with a ` +
		`question. Where a decision is missing, take the most careful choice, go on, and state each assumption you made in your last message.`
)

// Clause is what an agent's system prompt gets: whether an operator can be asked, and how.
func Clause(operator bool) string {
	if operator {
		return clauseOperator
	}
	return clauseNobody
}

// askedServer is an entry of the MCP configuration. AlwaysLoad keeps the tool out of tool search (measured:
// 2.1.332 hides MCP tools behind it otherwise). Timeout, in milliseconds, is a hard limit of the agent's that
// progress does not extend, so it lies far beyond any wait of ours and our words come first.
type askedServer struct {
	Type       string            `json:"type"`
	Command    string            `json:"command"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	Timeout    int64             `json:"timeout"`
	AlwaysLoad bool              `json:"alwaysLoad"`
}

const vendorTimeoutMS = 24 * 60 * 60 * 1000

// EnvAskSocket names the socket of a dispatch to the agent's grandchild.
const EnvAskSocket = "KITSOKI_OPERATOR_ASK_SOCK"

// EnvGate, set to anything, tells the grandchild to serve the agent's permissions too; set to GateAlone, them only:
// nobody can be asked, and the gate denies what changes something.
const (
	EnvGate   = "KITSOKI_OPERATOR_GATE"
	GateAlone = "alone"
)

// server is an MCP server with the tools that the agent may call on it unasked. Argv and configuration are built
// from the same list, so a tool that is named to the agent always has its server.
type server struct {
	name  string
	tools []string
	entry any // of the configuration
}

func operatorServerFor(self []string, sock string, asks, gate bool) server {
	env := map[string]string{EnvAskSocket: sock}
	tools := []string{AskTool}
	switch {
	case gate && !asks:
		env[EnvGate], tools = GateAlone, nil
	case gate:
		env[EnvGate] = "1"
	}
	return server{
		name: operatorServer, tools: tools,
		entry: askedServer{
			Type: "stdio", Command: self[0], Args: append(slices.Clone(self[1:]), "mcp-operator-ask"),
			Env: env, Timeout: vendorTimeoutMS, AlwaysLoad: true,
		},
	}
}

// mcpConfig is the one configuration of a dispatch, with all of its servers in it: a second one would replace the
// first. Of two servers with one name the last one is there.
func mcpConfig(servers []server) ([]byte, error) {
	entries := map[string]any{}
	for _, s := range servers {
		entries[s.name] = s.entry
	}
	return json.MarshalIndent(map[string]any{"mcpServers": entries}, "", "  ")
}

// setup is what a run is given beside its request: files by their paths, where there are any, and what they hold.
type setup struct {
	asks     bool     // there is an operator, and a tool to ask with
	servers  []server // in the file config
	config   string
	fewer    bool   // the agent reads the settings files of sources only
	sources  string // none: empty
	settings string // a file of settings beside them
	dirs     []string
	gate     bool     // permissions go to the operator's server
	socket   string   // of the dispatch
	scratch  string   // a directory of the run's own
	env      []string // over the inherited one
	deny     []string // tools, and uses of them, beside those of the access level
}

// argv builds the arguments of every verb from a request that was checked.
func argv(cmd Command, req Request, s setup) []string {
	args := slices.Clone(cmd.Args)
	args = append(args, "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages")
	if s.config != "" {
		args = append(args, "--mcp-config", s.config)
	}
	var tools []string
	for _, server := range s.servers {
		tools = append(tools, server.tools...)
	}
	if len(tools) > 0 {
		args = append(args, "--allowedTools", strings.Join(tools, ","))
	}
	if s.fewer {
		args = append(args, "--setting-sources", s.sources)
	}
	if s.settings != "" {
		args = append(args, "--settings", s.settings)
	}
	if s.gate {
		args = append(args, "--permission-prompt-tool", PermitTool)
	}
	for _, dir := range s.dirs {
		args = append(args, "--add-dir", dir)
	}
	args = append(args, "--disallowedTools", strings.Join(req.denied(s.deny), ","), "--append-system-prompt", req.appended(s.asks))
	args = append(args, req.toolArgs()...)
	args = append(args, req.limitArgs()...)
	if req.Model != "" {
		args = append(args, "--model", req.Model)
	}
	if req.Effort != "" {
		args = append(args, "--effort", req.Effort)
	}
	if len(req.Schema) > 0 {
		args = append(args, "--json-schema", string(req.Schema))
	}
	if req.Conversation != "" {
		args = append(args, "--resume", req.Conversation)
	}
	return args
}

// unrecorded makes a continued conversation heed the system prompt that this run is given. Measured: 2.1.332 sends
// the one that the conversation was begun with otherwise, and with it the clause of a run that an operator was at,
// or was not at; 2.1.197 does not know the flag, and does not need it.
func unrecorded() []string { return []string{unrecordedFlag, "off"} }

const unrecordedFlag = "--system-prompt-snapshot"

// appended is what the agent's system prompt gets; there is only one place for it.
func (r Request) appended(operator bool) string {
	clause := Clause(operator)
	if r.SystemPrompt == "" {
		return clause
	}
	return r.SystemPrompt + "\n\n" + clause
}

func (r Request) limitArgs() []string {
	var args []string
	if r.MaxTurns > 0 {
		args = append(args, "--max-turns", strconv.Itoa(r.MaxTurns))
	}
	if r.BudgetUSD > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(r.BudgetUSD, 'f', -1, 64))
	}
	return args
}

// marker names the variables of a surrounding agent, and our own of a surrounding dispatch: inherited, they would
// make the agent believe that it runs inside another, or its grandchild serve somebody else's asks.
func marker(name string) bool {
	switch name {
	case "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", EnvAskSocket, EnvGate:
		return true
	}
	return false
}

// environ is the agent's environment: the operator's, less the markers, plus ours. The agent waits for its MCP
// servers before its first request (measured: otherwise one slower than 1.5 s is missing from it).
func environ(inherited []string, cmd Command, s setup) []string {
	env := slices.DeleteFunc(slices.Clone(inherited), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		return marker(key)
	})
	env = append(env, "MCP_CONNECTION_NONBLOCKING=0")
	if len(s.dirs) > 0 {
		env = append(env, "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD=1") // of what else is in them nothing is read (measured)
	}
	return append(append(env, s.env...), cmd.Env...)
}
