package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// anyGit is every call of git by the agent's shell, also behind env, a path or in a pipe (measured).
const anyGit = "Bash(git *)"

// gitRunsPrograms reports whether git, in a directory, would run programs that its repository names: some commands
// that only read, such as status and diff, do so, and the agent holds them for harmless. No clone brings such a
// configuration along, but an archive can. What cannot be read counts as naming some.
func gitRunsPrograms(dir string) bool {
	own, common := gitDirs(dir)
	if own == "" {
		return false
	}
	for _, path := range []string{filepath.Join(common, "config"), filepath.Join(own, "config"), filepath.Join(own, "config.worktree")} {
		raw, err := readSmall(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || namesPrograms(string(raw)) {
			return true
		}
	}
	_, err := os.Stat(filepath.Join(common, "hooks", "post-index-change")) // the hook of git status
	return err == nil
}

// withoutGitsPrograms is the environment in which git runs no monitor and no hook. Some releases call git status
// themselves when they start (measured with 2.1.197, not with 2.1.332), whatever their tools.
func withoutGitsPrograms(inherited []string) []string {
	n, _ := strconv.Atoi(lookup(inherited, "GIT_CONFIG_COUNT")) // git takes an odd one for an error, and runs nothing
	var env []string
	for i, setting := range [][2]string{{"core.fsmonitor", "false"}, {"core.hooksPath", os.DevNull}} {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n+i, setting[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n+i, setting[1]))
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+2))
}

// namesPrograms looks for the settings of git that name a program, or another file of settings. Git's own file
// system monitor is none.
func namesPrograms(config string) bool {
	setting := regexp.MustCompile(`(?i)(?:^|\n|\])\s*(fsmonitor|hooksPath|sshCommand|gitProxy|askPass|alternateRefsCommand|uploadpack|external|command|cmd|textconv|clean|smudge|process|program|helper)\s*=[ \t]*([^\r\n]*)`)
	for _, m := range setting.FindAllStringSubmatch(config, -1) {
		value := strings.ToLower(strings.TrimSpace(m[2]))
		if !strings.EqualFold(m[1], "fsmonitor") || value != "true" && value != "false" {
			return true
		}
	}
	return regexp.MustCompile(`(?i)\[\s*include`).MatchString(config)
}

// gitDirs are the directories that git would use in dir: the one of its working tree, and the one that all working
// trees of the repository share. Empty: dir is in no repository.
func gitDirs(dir string) (own, common string) {
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, ".git")
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			return path, path
		case err == nil:
			raw, _ := readSmall(path) // an odd file leads to no configuration, for git as well
			own = from(at, strings.TrimSpace(strings.TrimPrefix(string(raw), "gitdir:")))
			if raw, err = readSmall(filepath.Join(own, "commondir")); err != nil {
				return own, own
			}
			return own, from(own, strings.TrimSpace(string(raw)))
		case bare(at):
			return at, at
		case at == filepath.Dir(at):
			return "", ""
		}
	}
}

// bare reports whether git would take a directory itself for a repository.
func bare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}
