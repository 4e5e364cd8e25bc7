package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"example.com/kitsoki/host/agent/scripted"
)

func newDemo() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole job with a scripted agent, without any model or account",
	}
	f := addRunFlags(cmd)
	cmd.Flags().StringVar(&f.scenario, "scenario", "", "what the agent plays: "+strings.Join(scripted.Names(), ", ")+", or a file")
	_ = cmd.RegisterFlagCompletionFunc("scenario", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return scripted.Names(), cobra.ShellCompDirectiveDefault
	})
	addDetach(cmd, f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f.hint = "This is a demo with a scripted agent: no model, no account. Type what it should do, such as “start the service”, " +
			"and press Enter. It will ask you something."
		return f.runOrDetach(cmd, args)
	}
	return cmd
}
