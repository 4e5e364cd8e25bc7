package agent

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"example.com/kitsoki/host/agent/scripted"
	"example.com/kitsoki/mcpstdio"
)

// The test binary plays kitsoki's own programs, by the words that agents and dispatches start them with, and a
// host that is going to be killed.
func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 1 {
		role = os.Args[1]
	}
	switch role {
	case "agent-scripted":
		os.Exit(scripted.Run(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	case "mcp-operator-ask":
		_ = mcpstdio.Serve(context.Background(), mcpstdio.Options{Socket: os.Getenv(EnvAskSocket), Version: "test"}, os.Stdin, os.Stdout, os.Stderr)
	case doomedRole:
		doomed()
	default:
		goleak.VerifyTestMain(m)
	}
}
