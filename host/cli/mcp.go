package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"example.com/kitsoki/host/profiles"
)

func newMCP() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Bring the questions of agents that you start yourself here", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMCPConfig())
	return cmd
}

// newMCPConfig prints, and changes nothing: the files are the operator's.
func newMCPConfig() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "config " + strings.Join(profiles.Names(), "|"), Short: "Print the entry for an agent's own configuration", Args: cobra.ExactArgs(1),
		Long: `mcp config prints what goes into an agent's own configuration so that it can ask you, wherever you start
it: its questions come to the kitsoki that you have open. Without one each question is answered at once with an
error that says so, and the agent goes on.`,
		ValidArgs: profiles.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := profiles.Find(args[0])
			if err != nil {
				return err
			}
			exe, err := os.Executable()
			if err != nil {
				return lacking("this program does not know where it is: %w", err)
			}
			server := profiles.Server{Command: exe, Args: []string{"mcp-operator-ask"}}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), p.Entry(server))
			}
			for _, part := range p.Config(server) {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "# %s\n%s\n", part.Where, part.Text); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the entry alone, as JSON")
	return cmd
}
