package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/kitsoki/askbridge"
)

// How long git may take: to look, and to check a new working tree out.
const (
	gitLook     = 3 * time.Second
	gitCheckout = time.Minute
	gitGrace    = 500 * time.Millisecond // from SIGTERM to SIGKILL
)

// gitAnswer bounds what is read of an answer that is no diff.
const gitAnswer = 1 << 20

var (
	// ErrNoRepository means that a directory is in no git repository.
	ErrNoRepository = errors.New("there is no git repository here")
	// ErrGitSlow means that git was given up on.
	ErrGitSlow = errors.New("git took too long and was stopped")
)

// Branch returns the branch that is checked out in dir, safe for display; a short hash when none is, and nothing
// when dir is in no repository.
func Branch(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, gitLook)
	defer cancel()
	g := repository{dir: dir}
	name, err := g.line(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		name, err = g.line(ctx, "rev-parse", "--verify", "--quiet", "--short", "HEAD")
	}
	if err != nil {
		return ""
	}
	return askbridge.Safe(name)
}

// worktreeName is what fits into a branch's name, a path and a sentence alike.
var worktreeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// AddWorktree checks the commit that dir is at out into a working tree of its own, on the new branch kitsoki/name:
// a sibling of the repository's main working tree that is called like it, with the name added. An error is one
// sentence, and leaves nothing behind.
func AddWorktree(ctx context.Context, dir, name string) (path, branch string, err error) {
	ctx, cancel := context.WithTimeout(ctx, gitCheckout)
	defer cancel()
	branch = "kitsoki/" + name
	g := repository{dir: dir}
	if !worktreeName.MatchString(name) {
		return "", "", fmt.Errorf("%q is no name for a working tree; use letters, digits, dots and dashes, at most 64", name)
	}
	if _, err = g.line(ctx, "check-ref-format", "refs/heads/"+branch); err != nil {
		return "", "", fmt.Errorf("%q is no name for a branch; use another one", name)
	}
	top, err := g.top(ctx)
	if err != nil {
		return "", "", err
	}
	path = top + "." + name
	commit, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "", "", fmt.Errorf("the repository has no commit yet; make one first")
	}
	if _, err := os.Lstat(path); err == nil {
		return "", "", fmt.Errorf("%s is there already; use another name", askbridge.Safe(path))
	}
	if err := g.guard(ctx, false); err != nil {
		return "", "", err
	}
	// The branch is made first, and only if it is new, so that it is known to be ours to take away again.
	ref := "refs/heads/" + branch
	if _, err := g.line(ctx, "update-ref", ref, commit, ""); err != nil {
		if _, missing := g.line(ctx, "rev-parse", "--verify", "--quiet", ref); missing == nil {
			return "", "", fmt.Errorf("the branch %s is there already; use another name", branch)
		}
		return "", "", fmt.Errorf("the branch %s could not be made: %w", branch, err)
	}
	if _, err := g.line(ctx, "worktree", "add", "--quiet", "--", path, branch); err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), gitLook)
		defer cancel()
		_, undone := g.line(undo, "update-ref", "-d", ref, commit)
		return "", "", fmt.Errorf("the working tree could not be made: %w", errors.Join(err, undone))
	}
	return path, branch, nil
}

// repository runs git in a directory that an agent writes to. The repository's own configuration may be the agent's,
// too, so nothing that it names is run: no hook, file system monitor, filter, pager, diff program or transport.
type repository struct {
	dir   string
	quell []string // arguments that turn filters off

	scratch string   // a directory of its own, if it has one
	env     []string // over the environment
}

