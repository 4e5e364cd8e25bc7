package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/kitsoki/askbridge"
)

// hostileText draws texts that could look like others: escapes, controls, half characters, tokens, lines of diffs.
func hostileText() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"\n", "\r\n", "\r", "\x1b[2J", "\x00", "\u202e", "\u200d", "\u2028", "‹", "‹ESC›", "›", "\\ No newline at end of file", "+", "-", "@@ -1 +1 @@",
		"--- before", "\xff", "\xed\xa0\x80", "é", "e\u0301", " ", "\t", "a", "a\n", "--- before\n+++ after\n", "\ufffd", `\ud800`,
	}))
	return rapid.Map(rapid.SliceOfN(piece, 0, 8), func(s []string) string { return strings.Join(s, "") })
}

// readBack is what a proposal's shown text says, byte for byte.
func readBack(t *rapid.T, shown string) string {
	back, err := askbridge.Unsafe(askbridge.SafeText(shown))
	if err != nil {
		t.Fatalf("%q cannot be read back: %v", shown, err)
	}
	return back
}

// The command that is shown can be read back to the bytes that are run; words around it are not shown for it.
func TestWhatIsShownIsWhatIsRun(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		command := hostileText().Draw(rt, "command")
		if !utf8.ValidString(command) {
			command = strings.ToValidUTF8(command, "?") // JSON has no other
		}
		said := hostileText().Filter(utf8.ValidString).Draw(rt, "description")
		raw, err := json.Marshal(map[string]string{"command": command, "description": said})
		if err != nil {
			rt.Fatal(err)
		}
		before, ran := r.asked(), len(r.ran)
		r.next(1)
		d := r.permit("action", "Bash", string(raw))
		if r.asked() == before {
			return // it reads, or cannot be run
		}
		if got := readBack(rt, r.last().Text); got != command {
			rt.Errorf("%q is shown as %q", command, got)
		}
		if len(said) > 8 && !strings.Contains(command, said) && strings.Contains(fmt.Sprint(r.last()), said) {
			rt.Errorf("the description %q is shown: %+v", said, r.last())
		}
		token := tokenOf(rt, d)
		if _, err := r.turn.Run(t.Context(), askbridge.RunCall{Token: token}); err != nil || len(r.ran) != ran+1 || r.ran[ran].Command != command {
			rt.Errorf("%q was run, %v", r.ran[ran:], err)
		}
	})
}

// The diff that is shown, applied by its own letters to the file, is the file that is made.
func TestWhatIsShownIsWhatIsWritten(t *testing.T) {
	r := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		before, content := hostileText().Draw(rt, "before"), hostileText().Filter(utf8.ValidString).Draw(rt, "content")
		fresh := rapid.Bool().Draw(rt, "fresh")
		r.write("f", before)
		if fresh {
			before = ""
			if err := os.Remove(r.path("f")); err != nil {
				rt.Fatal(err)
			}
		}
		r.next(1)
		d := r.permit("action", "Write", writes("f", content))
		if !strings.Contains(d.Message, made) || r.file("f") != content {
			rt.Fatalf("%+v; the file: %q", d, r.file("f"))
		}
		shown := readBack(rt, r.last().Text)
		if got, err := patched(before, shown); err != nil || got != content {
			rt.Errorf("from %q, shown was\n%s\nwhich makes %q, and %q was written (%v)", before, shown, got, content, err)
		}
	})
}

// patched does what a shown change says, to the letter.
func patched(before, shown string) (string, error) {
	if strings.HasPrefix(shown, "nothing changes") {
		return before, nil
	}
	if _, quoted, ok := strings.Cut(shown, "\n"); ok && strings.HasPrefix(shown, "the file is no text") {
		return strconv.Unquote(quoted)
	}
	body, ok := strings.CutPrefix(shown, "--- before\n+++ after\n")
	if !ok {
		return "", errors.New("no head")
	}
	old, out, at := strings.SplitAfter(before, "\n"), "", 0
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		end := "\n"
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "\\") {
			end = ""
		}
		switch {
		case strings.HasPrefix(line, "@@"):
			var from int
			if _, err := fmt.Sscanf(line, "@@ -%d", &from); err != nil {
				return "", err
			}
			for ; at < from-1; at++ {
				out += old[at]
			}
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "-"):
			if at >= len(old) || old[at] != line[1:]+end {
				return "", fmt.Errorf("line %d is not in the file: %q", i, line)
			}
			if line[0] == ' ' {
				out += old[at]
			}
			at++
		case strings.HasPrefix(line, "+"):
			out += line[1:] + end
		case strings.HasPrefix(line, "\\"):
		default:
			return "", fmt.Errorf("line %d is none of a diff: %q", i, line)
		}
	}
	return out + strings.Join(old[at:], ""), nil
}

// A description says what the agent likes, and an operator who trusts it is lied to. It is shown nowhere.
func TestALieIsNotShown(t *testing.T) {
	r := newRig(t)
	r.permit("deny", "Bash", runs("rm -rf src"))
	p := r.last()
	if p.Text != "rm -rf src" || strings.Contains(fmt.Sprint(p), "lists the files") {
		t.Errorf("%+v", p)
	}
	if v := r.verdict(); strings.Contains(fmt.Sprint(v), "lists the files") {
		t.Errorf("%+v", v)
	}
}

// Two large files that have nothing in common are told apart in a time that an operator waits.
func TestALargeChangeIsShownSoon(t *testing.T) {
	r := newRig(t)
	var before, after strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&before, "line %d of what there was\n", i*7919%60_013)
		fmt.Fprintf(&after, "%d\n", i*104_729%60_013)
	}
	r.write("big", before.String())
	began := time.Now()
	if d := r.permit("action", "Write", writes("big", after.String())); !strings.Contains(d.Message, made) || r.file("big") != after.String() {
		t.Errorf("%+v", d)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	} else {
		t.Logf("a change of %d lines took %v", 120_000, took)
	}
}
