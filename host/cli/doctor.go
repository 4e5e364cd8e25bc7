package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/gate/wall"
	"example.com/kitsoki/host/settings"
)

// finding is one thing that the doctor looked at.
type finding struct {
	What  string `json:"what"`
	State health `json:"state"`
	Found string `json:"found"`           // never a secret
	Costs string `json:"costs,omitempty"` // what does not work because of it, and what to do
}

// health is how a finding is.
type health string

const (
	healthy health = "ok"
	partly  health = "note" // kitsoki works, something of it does not
	broken  health = "bad"  // kitsoki does not work
)

func newDoctor() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what kitsoki finds on this machine, and what is missing and what that costs",
		Long: `doctor looks at the agents, their accounts (without reading them), the terminal, the directories and the
limits that kitsoki needs. It changes nothing. Exit code 3: something that kitsoki cannot do without is missing.`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out, worst := cmd.OutOrStdout(), healthy
		for _, look := range examinations() {
			f := look(cmd.Context(), os.Getenv)
			if f.State == broken {
				worst = broken
			}
			if err := f.print(out, asJSON); err != nil {
				return err
			}
		}
		if worst == broken {
			return &exitError{code: exitLacking, err: errQuiet}
		}
		return nil
	}
	return cmd
}

func (f finding) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(out, f)
	}
	_, err := fmt.Fprintf(out, "%-5s %-13s %s\n", f.State, f.What, askbridge.Safe(f.Found))
	if err == nil && f.Costs != "" {
		_, err = fmt.Fprintf(out, "      %-13s -> %s\n", "", f.Costs)
	}
	return err
}

// examination looks at one thing. It is bounded in time.
type examination func(ctx context.Context, getenv func(string) string) finding

func examinations() []examination {
	return []examination{
		lookAtProgram, lookAtSettings, lookAtClaude, lookAtAccount, lookAtGit, lookAtTerminal, lookAtTmux, lookAtWall, lookAtRuntime, lookAtState, lookAtLimits,
	}
}

func lookAtProgram(context.Context, func(string) string) finding {
	return finding{What: "kitsoki", State: healthy, Found: fmt.Sprintf("%s, %s on %s/%s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)}
}

func lookAtSettings(_ context.Context, getenv func(string) string) finding {
	path := settings.Path(getenv)
	f := finding{What: "settings", State: healthy, Found: path}
	if _, err := settings.Load(getenv); err != nil {
		return finding{What: "settings", State: broken, Found: err.Error(), Costs: "kitsoki does not start until that is mended"}
	}
	if _, err := os.Stat(path); err != nil {
		f.Found = "none, which is fine; they would be in " + path
	}
	return f
}

// versionWithin bounds how long an agent may take to say its version.
const versionWithin = 10 * time.Second

func lookAtClaude(ctx context.Context, getenv func(string) string) finding {
	const missing = "only the scripted agent can be run: kitsoki demo. Get Claude Code, or name it with " + agent.EnvClaudeBin
	path, err := exec.LookPath(agent.Claude(getenv).Path)
	if err != nil {
		return finding{What: "claude", State: partly, Found: "there is no program " + agent.Claude(getenv).Path + " on PATH", Costs: missing}
	}
	said, err := versionOf(ctx, path)
	if err != nil {
		return finding{What: "claude", State: partly, Found: path + " does not say its version: " + err.Error(), Costs: missing}
	}
	return finding{What: "claude", State: healthy, Found: said + " at " + path}
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", errors.New("it took longer than ten seconds")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first, err
}

// lookAtAccount says what claude could use, and reads none of it.
func lookAtAccount(_ context.Context, getenv func(string) string) finding {
	var found []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"} {
		if getenv(name) != "" {
			found = append(found, name+" is set")
		}
	}
	dir := getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(getenv("HOME"), ".claude")
	}
	if _, err := os.Stat(filepath.Join(dir, ".credentials.json")); err == nil {
		found = append(found, "a login in "+dir)
	}
	if len(found) == 0 {
		return finding{
			What: "account", State: partly, Found: "none that can be seen (a keychain cannot)",
			Costs: "claude fails at its first request unless it is logged in some other way: run claude once and log in",
		}
	}
	return finding{What: "account", State: healthy, Found: strings.Join(found, ", ")}
}

