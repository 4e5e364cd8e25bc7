package classify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// program is a line of the list of what passes unasked: a program (or a part of it, such as "git log"), the flags that
// it may have, and its other arguments.
//
// Flags are separated by spaces. "-n" takes nothing and may be bundled with others; "-n=kind" takes a value, attached
// or as the next word; "--long", "--long=kind" and "--long[=kind]" (a value only attached) are matched letter by
// letter, never by an abbreviation; "-NUM" is a number by itself, as in head -5. Where the first is "words", no flags
// are bundled and values are words of their own, as in find and xxd.
//
// args lists the kinds of the other arguments; where it ends in "..." the last may be repeated. More than it lists are
// refused, since many programs write to the second file that they are given.
type program struct {
	name, flags, args string
}

// kinds of values; each is a check of the text and, for paths, where they lead.
const (
	kindNumber = "number" // of lines, bytes, levels; may have a sign and a unit
	kindWord   = "word"   // one of a program's own words, or a list of numbers
	kindText   = "text"   // a pattern, a separator: nothing that is opened
	kindPath   = "path"   // a file or a directory
	kindRev    = "rev"    // of git: a revision, or a path, or one in the other
	kindFormat = "format" // of git: must not make it check signatures, which runs gpg
	kindPlus   = "+text"  // a text that starts with +
)

// given is a command whose flags and arguments have been matched.
type given struct {
	flags  map[string][]string // values by flag; one empty value for each time that it takes none
	args   []string
	dashed bool // there was "--"
	late   bool // there was a flag, or "--", after an argument
}

func (g *given) has(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return len(g.flags[n]) > 0 })
}

// valued returns the flags that take the next word.
func (p program) valued() []string {
	var out []string
	for _, f := range strings.Fields(p.flags) {
		if name, _, ok := strings.Cut(f, "="); ok && !strings.HasSuffix(name, "[") {
			out = append(out, name)
		}
	}
	return out
}

// match takes the words after a program's name apart by its line. The values are checked by check, which knows the
// kinds.
func (p program) match(words []string, check func(kind, value string) error) (*given, error) {
	known := strings.Fields(p.flags)
	wordy := len(known) > 0 && known[0] == "words"
	g := &given{flags: map[string][]string{}}
	from := -1 // where the first argument is
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := func() (string, bool) {
			i++
			return strings.Join(words[min(i, len(words)):min(i+1, len(words))], ""), i < len(words)
		}
		switch {
		case g.dashed || w == "-" || !strings.HasPrefix(w, "-"):
			g.args = append(g.args, w)
			if from < 0 {
				from = i
			}
		case w == "--" && !wordy:
			g.dashed = true
		case slices.Contains(known, "-NUM") && isNumber(w[1:]):
			g.flags["-NUM"] = append(g.flags["-NUM"], w[1:])
		case wordy || strings.HasPrefix(w, "--"):
			if err := p.long(known, g, w, wordy, next, check); err != nil {
				return nil, err
			}
		default:
			if err := p.bundle(known, g, w, next, check); err != nil {
				return nil, err
			}
		}
	}
	if err := p.matchArgs(g.args, check); err != nil {
		return nil, err
	}
	if g.late = from >= 0 && len(words)-from != len(g.args); g.late && p.name != "find" {
		// Not every program, and hardly any on macOS, takes a flag after an argument for a flag: to xxd and uniq it is
		// the file to write. So it must pass as an argument, too.
		return g, p.matchArgs(words[from:], check)
	}
	return g, nil
}

// matchArgs checks what is no flag.
func (p program) matchArgs(args []string, check func(kind, value string) error) error {
	kinds := strings.Fields(p.args)
	for i, arg := range args {
		var kind string
		switch {
		case i < len(kinds):
			kind = strings.TrimSuffix(kinds[i], "...")
		case len(kinds) > 0 && strings.HasSuffix(kinds[len(kinds)-1], "..."):
			kind = strings.TrimSuffix(kinds[len(kinds)-1], "...")
		default:
			return fmt.Errorf("runs %s with one argument more than to read: %s", p.name, arg)
		}
		if err := check(kind, arg); err != nil {
			return fmt.Errorf("runs %s with %w", p.name, err)
		}
	}
	return nil
}

