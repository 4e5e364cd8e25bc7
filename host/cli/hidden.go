package cli

import (
	"os"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/agent/scripted"
	"example.com/kitsoki/host/gate"
	"example.com/kitsoki/mcpstdio"
)

// newOperatorAsk is the agent's grandchild: an MCP server on standard input and output.
func newOperatorAsk() *cobra.Command {
	return &cobra.Command{
		Use: "mcp-operator-ask", Hidden: true, Args: cobra.NoArgs,
		Short: "The MCP server through which an agent asks; agents start it",
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := mcpstdio.Serve(cmd.Context(), mcpstdio.Options{
				Socket: os.Getenv(agent.EnvAskSocket), Gate: os.Getenv(agent.EnvGate) != "", Alone: os.Getenv(agent.EnvGate) == agent.GateAlone,
				Guest: newGuest(os.LookupEnv), Version: version(),
			}, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return &exitError{code: exitFailed, err: err}
			}
			return nil
		},
	}
}

// newRunApproved is what an agent's shell runs in place of a command that was allowed.
func newRunApproved() *cobra.Command {
	return &cobra.Command{
		Use: gate.RunApproved, Hidden: true, Args: cobra.ExactArgs(2),
		Short: "Has kitsoki run a command that was allowed; agents start it",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, _ := os.Getwd() // where there is none, the host says so
			client, err := askbridge.Dial(args[0])
			code := 0
			if err == nil {
				code, err = client.Run(cmd.Context(), args[1], dir, cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			switch {
			case err != nil:
				return &exitError{code: 126, err: err} // as a shell says of what cannot be run
			case code != 0:
				return &exitError{code: code, err: errQuiet}
			}
			return nil
		},
	}
}

// newScripted is the embedded agent. It reads its own flags, which are another program's.
func newScripted() *cobra.Command {
	return &cobra.Command{
		Use: "agent-scripted", Hidden: true, DisableFlagParsing: true,
		Short: "The scripted agent; kitsoki demo starts it",
		RunE: func(cmd *cobra.Command, args []string) error {
			code := scripted.Run(cmd.Context(), args, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), os.Getenv)
			if code != 0 {
				return &exitError{code: code, err: errQuiet}
			}
			return nil
		},
	}
}

// errQuiet ends the program without another word: everything was said.
var errQuiet = quiet{}

type quiet struct{}

func (quiet) Error() string { return "" }
