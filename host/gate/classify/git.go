package classify

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// gitReaders is the part of the list that is git's. None of the flags writes a file, starts a pager, an editor or a
// program of diffs, checks a signature, or follows a name into the configuration.
func gitReaders() []program {
	const diff = "-U=number -b -i -p -s -u -w -z --cached --color[=word] --diff-filter=word --dirstat --exit-code --ignore-all-space --ignore-blank-lines --ignore-space-change " +
		"--name-only --name-status --minimal --no-color --no-ext-diff --no-patch --no-prefix --no-renames --no-textconv --numstat --patch --patch-with-stat --patience --histogram " +
		"--pickaxe-regex --quiet --raw --shortstat --staged --stat[=word] --summary --text --unified=number --word-diff[=word] -G=text -S=text --merge-base"
	const log = diff + " -NUM -E -F -L=text -n=number --abbrev-commit --abbrev=number --after=text --all --author=text --before=text --branches --cherry-pick --committer=text --date=text --date-order " +
		"--decorate[=word] --first-parent --follow --format=format --full-history --graph --grep=text --invert-grep --left-right --max-count=number --merges --no-decorate --no-merges --no-notes --oneline " +
		"--pretty[=format] --remotes --reverse --root --simplify-by-decoration --since=text --skip=number --tags --topo-order --until=text"
	return []program{
		{"git --version", "", ""},
		{"git blame", "-C -L=text -M -e -l -n -s -w --abbrev=number --date=word --line-porcelain --porcelain --root --show-email --show-name --show-number", "rev..."},
		{"git branch", "-a -r -v -vv --all --contains=rev --list --merged --no-merged --remotes --show-current --sort=word --verbose", ""},
		{"git cat-file", "-e -p -s -t", "rev"},
		{"git check-ignore", "-n -q -v --verbose", "path..."},
		{"git config", "-l -z --all --get --get-all --get-regexp --global --list --local --name-only --null --show-origin --show-scope --system --type=word", "text text"},
		{"git count-objects", "-H -v --human-readable --verbose", ""},
		{"git describe", "--abbrev=number --all --always --contains --exact-match --first-parent --long --match=text --tags", "rev..."},
		{"git diff", diff, "rev..."},
		{"git diff-tree", diff + " -r --no-commit-id --root", "rev..."},
		{"git for-each-ref", "--contains=rev --count=number --format=format --merged=rev --points-at=rev --sort=word", "text..."},
		{"git grep", "-A=number -B=number -C=number -E -F -G -I -L -P -a -c -e=text -h -i -l -n -o -p -q -v -w --and --cached --column --count --extended-regexp --files-with-matches --fixed-strings " +
			"--heading --ignore-case --line-number --max-depth=number --name-only --not --or --perl-regexp --untracked --word-regexp", "text rev..."},
		{"git log", log, "rev..."},
		{"git ls-files", "-c -d -i -k -m -o -s -t -u -v -z --cached --deleted --directory --error-unmatch --exclude-standard --full-name --ignored --killed --modified --others --stage --unmerged", "path..."},
		{"git ls-tree", "-d -l -r -t -z --full-name --full-tree --long --name-only", "rev..."},
		{"git merge-base", "-a --all --fork-point --is-ancestor --octopus", "rev..."},
		{"git name-rev", "--name-only --tags", "rev..."},
		{"git reflog", log, ""},
		{"git reflog show", log, "rev..."},
		{"git remote", "-v --verbose", ""},
		{"git remote get-url", "--all --push", "word"},
		{"git rev-list", log + " --count --objects", "rev..."},
		{"git rev-parse", "--abbrev-ref --absolute-git-dir --git-common-dir --git-dir --is-bare-repository --is-inside-work-tree --is-inside-git-dir --quiet --short[=number] --show-cdup --show-prefix " +
			"--show-superproject-working-tree --show-toplevel --symbolic-full-name --verify -q", "rev..."},
		{"git shortlog", "-c -e -n -s --all --email --no-merges --numbered --since=text --summary --until=text", "rev..."},
		{"git show", log, "rev..."},
		{"git show-ref", "-d -h -q -s --abbrev --dereference --hash --head --heads --quiet --tags --verify", "text..."},
		{"git stash list", log, ""},
		{"git stash show", diff, "rev"},
		{"git status", "-b -s -u -v -z --ahead-behind --branch --column --ignored[=word] --long --no-ahead-behind --no-column --no-renames --porcelain[=word] --renames --short --show-stash --untracked-files[=word] --verbose", "path..."},
		{"git symbolic-ref", "-q --quiet --short", "word"},
		{"git tag", "-l -n --contains=rev --list --merged --points-at=rev --sort=word", "text..."},
		{"git version", "", ""},
		{"git worktree list", "-v -z --porcelain --verbose", ""},
	}
}

