package cli

import (
	"io"
	"strings"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page, of kitsoki and all of its commands",
		Example: `  kitsoki man | man -l -
  kitsoki man >~/.local/share/man/man1/kitsoki.1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flow(cmd.Root())
			page, err := mango.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			page = page.WithSection("Exit codes", exitCodes)
			_, err = io.WriteString(cmd.OutOrStdout(), page.Build(roff.NewDocument()))
			return err
		},
	}
}

// flow takes the line breaks out of the paragraphs of all commands: man breaks lines by itself, and mango makes a
// paragraph of each. Of the commands below the first, mango shows the short text alone, so that becomes the long one.
func flow(cmd *cobra.Command) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.ReplaceAll(p, "\n", " ")
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, sub := range cmd.Commands() {
		flow(sub)
		if sub.Long != "" && sub.Name() != "completion" && cmd.Name() != "completion" {
			sub.Short += "\n\n" + sub.Long
		}
	}
}
