package trace

import (
	"fmt"
	"strings"
)

// Argv tells how a program is started without what it is told: flags stay, and the values of those that name a
// setting. Any other argument may be a prompt, so only its length is kept.
func Argv(path string, args []string) []string {
	out := []string{path}
	setting := false
	for _, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case strings.HasPrefix(arg, "-") && !joined && word(arg):
			out = append(out, arg)
			setting = namesSetting(arg)
			continue
		case strings.HasPrefix(arg, "-") && word(name) && namesSetting(name):
			out = append(out, arg)
		case strings.HasPrefix(arg, "-") && joined && word(name):
			out = append(out, fmt.Sprintf("%s=(%d bytes)", name, len(value)))
		case setting:
			out = append(out, arg)
		default:
			out = append(out, fmt.Sprintf("(%d bytes)", len(arg)))
		}
		setting = false
	}
	return out
}

// word reports whether an argument can be a flag: a text that begins with a dash cannot.
func word(arg string) bool { return len(arg) <= 40 && !strings.ContainsAny(arg, " \t\n") }

func namesSetting(flag string) bool {
	switch flag {
	case "--output-format", "--input-format", "--mcp-config", "--allowedTools", "--disallowedTools", "--tools",
		"--permission-mode", "--permission-prompt-tool", "--model", "--resume", "--max-turns", "--max-budget-usd", "--effort",
		"--system-prompt-snapshot":
		return true
	}
	return false
}
