package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Exit codes, beside 0 for done.
const (
	exitFailed   = 1   // the agent or the turn failed
	exitUsage    = 2   // the command line was not understood
	exitLacking  = 3   // the machine lacks something
	exitTimedOut = 124 // the agent's time was used up
	exitAborted  = 130 // ended by a signal
)

const exitCodes = "0 done, 1 the agent or the turn failed, 2 the command line was not understood, 3 the machine lacks something, " +
	"124 the agent's time was used up, 130 ended by a signal."

// exitError ends the program with a code; its text is for the person at the keyboard.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func lacking(format string, args ...any) error {
	return &exitError{code: exitLacking, err: fmt.Errorf(format, args...)}
}

// Main runs the command line and returns the exit code.
func Main(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	code := exitUsage
	var ee *exitError
	if errors.As(err, &ee) {
		code = ee.code
	}
	if err.Error() != "" {
		fmt.Fprintf(os.Stderr, "kitsoki: %v\n", err)
		if ee == nil {
			fmt.Fprintln(os.Stderr, "Try: kitsoki --help")
		}
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "kitsoki",
		Short: "Answer your headless coding agents from the terminal",
		Long: `kitsoki runs a headless coding agent and gives it a way to ask you.

When the agent needs a decision that only you can make, it calls a tool; your terminal
turns into a form; your answer is the tool's result, and the agent goes on.

Without a command, kitsoki starts the terminal with the agent "claude". To see the whole
job on a machine without any agent or account: kitsoki demo

What you set once (agent, access, keys, colours, notifications) goes into
$XDG_CONFIG_HOME/kitsoki/config.yaml, or KITSOKI_* variables; flags stand over both.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
	}
	flags := addRunFlags(root)
	addAgentFlags(root, flags)
	root.RunE = func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) }
	root.AddCommand(newRun(), newDemo(), newTurn(), newAgentServe(), newInbox(), newAnswer(), newAsk(), newControlStdio(), newSessions(), newAttach(), newDoctor(), newTrace(), newMan(), newMCP(), newWrap(), newHook(), newOperatorAsk(), newScripted(), newWalled(), newRunApproved(), newResumeJob())
	for _, c := range append(root.Commands(), root) {
		if c.ValidArgsFunction == nil {
			c.ValidArgsFunction = cobra.NoFileCompletions // no command takes files as arguments
		}
	}
	return root
}

// version is what the module was built as.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
