package teatest

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/kitsoki/teatest/claudecli"
)

// sgr is what sets how text looks.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// On a terminal that has colours there are some; with NO_COLOR, or the theme none, there is no such escape at all.
func TestColours(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{name: "as it comes", want: true},
		{name: "dark", args: []string{"--theme", "dark"}, want: true},
		{name: "sixteen", args: []string{"--theme", "16"}, want: true},
		{name: "NO_COLOR", env: []string{"NO_COLOR=1"}},
		{name: "none", args: []string{"--theme", "none"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := claudecli.Env(t, "http://127.0.0.1:9", append([]string{"TERM=xterm-256color"}, tc.env...)...)
			term := openTerminal(t, env, append([]string{program(t), "demo"}, tc.args...)...)
			term.waitFor("access ask")
			found := sgr.FindAllString(term.output(), -1)
			for _, code := range found {
				if !tc.want && code != "\x1b[m" && code != "\x1b[0m" {
					t.Errorf("%q sets a look", code)
				}
			}
			if tc.want && len(found) == 0 {
				t.Errorf("no look is set in %q", term.output())
			}
		})
	}
}

// The operator's editor gets the terminal itself: one that is handed a pipe does not draw.
func TestEditorGetsTheTerminal(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "editor")
	body := "#!/bin/sh\nif [ -t 0 ] && [ -t 1 ]; then printf 'on a terminal' >\"$1\"; else printf 'on a pipe' >\"$1\"; fi\n"
	if err := os.WriteFile(script, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	env := claudecli.Env(t, "http://127.0.0.1:9", "TERM=xterm-256color", "NO_COLOR=1", "EDITOR="+script)
	term := openTerminal(t, env, program(t), "demo")
	term.waitFor("access ask")
	if _, err := io.WriteString(term.ptm, "\x07"); err != nil {
		t.Fatal(err)
	}
	if !eventually(func() bool { return strings.Contains(term.output(), "on a ") }) {
		t.Fatalf("the editor's text never came: %q", term.output())
	}
	if strings.Contains(term.output(), "on a pipe") {
		t.Error("the editor was handed a pipe")
	}
}
