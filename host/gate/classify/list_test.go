package classify

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

// example is a value of a kind that many programs take.
func example(kind string) string {
	switch strings.TrimSuffix(kind, "...") {
	case kindNumber:
		return "2"
	case kindWord:
		return "name"
	case kindText:
		return "first"
	case kindPath:
		return "a.txt"
	case kindRev:
		return "HEAD"
	case kindFormat:
		return "%h"
	case kindPlus:
		return "+%Y"
	}
	return ""
}

// uses writes a command for each flag of a program, and one without any. The flags of git log are the same code in the
// commands that are like it, and git's take long enough: they are tried once.
func (p program) uses() []string {
	git := strings.HasPrefix(p.name, "git ")
	shared := map[string]bool{}
	if git && p.name != "git log" && p.name != "git diff" {
		for _, like := range gitReaders() {
			for _, f := range strings.Fields(like.flags) {
				shared[f] = shared[f] || like.name == "git log"
			}
		}
	}
	kinds := strings.Fields(p.args)
	var args, out []string
	for _, kind := range kinds {
		args = append(args, example(kind))
	}
	switch p.name {
	case "[":
		args = []string{"]"}
	case "sed":
		args = []string{"1p", "a.txt"}
	case "go env":
		args = []string{"GOPATH"}
	}
	tail := strings.Join(args, " ")
	out = append(out, p.name, p.name+" "+tail)
	for _, f := range strings.Fields(p.flags) {
		name, kind, valued := strings.Cut(f, "=")
		kind = strings.TrimSuffix(kind, "]")
		switch {
		case name == "words" || shared[f] && strings.HasPrefix(name, "--"):
			continue
		case name == "-NUM":
			out = append(out, p.name+" -2 "+tail)
			continue
		case strings.HasSuffix(name, "["):
			name = strings.TrimSuffix(name, "[")
			out = append(out, p.name+" "+name+"="+example(kind)+" "+tail)
			valued = false
		case valued:
			name += " " + example(kind)
		}
		if p.name == "find" && name != "-H" && name != "-P" {
			out = append(out, p.name+" . "+name)
			continue
		}
		out = append(out, p.name+" "+name+" "+tail)
		if p.args != "" && !git {
			out = append(out, p.name+" "+strings.TrimSuffix(example(kinds[0]), "...")+" "+name)
		}
		if valued && !git && strings.HasPrefix(name, "--") {
			out = append(out, p.name+" "+strings.Replace(name, " ", "=", 1)+" "+tail)
		}
	}
	return out
}

// Every flag of the list, with a value where it takes one, is run in the presence of traps, and changes nothing.
func TestEveryFlagOnlyReads(t *testing.T) {
	tp := newTemplate(t)
	if out, err := (&sandbox{root: tp.root, path: tp.path}).run(t.Context(), traps); err != nil {
		t.Fatalf("the traps could not be set: %v\n%s", err, out)
	}
	hardened := Environment(os.Getenv)
	for _, list := range [][]program{readers(), gitReaders()} {
		for _, p := range list {
			t.Run(strings.ReplaceAll(p.name, "/", "_"), func(t *testing.T) {
				t.Parallel()
				name, _, _ := strings.Cut(p.name, " ")
				if missing := tp.missing([]string{name}); missing != "" && name != "type" && name != "[" {
					t.Logf("no %s here: its flags are judged, and not run", missing)
					return
				}
				s := tp.sandbox(t)
				var script []string
				for _, use := range p.uses() {
					// Some of these are no sensible commands, and the list is stricter than its table.
					if s.judge(t, use).Effect == Read {
						script = append(script, use)
					}
				}
				if len(script) == 0 {
					t.Fatalf("nothing of it passes: %q", p.uses())
				}
				before := s.hash(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				out, _ := s.run(ctx, strings.Join(script, "\n"), hardened...)
				if ctx.Err() != nil {
					t.Fatalf("did not end: %q", script)
				}
				if s.hash(t) != before {
					t.Errorf("one of these changed something:\n%s\n%.2000s", strings.Join(script, "\n"), out)
				}
			})
		}
	}
}
