package classify

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// nestings is how many commands inside of texts inside of commands are looked into. Deeper ones may do anything.
const nestings = 6

// reach says whether a command that does not only read can be seen to leave the machine: External, or else Write. It
// looks through wrappers, shells inside of shells, substitutions and loops. What a script, a makefile or a program of
// its own does is not seen; it is asked for as a write, and the wall holds it.
func reach(command string) Effect {
	if leaves(command, 0, true) {
		return External
	}
	return Write
}

// leaves looks at one command. strict says that it is certainly run by a shell, so that a program whose name is made
// up when it runs may be any; without, it may be a text that only looks like a command.
func leaves(command string, depth int, strict bool) bool {
	if depth > nestings {
		return true
	}
	if len(command) > longestCommand {
		return mentionsNetwork(command)
	}
	file, err := parseShell(command)
	if err != nil {
		// The shell still runs the lines before the one that it cannot read.
		return mentionsNetwork(command)
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			found = found || statementLeaves(n, depth)
		case *syntax.CallExpr:
			found = found || (len(n.Args) > 0 && callLeaves(n.Args, depth, strict))
		}
		return !found
	})
	return found
}

// statementLeaves looks at redirections: to bash's own sockets, and of text into a program that runs it.
func statementLeaves(s *syntax.Stmt, depth int) bool {
	call, _ := s.Cmd.(*syntax.CallExpr)
	for _, r := range s.Redirs {
		for _, w := range []*syntax.Word{r.Word, r.Hdoc} {
			if w == nil {
				continue
			}
			text, whole := roughly(w)
			if socketPath(text) || w == r.Word && !whole && (r.Op == syntax.RdrInOut || strings.HasPrefix(text, "/dev")) {
				return true
			}
			if call != nil && len(call.Args) > 0 && (r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc) {
				name, _ := roughly(call.Args[0])
				if interprets(path.Base(name)) && (leaves(text, depth+1, isShell(path.Base(name))) || codeLeaves(text)) {
					return true
				}
			}
		}
	}
	return false
}

func socketPath(text string) bool {
	return strings.Contains(text, "/dev/tcp") || strings.Contains(text, "/dev/udp") || strings.Contains(text, "/inet")
}

