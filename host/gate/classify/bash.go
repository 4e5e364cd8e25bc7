package classify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	longestCommand = 16 << 10 // bytes
	deepest        = 64       // commands inside of commands, where one is read
	mostDirs       = 8        // directories that a command may be in, after cd
	mostBrackets   = 400      // the parser's time rises with the square of those that are open
)

// bash judges a shell command.
func (c Call) bash(p *places) Verdict {
	f, err := parseInput(c.Input)
	command, there, bad := f.text("command")
	switch {
	case firstOf(err, bad) != nil:
		return Verdict{Effect: External, Reason: "Bash: " + firstOf(err, bad).Error()}
	case !there || strings.TrimSpace(command) == "":
		return Verdict{Effect: External, Reason: "Bash does not say which command"}
	}
	j := &judge{places: p, v: Verdict{Effect: Read, Reason: "only reads", Command: command}, repositories: map[string]error{}}
	err = f.only("command", "description", "timeout", "run_in_background")
	if err == nil && !f.off("run_in_background") {
		err = errors.New("runs in the background")
	}
	// The command is looked at in any case, for what it writes.
	if err = firstOf(err, j.command(command)); err == nil {
		return j.v
	}
	j.v.Effect, j.v.Ask, j.v.Hardened, j.v.Reason = reach(command), false, false, err.Error()
	if j.v.Effect == External {
		j.v.Reason = "may leave the machine: " + j.v.Reason
	}
	return j.v
}

// judge goes through one command. Whatever it does not know to only read is an error, in words that a person can
// follow.
type judge struct {
	*places
	v            Verdict
	depth        int
	repositories map[string]error // by directory: whether git is safe there
}

func (j *judge) command(command string) error {
	if len(command) > longestCommand {
		return errors.New("is too long to be judged")
	}
	if err := unusualByte(command); err != nil {
		return err
	}
	if strings.Contains(command, "\\\n") {
		return errors.New("continues a line")
	}
	file, err := parseShell(command)
	if err != nil {
		return errors.New("cannot be understood as a shell command")
	}
	j.redirected(file)
	if len(file.Last) > 0 {
		return errors.New("has comments")
	}
	_, _, err = j.list(file.Stmts, []string{j.dir})
	return err
}

func parseShell(command string) (*syntax.File, error) {
	if strings.Count(command, "(")+strings.Count(command, "{")+strings.Count(command, "`")+strings.Count(command, "[") > mostBrackets {
		return nil, errors.New("too many brackets")
	}
	return syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
}

// list judges one command after the other. dirs are the directories that the first may be started in; it returns
// those that the shell may be in when the last has succeeded, and when it has ended in any way.
func (j *judge) list(stmts []*syntax.Stmt, dirs []string) (good, all []string, err error) {
	good, all = dirs, dirs
	for _, s := range stmts {
		if good, all, err = j.stmt(s, all); err != nil {
			return nil, nil, err
		}
	}
	return good, all, nil
}

func (j *judge) stmt(s *syntax.Stmt, dirs []string) (good, all []string, err error) {
	j.depth++
	defer func() { j.depth-- }()
	switch {
	case j.depth > deepest:
		return nil, nil, errors.New("is too deep to be judged")
	case len(dirs) > mostDirs:
		return nil, nil, errors.New("changes the directory too often")
	case s.Background || s.Coprocess || s.Disown:
		return nil, nil, errors.New("runs in the background")
	case s.Negated:
		return nil, nil, errors.New("negates a result")
	case len(s.Comments) > 0:
		return nil, nil, errors.New("has comments")
	}
	for _, r := range s.Redirs {
		if err := harmlessRedirect(r); err != nil {
			return nil, nil, err
		}
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		return j.call(cmd, dirs)
	case *syntax.BinaryCmd:
		return j.binary(cmd, dirs)
	}
	return nil, nil, errors.New("uses a shell construct: " + constructName(s.Cmd))
}

func (j *judge) binary(cmd *syntax.BinaryCmd, dirs []string) (good, all []string, err error) {
	good, all, err = j.stmt(cmd.X, dirs)
	if err != nil {
		return nil, nil, err
	}
	var first, other []string
	switch cmd.Op {
	case syntax.AndStmt:
		first, other = good, all
		good, all, err = j.stmt(cmd.Y, first)
		return good, union(other, all), err
	case syntax.OrStmt:
		first, other = all, good
		good, all, err = j.stmt(cmd.Y, first)
		return union(other, good), union(first, all), err
	case syntax.Pipe:
		_, after, err := j.stmt(cmd.Y, dirs)
		if err == nil && (!slices.Equal(all, dirs) || !slices.Equal(after, dirs)) {
			err = errors.New("changes the directory within a pipe")
		}
		return dirs, dirs, err
	}
	return nil, nil, fmt.Errorf("uses %s", cmd.Op)
}

// call judges one simple command.
func (j *judge) call(cmd *syntax.CallExpr, dirs []string) (good, all []string, err error) {
	if len(cmd.Assigns) > 0 {
		return nil, nil, errors.New("sets a variable")
	}
	if len(cmd.Args) == 0 {
		return nil, nil, errors.New("has no command")
	}
	var words []string
	for i, arg := range cmd.Args {
		w, err := plainWord(arg)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 && (w.quoted || strings.Contains(w.text, "/")) {
			return nil, nil, errors.New("names its program in an unusual way: " + w.text)
		}
		words = append(words, w.text)
	}
	if words[0] == "cd" {
		return j.changeDir(words[1:], dirs)
	}
	for _, dir := range dirs {
		if err := j.program(words, dir); err != nil {
			return nil, nil, err
		}
	}
	return dirs, dirs, nil
}

// changeDir follows a cd with one path. An operator's CDPATH would lead it elsewhere.
func (j *judge) changeDir(args, dirs []string) (good, all []string, err error) {
	if len(args) != 1 || args[0] == "" || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "+") {
		return nil, nil, errors.New("runs cd in an unusual way")
	}
	j.v.Hardened = true
	for _, dir := range dirs {
		j.reads(&j.v, args[0], dir)
		good = union(good, j.locate(args[0], dir).real)
	}
	return good, union(dirs, good), nil
}

// redirected notes the files that a command writes to by > and its like, however deep inside.
func (j *judge) redirected(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		r, ok := n.(*syntax.Redirect)
		if !ok || harmlessRedirect(r) == nil || r.Word == nil {
			return true
		}
		switch r.Op {
		case syntax.RdrIn, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			return true
		}
		if w, err := plainWord(r.Word); err == nil && w.text != "" {
			j.writes(&j.v, w.text, j.dir)
		} else {
			j.v.Guarded = true // it may be anywhere
		}
		return true
	})
}

// harmlessRedirect allows what goes to /dev/null, and joining output and errors.
func harmlessRedirect(r *syntax.Redirect) error {
	target := ""
	if r.Word != nil {
		target = r.Word.Lit()
	}
	if r.N == nil || r.N.Value == "1" || r.N.Value == "2" {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut:
			if target == "/dev/null" {
				return nil
			}
		case syntax.RdrAll:
			if target == "/dev/null" && r.N == nil {
				return nil
			}
		case syntax.DplOut:
			if target == "1" || target == "2" {
				return nil
			}
		case syntax.RdrIn:
			if target == "/dev/null" && r.N == nil {
				return nil
			}
		}
	}
	if target == "" {
		target = "a file"
	}
	return fmt.Errorf("redirects: %s %s", r.Op, target)
}

func constructName(cmd syntax.Command) string {
	name := strings.TrimPrefix(fmt.Sprintf("%T", cmd), "*syntax.")
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(name, "Clause"), "Command"))
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
