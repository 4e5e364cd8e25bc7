package classify

import (
	"os"
	"strings"
	"testing"
)

// The page shows the list of what passes unasked as it is.
func TestPageShowsTheList(t *testing.T) {
	text, err := os.ReadFile("../../../docs/write-gate.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| command | flags | arguments |\n|---|---|---|\n")
	cell := func(s string) string {
		if s == "" {
			return "–"
		}
		return "`" + s + "`"
	}
	for _, list := range [][]program{readers(), gitReaders()} {
		for _, p := range list {
			table.WriteString("| " + cell(p.name) + " | " + cell(p.flags) + " | " + cell(p.args) + " |\n")
		}
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("docs/write-gate.md must have this table:\n%s", table.String())
	}
}

// A line of the list that cannot match, or a flag that is there twice, is a mistake.
func TestListIsWellFormed(t *testing.T) {
	kinds := []string{kindNumber, kindWord, kindText, kindPath, kindRev, kindFormat, kindPlus}
	known := func(kind string) bool {
		for _, k := range kinds {
			if k == kind {
				return true
			}
		}
		return false
	}
	names := map[string]bool{}
	for _, list := range [][]program{readers(), gitReaders()} {
		for _, p := range list {
			if names[p.name] {
				t.Errorf("%s is there twice", p.name)
			}
			names[p.name] = true
			flags := map[string]bool{}
			for _, f := range strings.Fields(p.flags) {
				name, kind, valued := strings.Cut(f, "=")
				name, kind = strings.TrimSuffix(name, "["), strings.TrimSuffix(kind, "]")
				if flags[name] {
					t.Errorf("%s has %s twice", p.name, name)
				}
				flags[name] = true
				if valued && !known(kind) {
					t.Errorf("%s: %s has a value of no kind", p.name, f)
				}
				if name != "words" && !strings.HasPrefix(name, "-") {
					t.Errorf("%s: %s is no flag", p.name, f)
				}
			}
			for _, a := range strings.Fields(p.args) {
				if !known(strings.TrimSuffix(a, "...")) {
					t.Errorf("%s: %s is no kind of argument", p.name, a)
				}
			}
		}
	}
}
