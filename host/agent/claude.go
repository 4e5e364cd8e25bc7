package agent

// EnvClaudeBin names another program to run as claude.
const EnvClaudeBin = "KITSOKI_AGENT_CLAUDE_BIN"

// Claude is the Claude Code CLI, found on PATH unless the environment names another.
func Claude(getenv func(string) string) Command {
	path := getenv(EnvClaudeBin)
	if path == "" {
		path = "claude"
	}
	return Command{Name: "claude", Path: path, Inherits: true, Resume: []string{"--resume"}}
}

// Scripted is the embedded agent: kitsoki itself, playing a scenario by name or file.
func Scripted(self []string, scenario string) Command {
	cmd := Command{Name: "scripted", Path: self[0], Args: append(append([]string{}, self[1:]...), "agent-scripted")}
	if scenario != "" {
		cmd.Env = []string{"KITSOKI_SCENARIO=" + scenario}
	}
	return cmd
}
