package classify

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// entry is one paragraph of a corpus.
type entry struct {
	line     int
	command  string
	setup    string
	needs    []string
	external bool
}

// corpus reads a file of testdata; mutating.txt says what its form is.
func corpus(tb testing.TB, file string) []entry {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var out []entry
	var command []string
	e := entry{}
	end := func() {
		e.command = strings.Join(command, "\n")
		if strings.HasPrefix(e.command, `= "`) {
			var lines strings.Builder
			for _, line := range command {
				text, err := strconv.Unquote(strings.TrimPrefix(line, "= "))
				if err != nil {
					tb.Fatalf("%s:%d: %v", file, e.line, err)
				}
				lines.WriteString(text)
			}
			e.command = lines.String()
		}
		if e.command != "" {
			out = append(out, e)
		}
		command, e = nil, entry{}
	}
	for i, line := range strings.Split(string(text), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "":
			end()
		case len(command) > 0:
			command = append(command, line)
		case mark == "#" || mark == "##":
		case mark == "?":
			e.needs = strings.Fields(rest)
		case mark == "<":
			e.setup += rest + "\n"
		case mark == "!" && rest == "external":
			e.external = true
		default:
			e.line, command = i+1, append(command, line)
		}
	}
	end()
	return out
}