// guard turns filters off, for the commands that follow: those that the repository itself configures, or all of
// them, because the operator's own ones read the repository's configuration too. A filter is a program that git
// runs on files; an agent that may do no more than write files could name one. One that is written between this
// and the next command is not seen.
func (g *repository) guard(ctx context.Context, all bool) error {
	out, more, err := g.run(ctx, gitAnswer, "config", "--null", "--show-scope", "--name-only", "--get-regexp", `^filter\.`)
	switch {
	case silent(err):
		return nil // there are none
	case err != nil:
		return err
	case more:
		return errors.New("the repository configures too many filters to turn them all off")
	}
	seen := map[string]bool{}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		scope, key := fields[i], fields[i+1]
		filter := key[:max(0, strings.LastIndexByte(key, '.'))]
		if seen[filter] || (!all && scope != "local" && scope != "worktree") {
			continue
		}
		seen[filter] = true
		// An empty process comes before any clean or smudge, and runs nothing. Other than -c, this takes names
		// with = in them.
		g.quell = append(g.quell, "--config-env="+filter+".process="+envNothing, "--config-env="+filter+".required="+envFalse)
	}
	return nil
}

// Variables that hold values for guard.
const (
	envNothing = "KITSOKI_GIT_NOTHING"
	envFalse   = "KITSOKI_GIT_FALSE"
)

// top is the repository's main working tree; that of dir itself where the repository is laid out in another way.
func (g *repository) top(ctx context.Context) (string, error) {
	common, err := g.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return "", err
	}
	if filepath.Base(common) == ".git" {
		return filepath.Dir(common), nil
	}
	return g.line(ctx, "rev-parse", "--show-toplevel")
}

// line runs git and returns its answer without the end of the line.
func (g *repository) line(ctx context.Context, args ...string) (string, error) {
	out, _, err := g.run(ctx, gitAnswer, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// run runs git and returns at most limit bytes of what it prints, and whether there was more; git is stopped then.
// Errors are safe for display.
func (g *repository) run(ctx context.Context, limit int, args ...string) (out []byte, more bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, "git", slices.Concat([]string{
		"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
	}, g.quell, args)...)
	cmd.Dir, cmd.Env = g.dir, append(gitEnviron(os.Environ()), g.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // git tidies up after itself
	cmd.WaitDelay = gitGrace
	said := &capped{limit: 4096}
	answer := &capped{limit: limit, full: func() { cancel(errEnough) }}
	cmd.Stdout, cmd.Stderr = answer, said
	err = cmd.Run()
	switch {
	case answer.over:
		return answer.kept, true, nil
	case err == nil:
		return answer.kept, false, nil
	}
	return answer.kept, false, gitError(ctx, err, string(said.kept))
}

var errEnough = errors.New("enough was read")

func gitError(ctx context.Context, err error, said string) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ErrGitSlow
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("git is not on this machine; install it to see changes: %w", err)
	case strings.Contains(said, "not a git repository"):
		return ErrNoRepository
	}
	for line := range strings.Lines(said) {
		if why, ok := strings.CutPrefix(line, "fatal: "); ok {
			return fmt.Errorf("git: %s", askbridge.Safe(strings.TrimSpace(why)))
		}
	}
	return fmt.Errorf("git: %w", err)
}

// silent reports whether git said by its exit alone that there is no such thing.
func silent(err error) bool {
	exit := (*exec.ExitError)(nil)
	return errors.As(err, &exit) && exit.ExitCode() == 1
}

// gitEnviron is the operator's environment, without what would lead git to another repository, in the language
// that errors are known by. No transport is allowed: a diff must not fetch what a partial clone left out.
func gitEnviron(env []string) []string {
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{
			"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE",
			"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_DIFF_OPTS", "GIT_EXTERNAL_DIFF",
			"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
		}, name)
	})
	return append(out, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1",
		envNothing+"=", envFalse+"=false")
}

// capped keeps the first bytes that are written to it, and tells once when there are more.
type capped struct {
	kept  []byte
	limit int
	over  bool
	full  func() // may be nil
}

func (c *capped) Write(p []byte) (int, error) {
	room := min(c.limit-len(c.kept), len(p))
	c.kept = append(c.kept, p[:room]...)
	if room < len(p) && !c.over {
		c.over = true
		if c.full != nil {
			c.full()
		}
	}
	return len(p), nil
}
