package classify

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
)

// program judges the words of one command that is started in dir. It returns an error for what does not only read.
func (j *judge) program(words []string, dir string) error {
	list := readers()
	switch words[0] {
	case "git":
		return j.git(words[1:], dir)
	case "command":
		// Of the forms of command, the one that only says where a program is.
		if len(words) != 3 || words[1] != "-v" && words[1] != "-V" {
			return errors.New("runs a program by command")
		}
		words = []string{"which", words[2]}
	case ":":
		words = append([]string{"echo"}, words[1:]...)
	case "go":
		j.v.Hardened = true
		if len(words) < 2 {
			return errors.New("runs go")
		}
		words = append([]string{"go " + words[1]}, words[2:]...)
	}
	at := slices.IndexFunc(list, func(p program) bool { return p.name == words[0] })
	if at < 0 {
		return errors.New("runs " + words[0])
	}
	p, args := list[at], words[1:]
	if p.name == "find" {
		var err error
		if args, err = findWords(args, p.valued()); err != nil {
			return err
		}
	}
	g, err := p.match(args, j.check(dir))
	if err != nil {
		return err
	}
	return j.beyondFlags(p.name, g, dir)
}

// beyondFlags has the rules that a list of flags cannot say.
func (j *judge) beyondFlags(name string, g *given, dir string) error {
	switch name {
	case "grep", "egrep", "fgrep", "rg":
		// With the pattern in a flag, the first argument is a file as well.
		if len(g.args) > 0 && g.has("-e", "-f", "--regexp", "--files", "--type-list") {
			return j.check(dir)(kindPath, g.args[0])
		}
	case "sed":
		// A script may write, and run programs. Printing lines by their numbers is what agents do with it.
		if len(g.args) == 0 || !g.has("-n", "--quiet", "--silent") || !regexp.MustCompile(`^([0-9]+|\$)(,\+?([0-9]+|\$))?p$`).MatchString(g.args[0]) {
			return errors.New("runs a script of sed")
		}
	case "jq":
		if len(g.args) > 0 && regexp.MustCompile(`\b(env|ENV|import|include|modulemeta|get_search_list)\b`).MatchString(g.args[0]) {
			j.v.Ask, j.v.Reason = true, "reads the environment or a file by a jq program"
		}
	case "printf":
		// zsh takes an argument of %d for a sum, and runs what that holds; %n sets a variable, such as PATH.
		if len(g.args) == 0 || g.dashed || strings.ContainsAny(strings.Join(g.args[1:], ""), "$`[") ||
			!regexp.MustCompile(`^([^%]|%%|%[-0-9.]*[sdbqcxXoiufg])*$`).MatchString(g.args[0]) {
			return errors.New("runs printf in an unusual way")
		}
	case "printenv":
		j.v.Ask, j.v.Reason = true, "reads the environment, which may hold secrets"
	case "go env":
		// Without a name, or with one that needs the compiler, it works in a directory of its own.
		cheap := strings.Fields("GOARCH GOBIN GOCACHE GOENV GOEXE GOFLAGS GOHOSTARCH GOHOSTOS GOMOD GOMODCACHE GOOS GOPATH GOPRIVATE GOPROXY GOROOT GOTOOLCHAIN GOVERSION GOWORK")
		if len(g.args) == 0 || slices.ContainsFunc(g.args, func(arg string) bool { return !slices.Contains(cheap, arg) }) {
			return errors.New("runs go env for more than some names")
		}
	case "ps":
		if len(g.args) > 0 && g.args[0] != "aux" && g.args[0] != "ax" || strings.Contains(strings.Join(g.flags["-o"], ","), "env") {
			j.v.Ask, j.v.Reason = true, "may read the environment of processes"
		}
	case "[":
		if len(g.args) != 1 || g.args[0] != "]" {
			return errors.New("runs [ in an unusual way")
		}
		fallthrough
	case "test":
		if len(g.flags) != 1 {
			return errors.New("runs test in an unusual way")
		}
	case "node", "python3":
		if len(g.flags) != 1 {
			return errors.New("runs " + name)
		}
	case "strings":
		if slices.ContainsFunc(g.args, func(arg string) bool { return strings.HasPrefix(arg, "@") }) {
			return errors.New("runs strings with a file of arguments")
		}
	case "diff":
		// Directories are compared file by file, through links that lead out.
		for _, arg := range g.args {
			if info, err := os.Stat(j.locate(arg, dir).real[0]); err == nil && info.IsDir() {
				j.v.Ask, j.v.Reason = true, "compares the files of a directory: "+arg
			}
		}
	}
	return nil
}

// findWords takes the signs out of an expression, and refuses a file after the expression has begun: not all versions
// take it for one. valued are the words that are followed by a value.
func findWords(args []string, valued []string) ([]string, error) {
	var out []string
	expression, value := false, false
	for _, arg := range args {
		switch {
		case value:
			value = false
		case arg == "!" || arg == "(" || arg == ")":
			expression = true
			continue
		case strings.HasPrefix(arg, "-") && arg != "-":
			expression = expression || (arg != "-H" && arg != "-P")
			value = slices.Contains(valued, arg)
		case expression:
			return nil, errors.New("runs find with a file after its expression: " + arg)
		}
		out = append(out, arg)
	}
	return out, nil
}