// roughly takes the text of a word without its quotes; whole is false where some of it is known only when it runs.
func roughly(w *syntax.Word) (text string, whole bool) {
	var out strings.Builder
	whole = true
	var add func(parts []syntax.WordPart, quoted bool)
	add = func(parts []syntax.WordPart, quoted bool) {
		for _, part := range parts {
			switch part := part.(type) {
			case *syntax.Lit:
				out.WriteString(strings.ReplaceAll(part.Value, `\`, ""))
				whole = whole && (quoted || part.Value == "[" || !strings.ContainsAny(part.Value, "*?[{"))
			case *syntax.SglQuoted:
				out.WriteString(part.Value)
				whole = whole && !part.Dollar
			case *syntax.DblQuoted:
				add(part.Parts, true)
			default:
				whole = false
			}
		}
	}
	add(w.Parts, false)
	return out.String(), whole
}

// callLeaves looks at one simple command.
func callLeaves(args []*syntax.Word, depth int, strict bool) bool {
	words, vague := make([]string, len(args)), false
	for i, arg := range args {
		text, whole := roughly(arg)
		words[i] = text
		if i == 0 && !whole {
			return strict // it runs what it makes up
		}
		vague = vague || !whole
		if socketPath(text) {
			return true
		}
	}
	name := path.Base(words[0])
	shell := isShell(name) || name == "eval" || name == "source" || name == "." || name == "trap"
	switch {
	case networkAt(words):
		return true
	case textOnly(name) || name == "git" && !gitRuns(words):
		return false
	case strict && vague && (shell || wraps(name, words)):
		return true // what it runs is made up
	case strict && isShell(name) && !slices.ContainsFunc(words[1:], func(w string) bool { return w[:min(1, len(w))] != "-" && w[:min(1, len(w))] != "+" }):
		return true // what it runs comes through a pipe
	case interprets(name) && slices.ContainsFunc(words[1:], codeLeaves):
		return true
	}
	// Each word may begin a command, and a text of several words may be one.
	for i, w := range words[1:] {
		if networkAt(words[i+1:]) || strings.ContainsAny(w, " \t\n;|&$`") && leaves(w, depth+1, shell) {
			return true
		}
	}
	return name == "eval" && leaves(strings.Join(words[1:], " "), depth+1, true)
}

// networkAt reports whether words begin with a command that leaves the machine.
func networkAt(words []string) bool {
	name := path.Base(words[0])
	rest := slices.DeleteFunc(slices.Clone(words[1:min(len(words), 40)]), func(w string) bool { return strings.HasPrefix(w, "-") })
	first := strings.Join(rest[:min(1, len(rest))], "")
	has := func(list string) bool { return slices.Contains(strings.Fields(list), first) }
	switch name {
	case "git":
		return gitLeaves(words)
	case "npm", "pnpm", "yarn", "bun":
		return !has("run run-script test t start stop restart pkg version prefix root bin ls list config help")
	case "pip", "pip3", "uv", "poetry", "pipenv":
		return !has("list show freeze check config help") && first != ""
	case "cargo":
		return has("publish install fetch update add search login logout owner yank vendor package info")
	case "go":
		return has("get install") || (has("mod") && !slices.Contains(rest, "edit")) || slices.ContainsFunc(rest, func(w string) bool { return strings.Contains(w, "@") })
	case "rsync", "tar":
		return slices.ContainsFunc(words[1:], func(w string) bool { return strings.Contains(w, ":") })
	case "openssl":
		return has("s_client s_server s_time ocsp cms")
	}
	return networkPrograms(name)
}

// gitLeaves reports whether git talks to another repository, or whether its command is not known: it may be an alias.
func gitLeaves(words []string) bool {
	for i := 1; i < len(words); i++ {
		switch w := words[i]; {
		case w == "-C" || w == "-c" || w == "--git-dir" || w == "--work-tree" || w == "--namespace" || w == "--exec-path" || w == "--config-env":
			i++
		case strings.HasPrefix(w, "-"):
		case w == "remote":
			return slices.ContainsFunc(words[i+1:], func(w string) bool { return slices.Contains([]string{"update", "show", "prune", "-f", "--fetch"}, w) })
		case w == "submodule":
			return slices.ContainsFunc(words[i+1:], func(w string) bool { return slices.Contains([]string{"update", "add", "init"}, w) })
		case w == "archive":
			return slices.ContainsFunc(words[i+1:], func(w string) bool { return strings.HasPrefix(w, "--rem") || strings.HasPrefix(w, "--exec") })
		default:
			return !slices.Contains(strings.Fields(`add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap
				check-ref-format checkout checkout-index cherry cherry-pick clean column commit commit-graph commit-tree config count-objects describe
				diff diff-files diff-index diff-tree difftool fast-export fast-import filter-branch fmt-merge-msg for-each-ref format-patch fsck gc
				grep hash-object help index-pack init interpret-trailers log ls-files ls-tree mailinfo mailsplit maintenance merge merge-base merge-file
				merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune
				prune-packed range-diff read-tree rebase reflog repack replace rerere reset restore rev-list rev-parse revert rm shortlog show
				show-branch show-index show-ref sparse-checkout stash status stripspace switch symbolic-ref tag unpack-file unpack-objects
				update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree`), w)
		}
	}
	return false
}

// gitRuns reports whether a command of git takes programs as arguments.
func gitRuns(words []string) bool {
	return slices.ContainsFunc(words[1:], func(w string) bool {
		return slices.Contains(strings.Fields("-c -x -O --exec --extcmd --tree-filter bisect rebase submodule filter-branch difftool mergetool config --config-env"), w) ||
			strings.HasPrefix(w, "-O") || strings.HasPrefix(w, "--exec") || strings.HasPrefix(w, "--ext") || strings.HasPrefix(w, "--open") || strings.HasPrefix(w, "-x")
	})
}

// codeLeaves reports whether text in some programming language talks of the network.
func codeLeaves(code string) bool {
	return regexp.MustCompile(`(?i)socket|urllib|https?\b|requests|ftp|smtp|\bnet\b|net::|IO::|LWP|fetch|/inet|open-uri|dgram|\btls\b|connect`).MatchString(code) ||
		(strings.ContainsAny(code, " ('\"") && mentionsNetwork(code))
}

// mentionsNetwork reports whether a text has the name of a program that leaves the machine anywhere.
func mentionsNetwork(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !alphanumeric(byte(min(r, 127))) && r != '_' && r != '-' && r != '.'
	})
	git := slices.Contains(words, "git")
	return strings.Contains(text, "/dev/tcp") || strings.Contains(text, "/dev/udp") || slices.ContainsFunc(words, func(w string) bool {
		return networkPrograms(w) || git && slices.Contains([]string{"push", "fetch", "pull", "clone", "ls-remote", "remote", "submodule"}, w)
	})
}
