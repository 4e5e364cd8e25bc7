package classify

import (
	"fmt"
	"strconv"
)

// Environment is what a free verdict with Hardened set relies on: variables for the agent, and so for its commands. They
// keep reading commands from writing and from starting what a repository names: git from refreshing its index and
// from file system monitors, pagers and bare repositories inside of a working tree; go from downloading another go;
// cd from another place than it says. And each command starts in the directory of the call.
//
// Each costs writes little: what a repository configures (hooks, filters) stays on for commands that were asked for.
// getenv is the environment that these are added to; a configuration of git that it carries is continued.
func Environment(getenv func(string) string) []string {
	out := []string{
		"CDPATH=",
		"CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_PAGER=cat",
		"GIT_TERMINAL_PROMPT=0",
		"GOTOOLCHAIN=local",
	}
	n, err := strconv.Atoi(getenv("GIT_CONFIG_COUNT"))
	if err != nil || n < 0 {
		n = 0
	}
	for _, setting := range [][2]string{
		{"core.fsmonitor", "false"}, {"safe.bareRepository", "explicit"}, {"diff.autoRefreshIndex", "false"},
	} {
		out = append(out, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, setting[1]))
		n++
	}
	return append(out, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
}