// git judges the words after "git", run in dir. A repository's own configuration can name programs that any of these
// would start, so it must be plain; what the operator configures for all repositories is trusted.
func (j *judge) git(words []string, dir string) error {
	j.v.Hardened = true
	dirs := []string{dir}
	for len(words) > 0 {
		if words[0] == "--no-pager" || words[0] == "--no-optional-locks" {
			words = words[1:]
			continue
		}
		if words[0] != "-C" || len(words) < 2 {
			break
		}
		var next []string
		for _, d := range dirs {
			if err := j.check(d)(kindPath, words[1]); err != nil {
				return fmt.Errorf("runs git -C with %w", err)
			}
			next = union(next, j.locate(words[1], d).real)
		}
		dirs, words = next, words[2:]
	}
	p, args, ok := gitProgram(words)
	if !ok {
		return errors.New("runs git " + strings.Join(words[:min(1, len(words))], ""))
	}
	for _, d := range dirs {
		if p.name != "git --version" && p.name != "git version" {
			if err := j.plain(d, p.name == "git status" || p.name == "git diff"); err != nil {
				return fmt.Errorf("runs git where %w", err)
			}
		}
		g, err := p.match(args, j.check(d))
		if err != nil {
			return err
		}
		if err := j.beyondGitFlags(p.name, g, d); err != nil {
			return err
		}
	}
	return nil
}

// plain is plainRepository, looked at once for a command.
func (j *judge) plain(dir string, submodules bool) error {
	key := fmt.Sprint(submodules, dir)
	if err, ok := j.repositories[key]; ok {
		return err
	}
	err := plainRepository(dir, submodules)
	j.repositories[key] = err
	return err
}

// gitProgram finds the line for a command of git, the longest first.
func gitProgram(words []string) (p program, args []string, ok bool) {
	list := gitReaders()
	for n := min(2, len(words)); n > 0; n-- {
		name := "git " + strings.Join(words[:n], " ")
		if at := slices.IndexFunc(list, func(p program) bool { return p.name == name }); at >= 0 {
			return list[at], words[n:], true
		}
	}
	return program{}, nil, false
}

// beyondGitFlags has the rules that a list of flags cannot say.
func (j *judge) beyondGitFlags(name string, g *given, dir string) error {
	if g.late && slices.Contains([]string{"git config", "git tag", "git symbolic-ref", "git remote get-url", "git stash show", "git reflog show"}, name) {
		return fmt.Errorf("runs %s with a flag after its arguments", name)
	}
	switch name {
	case "git config":
		// With one name and nothing else it reads; the words of newer versions (edit, set) have no dot.
		if !g.has("--get", "--get-all", "--get-regexp", "--list", "-l") && (len(g.args) != 1 || !strings.Contains(g.args[0], ".")) {
			return errors.New("runs git config to write")
		}
	case "git tag":
		if len(g.args) > 0 && !g.has("-l", "--list") {
			return errors.New("runs git tag to make a tag")
		}
	case "git symbolic-ref":
		if len(g.args) != 1 {
			return errors.New("runs git symbolic-ref to write")
		}
	case "git reflog show", "git stash show":
		if len(g.args) > 0 && !regexp.MustCompile(`^[A-Za-z0-9_./@{}^~-]+$`).MatchString(g.args[0]) {
			return errors.New("runs " + name + " with " + g.args[0])
		}
	case "git grep":
		if len(g.args) > 0 && g.has("-e") {
			return j.check(dir)(kindRev, g.args[0])
		}
	}
	return nil
}

// revision looks at an argument of git that may be a revision, a path, or a path in a revision.
func (j *judge) revision(value, dir string) {
	j.reads(&j.v, value, dir)
	if _, file, ok := strings.Cut(value, ":"); ok && file != "" && secret("/"+file) {
		j.v.Ask, j.v.Reason = true, "reads what may be a secret: "+value
	}
}
