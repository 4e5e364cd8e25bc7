package cli

import (
	"os"

	"github.com/spf13/cobra"

	"example.com/kitsoki/host/gate/wall"
)

// newWalled builds the wall that the host ordered around itself and becomes the agent. What follows its name is the
// agent's own command line.
func newWalled() *cobra.Command {
	return &cobra.Command{
		Use: wall.Subcommand, Hidden: true, DisableFlagParsing: true, Args: cobra.MinimumNArgs(1),
		Short: "Starts an agent behind a wall; kitsoki runs it",
		RunE: func(_ *cobra.Command, args []string) error {
			return &exitError{code: exitLacking, err: wall.Launch(args[0], args[1:], os.Environ())}
		},
	}
}