// long matches a flag that is a word: --name, --name=value, and -name where flags are words.
func (p program) long(known []string, g *given, w string, wordy bool, next func() (string, bool), check func(kind, value string) error) error {
	name, value, attached := w, "", false
	if !wordy || strings.HasPrefix(w, "--") {
		name, value, attached = strings.Cut(w, "=")
	}
	if slices.Contains(known, name) && !attached {
		g.flags[name] = append(g.flags[name], "")
		return nil
	}
	for _, k := range known {
		spec, kind, ok := strings.Cut(k, "=")
		optional := strings.HasSuffix(spec, "[")
		switch {
		case !ok || strings.TrimSuffix(spec, "[") != name:
			continue
		case optional && !attached:
			g.flags[name] = append(g.flags[name], "")
			return nil
		case !attached:
			if value, ok = next(); !ok {
				return fmt.Errorf("runs %s with %s, and nothing after it", p.name, name)
			}
			if kind != kindNumber && strings.HasPrefix(value, "-") {
				return fmt.Errorf("runs %s with %s %s", p.name, name, value)
			}
		}
		if err := check(strings.TrimSuffix(kind, "]"), value); err != nil {
			return fmt.Errorf("runs %s with %s: %w", p.name, name, err)
		}
		g.flags[name] = append(g.flags[name], value)
		return nil
	}
	return fmt.Errorf("runs %s with %s", p.name, name)
}

// bundle matches short flags in one word; the first that takes a value takes the rest.
func (p program) bundle(known []string, g *given, w string, next func() (string, bool), check func(kind, value string) error) error {
	for at := 1; at < len(w); at++ {
		name := "-" + w[at:at+1]
		if slices.Contains(known, name) {
			g.flags[name] = append(g.flags[name], "")
			continue
		}
		spec := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, name+"=") })
		if spec < 0 {
			return fmt.Errorf("runs %s with %s", p.name, name)
		}
		kind, value := known[spec][len(name)+1:], w[at+1:]
		if value == "" {
			var ok bool
			if value, ok = next(); !ok || (kind != kindNumber && strings.HasPrefix(value, "-")) {
				return fmt.Errorf("runs %s with %s %s", p.name, name, value)
			}
		}
		if err := check(kind, value); err != nil {
			return fmt.Errorf("runs %s with %s: %w", p.name, name, err)
		}
		g.flags[name] = append(g.flags[name], value)
		return nil
	}
	return nil
}

func isNumber(s string) bool { return regexp.MustCompile(`^[0-9]{1,9}$`).MatchString(s) }

// check looks at a value by its kind; a path that must be asked for is noted in the verdict.
func (j *judge) check(dir string) func(kind, value string) error {
	return func(kind, value string) error {
		ok := true
		switch kind {
		case kindNumber:
			ok = regexp.MustCompile(`^[-+]?[0-9]{1,15}[a-zA-Z]{0,3}$`).MatchString(value)
		case kindWord:
			ok = regexp.MustCompile(`^[A-Za-z0-9_.,:+/%@-]{1,100}$`).MatchString(value)
		case kindText:
		case kindPlus:
			ok = strings.HasPrefix(value, "+")
		case kindFormat:
			ok = !regexp.MustCompile(`%[-+ ]?G|signature|\(sig`).MatchString(value)
		case kindPath:
			if ok = value != ""; ok && value != "-" && value != "/dev/null" {
				j.reads(&j.v, value, dir)
			}
		case kindRev:
			if ok = value != ""; ok {
				j.revision(value, dir)
			}
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("%q", value)
		}
		return nil
	}
}
