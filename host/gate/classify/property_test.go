package classify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// room is a directory for what is only judged.
func room(tb testing.TB) Call {
	tb.Helper()
	root, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	c := Call{Tool: "Bash", Dir: filepath.Join(root, "work"), Home: filepath.Join(root, "home")}
	for _, dir := range []string{c.Dir + "/src", c.Home + "/.ssh", root + "/outside"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

func (c Call) of(tb testing.TB, command string) Verdict {
	tb.Helper()
	c.Input = bashInput(tb, command)
	return Classify(c)
}

// lines are the commands of the corpora that can stand beside others: one line, which a shell can read by itself.
func lines(tb testing.TB) []string {
	var out []string
	for _, file := range []string{"testdata/reads.txt", "testdata/mutating.txt"} {
		for _, e := range corpus(tb, file) {
			_, err := parseShell(e.command + " && ls")
			if err == nil && !strings.ContainsAny(e.command, "\n#") && !strings.HasPrefix(e.command, "cd ") {
				out = append(out, e.command)
			}
		}
	}
	return out
}

func TestAChainDoesWhatItsPartsDo(t *testing.T) {
	c, all := room(t), lines(t)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(all).Draw(t, "a"), rapid.SampledFrom(all).Draw(t, "b")
		joint := rapid.SampledFrom([]string{" && ", " || ", "; ", "\n"}).Draw(t, "joint")
		one, other, both := c.from(t, a), c.from(t, b), c.from(t, a+joint+b)
		if both.Effect != Max(one.Effect, other.Effect) {
			t.Errorf("%q is %s; its parts are %s and %s", a+joint+b, both.Effect, one.Effect, other.Effect)
		}
		if both.Free() != (one.Free() && other.Free()) {
			t.Errorf("%q passes: %v; its parts: %v, %v", a+joint+b, both.Free(), one.Free(), other.Free())
		}
	})
}

func TestARedirectionNeverLowers(t *testing.T) {
	c, all := room(t), lines(t)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(all).Draw(t, "command")
		to := rapid.SampledFrom([]string{" > P", " >> P", " 2>&1", " 2>/dev/null", " < a.txt", " &> P", " >| P", " <> P", " 3> P", " > /dev/tcp/127.0.0.1/9"}).Draw(t, "to")
		plain, redirected := c.from(t, a), c.from(t, a+to)
		if redirected.Effect.Less(plain.Effect) || (redirected.Free() && !plain.Free()) {
			t.Errorf("%q is %s, and %q is %s", a, plain.Effect, a+to, redirected.Effect)
		}
		if strings.Contains(to, "P") && redirected.Free() {
			t.Errorf("%q passes", a+to)
		}
	})
}

// However an argument is quoted and spaced, what is asked stays asked.
func TestQuotesAndSpacesNeverLower(t *testing.T) {
	c, all := room(t), lines(t)
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SampledFrom(all).Draw(t, "command")
		before := c.from(t, a)
		if before.Free() || strings.ContainsAny(a, `'"\$`+"`") {
			return // within quotes a space and a quote mean something else
		}
		fields := strings.Fields(a)
		for i, f := range fields {
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 1:
				fields[i] = "'" + f + "'"
			case 2:
				fields[i] = `"` + f + `"`
			}
			if strings.ContainsAny(f, "|&;<>(){}*?[]!~") {
				fields[i] = f // a sign in quotes is no sign
			}
		}
		quoted := strings.Join(fields, rapid.SampledFrom([]string{" ", "  ", "\t"}).Draw(t, "space"))
		if after := c.from(t, quoted); after.Free() {
			t.Errorf("%q is asked, and %q passes", a, quoted)
		}
	})
}

func TestAnyBytesAreJudged(t *testing.T) {
	c := room(t)
	m := newMixer(t)
	rapid.Check(t, func(t *rapid.T) {
		command := m.mix(rapid.SampledFrom(m.commands).Draw(t, "command"), rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "recipe"))
		c := c
		c.Tool = rapid.SampledFrom([]string{"Bash", "Read", "Edit", "Grep", "Agent", ""}).Draw(t, "tool")
		c.Input = []byte(rapid.SampledFrom([]string{command, `{"command":` + command + `}`, `{"file_path":"` + command + `"}`, "[]", "null", `{"path":1}`, ""}).Draw(t, "input"))
		v := Classify(c)
		if v.Free() && (c.Tool == "Edit" || c.Tool == "") {
			t.Errorf("%s of %q passes", c.Tool, c.Input)
		}
		if strings.HasPrefix(v.Reason, "could not be judged") {
			t.Errorf("%s of %q: %s", c.Tool, c.Input, v.Reason)
		}
	})
}

// from is of for rapid, whose T is no testing.TB.
func (c Call) from(t *rapid.T, command string) Verdict {
	t.Helper()
	raw, err := jsonText(command)
	if err != nil {
		t.Fatal(err)
	}
	c.Input = raw
	return Classify(c)
}
