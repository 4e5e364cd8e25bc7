package classify

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a shell word that means exactly what it says.
type word struct {
	text   string
	quoted bool // some of it is in quotes: then no shell takes it for a keyword or an alias
}

// plainWord takes a word apart that needs no expansion of any kind, in bash or in zsh. Whatever else it holds, it is
// refused with what a person would call it.
func plainWord(w *syntax.Word) (word, error) {
	if lit := w.Lit(); len(w.Parts) == 1 {
		switch lit {
		case "!", "[", "]":
			return word{text: lit}, nil
		case `\(`, `\)`, `\!`:
			return word{text: lit[1:]}, nil
		}
	}
	out, single := word{}, false
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if err := bare(part.Value, out.text); err != nil {
				return word{}, err
			}
			out.text += part.Value
			single = false
		case *syntax.SglQuoted:
			if part.Dollar || single {
				return word{}, errors.New("quotes in an unusual way") // zsh may read '' as a quote
			}
			out.text, out.quoted, single = out.text+part.Value, true, true
		case *syntax.DblQuoted:
			text, err := inQuotes(part)
			if err != nil {
				return word{}, err
			}
			out.text, out.quoted, single = out.text+text, true, false
		case *syntax.ParamExp:
			return word{}, errors.New("expands a variable")
		case *syntax.CmdSubst:
			return word{}, errors.New("runs a command inside of another one")
		case *syntax.ProcSubst:
			return word{}, errors.New("runs a command as a file")
		default:
			return word{}, errors.New("expands a pattern or a sum")
		}
	}
	if strings.ContainsAny(out.text, "\n\t") {
		return word{}, errors.New("has a line break inside of a word")
	}
	return out, nil
}

// bare checks text outside of quotes; before is what the word began with.
func bare(text, before string) error {
	last := byte(0)
	if before != "" {
		last = before[len(before)-1]
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case alphanumeric(c) || strings.IndexByte("_./,:@%+-", c) >= 0:
		case c == '=' && last != 0: // zsh takes =ls for a path
		case (c == '^' || c == '~') && (alphanumeric(last) || last == '^'): // HEAD^, main~2
		case c == '~':
			return errors.New("expands ~")
		case strings.IndexByte("*?[]", c) >= 0:
			return errors.New("expands a pattern of file names")
		case c == '{' || c == '}':
			return errors.New("expands braces")
		default:
			return fmt.Errorf("has %q outside of quotes", c)
		}
		last = c
	}
	return nil
}

// inQuotes takes the text of "…", in which only $, `, " and \ can be escaped.
func inQuotes(q *syntax.DblQuoted) (string, error) {
	if q.Dollar {
		return "", errors.New("quotes in an unusual way")
	}
	var out strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", errors.New("expands something inside of quotes")
		}
		s := lit.Value
		for i := 0; i < len(s); i++ {
			switch {
			case s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0:
				i++
			case s[i] == '!' || s[i] == '`':
				return "", errors.New("expands something inside of quotes")
			case s[i] == '$' && i+1 < len(s) && strings.IndexByte(" |)", s[i+1]) < 0:
				return "", errors.New("expands something inside of quotes")
			}
			out.WriteByte(s[i])
		}
	}
	return out.String(), nil
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// unusualByte returns what a command holds that may look like something else than it is: everything but printable
// ASCII, tabs and line breaks.
func unusualByte(s string) error {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 0x80:
			return errors.New("has a character outside of ASCII")
		case c == '\n' || c == '\t':
		case c < ' ' || c == 0x7f:
			return fmt.Errorf("has the control character %#02x", c)
		}
	}
	return nil
}
