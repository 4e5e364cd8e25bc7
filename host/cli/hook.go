package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/host/control"
)

// hookWithin is how long a hook waits for an ask that waits so long by itself: an operator who works on it has up to
// three times that. The agent's own limit for the hook lies hookSlack beyond.
func hookWithin(wait time.Duration) time.Duration { return 3*wait + hookSlack }

const hookSlack = 30 * time.Second

func newHook() *cobra.Command {
	cmd := &cobra.Command{
		Use: "hook", Short: "Bring an agent's own questions here before it shows them itself", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHookClaude())
	return cmd
}

func newHookClaude() *cobra.Command {
	var show bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "claude", Short: "A hook for the questions of an interactive Claude Code", Args: cobra.NoArgs,
		Long: `hook claude is a hook that Claude Code runs before its own question dialog. The question comes to the kitsoki that
you have open; answered there, the dialog does not appear. Not answered in time, declined, or with no kitsoki open,
it appears as if there were no hook.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait <= 0 {
				return fmt.Errorf("--wait %s: a question needs some time; try 5m", wait)
			}
			if show {
				return printHook(cmd.OutOrStdout(), wait)
			}
			hookClaude(cmd.Context(), wait, cmd.InOrStdin(), cmd.OutOrStdout())
			return nil
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print what goes into ~/.claude/settings.json")
	cmd.Flags().DurationVar(&wait, "wait", host.DefaultWait, "how long a question waits here before it comes up there")
	return cmd
}

// printHook prints the settings. The agent's own limit, in seconds, lies beyond ours: a hook that it ends itself counts as
// one that said nothing, but until then nobody could answer.
func printHook(out io.Writer, wait time.Duration) error {
	exe, err := os.Executable()
	if err != nil {
		return lacking("this program does not know where it is: %w", err)
	}
	command := quoteShell(exe) + " hook claude"
	if wait != host.DefaultWait {
		command += " --wait " + wait.String()
	}
	raw, err := json.MarshalIndent(map[string]any{"hooks": map[string]any{"PreToolUse": []any{map[string]any{
		"matcher": ownQuestionTool,
		"hooks": []any{map[string]any{
			"type": "command", "command": command, "timeout": int((hookWithin(wait) + hookSlack).Seconds()),
		}},
	}}}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "# ~/.claude/settings.json\n%s\n", raw)
	return err
}

// quoteShell is a word as a shell reads it.
func quoteShell(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+", r)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// ownQuestionTool is Claude Code's own.
const ownQuestionTool = "AskUserQuestion"

// hookCall is what Claude Code gives a PreToolUse hook (measured with 2.1.332).
type hookCall struct {
	Event     string                     `json:"hook_event_name"`
	Tool      string                     `json:"tool_name"`
	Input     map[string]json.RawMessage `json:"tool_input"`
	ToolUseID string                     `json:"tool_use_id"`
	Dir       string                     `json:"cwd"`
}

// hookClaude answers one call. Whatever goes wrong it prints nothing, and the agent's own dialog appears.
func hookClaude(ctx context.Context, wait time.Duration, in io.Reader, out io.Writer) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, hookWithin(wait))
	defer cancel()
	var call hookCall
	raw, err := io.ReadAll(io.LimitReader(in, int64(askbridge.DefaultLimits().Frame)))
	if err != nil || json.Unmarshal(raw, &call) != nil || call.Event != "PreToolUse" || call.Tool != ownQuestionTool {
		return
	}
	var questions []askbridge.Question
	if json.Unmarshal(call.Input["questions"], &questions) != nil {
		return
	}
	arguments, err := json.Marshal(map[string]json.RawMessage{"questions": call.Input["questions"]})
	if err != nil {
		return
	}
	got, err := askOperator(ctx, control.GuestParams{
		Agent: "claude", Dir: call.Dir, Parent: processName(parentOfShell()), ToolUseID: call.ToolUseID, Arguments: arguments, Wait: wait,
	})
	if err != nil {
		return
	}
	reply, err := hookAnswer(call, questions, got.GuestAnswer)
	if err == nil {
		_, err = out.Write(reply)
	}
	got.done(err == nil)
}

// hookAnswer is the tool's input with the answers in it. The tool takes one text a question and puts those of several rows
// together itself, as here; a note goes beside it (measured).
func hookAnswer(call hookCall, questions []askbridge.Question, got control.GuestAnswer) ([]byte, error) {
	texts, notes := map[string]string{}, map[string]any{}
	for _, q := range questions {
		switch v := got.Answers[q.Question].(type) {
		case string:
			texts[q.Question] = v
		case []any:
			var rows []string
			for _, row := range v {
				rows = append(rows, fmt.Sprint(row))
			}
			texts[q.Question] = strings.Join(rows, ", ")
			if len(rows) == 0 {
				texts[q.Question] = "none of these"
			}
		}
		if note := got.Notes[q.Question]; note != "" {
			notes[q.Question] = map[string]string{"notes": note}
		}
	}
	input := map[string]any{}
	for name, value := range call.Input {
		input[name] = value
	}
	input["answers"] = texts
	if len(notes) > 0 {
		input["annotations"] = notes
	}
	return json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": input,
	}})
}

// parentOfShell is the agent's process: hooks are run by a shell, unless that has put the command in its own place.
func parentOfShell() int {
	parent := os.Getppid()
	if name := processName(parent); !strings.HasPrefix(name, "sh ") && !strings.HasPrefix(name, "bash ") {
		return parent
	}
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", parent))
	_, rest, _ := strings.Cut(string(stat), ") ")
	var of int
	if _, err := fmt.Sscanf(rest, "%c %d", new(rune), &of); err != nil {
		return parent
	}
	return of
}

// processName is how a process is called, with its id.
func processName(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (%d)", strings.TrimSpace(string(name)), pid)
}