// lookAtWall says what holds an agent with the access ask.
func lookAtWall(context.Context, func(string) string) finding {
	found := wall.Probe()
	f := finding{What: "wall", State: healthy, Found: found.Doctor()}
	switch found.Level() {
	case wall.Kernel:
	case wall.None:
		f.State, f.Costs = partly, "with --access ask an agent that does not ask is not held back; Linux 6.2 or newer with Landlock does that"
	default:
		f.State, f.Costs = partly, "with --access ask what an agent sends elsewhere is asked for, and not held back"
	}
	return f
}

func lookAtGit(ctx context.Context, _ func(string) string) finding {
	path, err := exec.LookPath("git")
	if err == nil {
		if said, err := versionOf(ctx, path); err == nil {
			return finding{What: "git", State: healthy, Found: said}
		}
	}
	return finding{What: "git", State: partly, Found: "not found", Costs: "the peek shows no changes, and --worktree cannot be used"}
}

func lookAtTerminal(_ context.Context, getenv func(string) string) finding {
	name := getenv("TERM")
	switch {
	case !isTerminal(os.Stdout):
		return finding{What: "terminal", State: healthy, Found: "none here: kitsoki uses lines of text"}
	case name == "dumb", name == "":
		return finding{What: "terminal", State: partly, Found: fmt.Sprintf("TERM=%q", name), Costs: "kitsoki uses lines of text instead of a screen"}
	}
	w, h, err := term.GetSize(os.Stdout.Fd())
	if err != nil {
		return finding{What: "terminal", State: partly, Found: name + ", of unknown size"}
	}
	f := finding{What: "terminal", State: healthy, Found: fmt.Sprintf("%s, %dx%d", name, w, h)}
	if getenv("NO_COLOR") != "" {
		f.Found += ", without colours (NO_COLOR)"
	}
	if w < 40 || h < 10 {
		f.State, f.Costs = partly, "the screen needs 40x10; until then it only says so"
	}
	return f
}

func lookAtTmux(ctx context.Context, getenv func(string) string) finding {
	if getenv("TMUX") == "" {
		return finding{What: "tmux", State: healthy, Found: "not inside of it"}
	}
	ctx, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	option := func(name string) string {
		out, _ := exec.CommandContext(ctx, "tmux", "show-options", "-gv", name).Output() // unknown to an old tmux
		return strings.TrimSpace(string(out))
	}
	f := finding{What: "tmux", State: healthy, Found: fmt.Sprintf("focus-events %s, allow-passthrough %s", option("focus-events"), option("allow-passthrough"))}
	if option("focus-events") != "on" {
		f.State, f.Costs = partly, "kitsoki cannot tell when you look elsewhere, and rings only after ten idle seconds: set -g focus-events on"
	}
	return f
}

func lookAtRuntime(_ context.Context, getenv func(string) string) finding {
	dir, err := askbridge.RuntimeDir(getenv)
	if err != nil {
		return finding{What: "runtime", State: broken, Found: err.Error(), Costs: "agents cannot ask: their sockets have no place"}
	}
	return finding{What: "runtime", State: healthy, Found: dir}
}

func lookAtState(context.Context, func(string) string) finding {
	dir := sessionsDir()
	f := finding{What: "sessions", State: healthy, Found: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return finding{What: "sessions", State: partly, Found: err.Error(), Costs: "sessions are not kept: there is no trace, and nothing to continue"}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err == nil {
		free := fs.Bavail * uint64(fs.Bsize) >> 20
		f.Found += fmt.Sprintf(", %d MiB free", free)
		if free < 100 {
			f.State, f.Costs = partly, "traces and transcripts of long sessions need more"
		}
	}
	return f
}

func lookAtLimits(context.Context, func(string) string) finding {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return finding{What: "limits", State: partly, Found: err.Error()}
	}
	f := finding{What: "limits", State: healthy, Found: fmt.Sprintf("%d open files", files.Cur)}
	if files.Cur < 256 {
		f.State, f.Costs = partly, "several agents at once need more: ulimit -n 1024"
	}
	return f
}
