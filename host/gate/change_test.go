package gate

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
)

// before is called when the operator has the proposal before them and has not answered yet.
func (r *rig) permitAfter(before func(), tool string, input any) (message string) {
	r.t.Helper()
	d := r.turn.Permit(r.operator(r.t.Context(), func() string { before(); return "action" }), r.call(tool, input))
	if d.Allow {
		r.t.Errorf("the agent may do it itself: %+v", d)
	}
	return d.Message
}

func nothing() {}

// What an edit or a write does to a file, byte for byte.
func TestChangesAreMadeExactly(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after string // "-": there is no file
		tool          string
		input         func(path string) any
		shown         string // a part of it
	}{
		{"new", "-", "one\ntwo", "Write", func(p string) any { return writes(p, "one\ntwo") }, "+two\n\\ No newline at end of file"},
		{"empty", "-", "", "Write", func(p string) any { return writes(p, "") }, "nothing changes"},
		{"emptied", "one\n", "", "Write", func(p string) any { return writes(p, "") }, "-one"},
		{"the same", "one\n", "one\n", "Write", func(p string) any { return writes(p, "one\n") }, "nothing changes"},
		{"replaced", "one\n", "\x00\x1b[2J\u202e", "Write", func(p string) any { return writes(p, "\x00\x1b[2J\u202e") }, "+\x00\x1b[2J\u202e"},
		{"one of one", "a b c", "a x c", "Edit", func(p string) any { return edits(p, "b", "x") }, "-a b c\n\\ No newline at end of file\n+a x c"},
		{"all of three", "b b\nb", "x x\nx", "Edit", func(p string) any {
			return map[string]any{"file_path": p, "old_string": "b", "new_string": "x", "replace_all": true}
		}, "-b b\n+x x\n-b\n\\ No newline at end of file\n+x\n"},
		{"taken out", "a b c\n", "a c\n", "Edit", func(p string) any { return edits(p, "b ", "") }, "+a c"},
		{"overlapping", "aaa", "ba", "Edit", func(p string) any { return edits(p, "aa", "b") }, "+ba"},
		{"last line without an end", "a\nb", "a\nb\n", "Edit", func(p string) any { return edits(p, "b", "b\n") }, "\\ No newline at end of file"},
		{"lines that end in CR LF", "a\r\nb\r\nc\r\n", "x\r\ny\r\nc\r\n", "Edit", func(p string) any { return edits(p, "a\nb", "x\ny") }, "-a\r\n+x\r\n-b\r\n+y\r\n c\r"},
		{"a CR LF of its own", "a\r\nb\n", "ab\n", "Edit", func(p string) any { return edits(p, "\r\n", "") }, "-a\r\n-b\n+ab"},
		{"mixed ends", "a\r\nb\nc", "a\r\nx\nc", "Edit", func(p string) any { return edits(p, "b\nc", "x\nc") }, "+x"},
		{"made by an edit", "-", "new", "Edit", func(p string) any { return edits(p, "", "new") }, "+new"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if c.before != "-" {
				r.write("f.txt", c.before)
			}
			got := r.permitAfter(nothing, c.tool, c.input("f.txt"))
			if !strings.Contains(got, made) || r.file("f.txt") != c.after || !strings.Contains(r.last().Text, c.shown) || !r.last().Diff {
				t.Errorf("%s\nthe file: %q\nshown: %s", got, r.file("f.txt"), r.last().Text)
			}
		})
	}
}

func TestHalfACharacter(t *testing.T) {
	for raw, half := range map[string]bool{
		`"plain"`: false, `""`: false, `"\ud83d\ude00"`: false, `"\uD83D\uDE00\ud83d\ude00"`: false, `"\ufffd"`: false, `"\\ud800"`: false, `"\\\\ud800"`: false,
		`"\ud800"`: true, `"\udc00"`: true, `"\ude00\ud83d"`: true, `"\ud83d \ude00"`: true, `"\ud83d\ud83d\ude00"`: true, `"\ud83d\n"`: true, `"\\\ud800"`: true, `"a\ud83d"`: true,
	} {
		if got := halfACharacter([]byte(raw)); got != half || !json.Valid([]byte(raw)) {
			t.Errorf("%s: %v", raw, got)
		}
	}
}

func TestATextThatIsNoneIsShownWhole(t *testing.T) {
	r := newRig(t)
	r.write("bin", "\xff\xfe\x00a")
	got := r.permitAfter(nothing, "Edit", edits("bin", "a", "‹b›"))
	if want := "the file is no text: 4 bytes become 10\n\"\\xff\\xfe\\x00‹b›\""; !strings.Contains(got, made) || r.last().Text != want || r.file("bin") != "\xff\xfe\x00‹b›" {
		t.Errorf("%s\nshown: %s\nthe file: %q", got, r.last().Text, r.file("bin"))
	}
}

// What nobody can do nobody is asked for, the agent is told why, and it counts as no denial.
func TestChangesThatCannotBeMade(t *testing.T) {
	long := strings.Repeat("x", largestFile+1)
	for _, c := range []struct {
		name  string
		tool  string
		input any
		want  string
	}{
		{"ambiguous", "Edit", edits("two", "b", "x"), "in the file 2 times; say more of what is around it"},
		{"not there", "Edit", edits("two", "c", "x"), "not in the file; read it again"},
		{"nothing to look for", "Edit", edits("two", "", "x"), "nothing to look for"},
		{"nothing to change", "Edit", edits("two", "b", "b"), "both texts are the same"},
		{"no such file", "Edit", edits("none", "b", "x"), "no such file"},
		{"no new text", "Edit", `{"file_path":"two","old_string":"b"}`, "what to replace by what"},
		{"all, in words", "Edit", `{"file_path":"two","old_string":"b","new_string":"x","replace_all":"yes"}`, "neither true nor false"},
		{"no content", "Write", `{"file_path":"x"}`, "no content"},
		{"no content at all", "Write", `{"file_path":"x","content":null}`, "no content"},
		{"content that is no text", "Write", `{"file_path":"x","content":["a"]}`, "content is no text"},
		{"no file", "Write", `{"content":"x"}`, "names no file"},
		{"empty name", "Write", writes("", "x"), "names no file"},
		{"name that is no text", "Write", `{"file_path":1,"content":"x"}`, "file_path is no text"},
		{"two names", "Write", `{"file_path":"a","file_path":"b","content":"x"}`, `"file_path" twice`},
		{"two contents", "Write", `{"file_path":"a","content":"x","content":"y"}`, `"content" twice`},
		{"a name in other letters", "Write", `{"File_Path":"a","content":"x"}`, "names no file"},
		{"half a character", "Write", `{"file_path":"a","content":"\ud800"}`, "half a character"},
		{"half a character in the name", "Write", `{"file_path":"a\udfff","content":""}`, "half a character"},
		{"no UTF-8", "Write", "{\"file_path\":\"a\",\"content\":\"\xff\"}", "not UTF-8"},
		{"no JSON", "Write", `{"file_path":"a"`, "no JSON object"},
		{"no object", "Write", `["a","b"]`, "no JSON object"},
		{"nothing", "Write", ``, "no JSON object"},
		{"two objects", "Write", `{"file_path":"a","content":"x"}{"file_path":"b","content":"x"}`, "no JSON object"},
		{"NUL in the name", "Write", writes("a\x00b", "x"), "cannot be found"},
		{"a name that is too long", "Write", writes(strings.Repeat("n", 300), "x"), "cannot be found"},
		{"a directory", "Write", writes(".", "x"), "no regular file"},
		{"a pipe", "Write", writes("pipe", "x"), "no regular file"},
		{"a link to a pipe", "Edit", edits("to-pipe", "a", "x"), "no regular file"},
		{"a device", "Write", writes("/dev/null", "x"), "no regular file"},
		{"a link to nothing", "Write", writes("to-nothing", "x"), "a link to nothing"},
		{"below a link to nothing", "Write", writes("to-nothing/x", "x"), "a link to nothing"},
		{"a link to itself", "Write", writes("round", "x"), "cannot be found"},
		{"below a file", "Write", writes("two/x", "x"), "cannot be found"},
		{"a huge file", "Edit", edits("huge", "a", "x"), "up to 4194304 are changed here"},
		{"a command that is none", "Bash", `{"command":["ls"]}`, "command is no text"},
		{"two commands", "Bash", `{"command":"ls","command":"rm -rf x"}`, `"command" twice`},
		{"a command in other letters", "Bash", `{"Command":"rm -rf x"}`, "does not say which command"},
		{"NUL in a command", "Bash", runs("echo a\x00b"), "NUL"},
		{"half a character in a command", "Bash", `{"command":"echo \ud800"}`, "half a character"},
		{"an empty command", "Bash", runs(" "), "does not say which command"},
		{"no command", "Bash", `{}`, "does not say which command"},
		{"a page in no JSON", "WebFetch", `{"url"`, "no JSON object"},
		{"two pages", "WebFetch", `{"url":"a","url":"b"}`, `"url" twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.write("two", "a b\nb\n")
			if strings.Contains(c.name, "huge") {
				r.write("huge", long)
			}
			for link, to := range map[string]string{"to-pipe": "pipe", "to-nothing": "gone", "round": "round"} {
				if err := os.Symlink(to, r.path(link)); err != nil {
					t.Fatal(err)
				}
			}
			if err := unix.Mkfifo(r.path("pipe"), 0o600); err != nil {
				t.Fatal(err)
			}
			got := r.permitAfter(nothing, c.tool, c.input)
			if !strings.Contains(got, c.want) || !strings.Contains(got, "Nothing was changed") || r.asked() != 0 || r.turn.Denials() != 0 {
				t.Errorf("%s; asked %d times", got, r.asked())
			}
			if v := r.verdict(); v.Granted || v.By != "gate" || v.Question != "" {
				t.Errorf("the trace has %+v", v)
			}
			if r.file("two") != "a b\nb\n" || r.file("a") != "-" || r.file("gone") != "-" {
				t.Error("something was changed")
			}
		})
	}
}

// What changes between the proposal and the answer is noticed: the file is as the operator saw it, or it is not touched.
func TestTheDiskChangesWhileTheOperatorReads(t *testing.T) {
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	for _, c := range []struct {
		name   string
		path   string
		change func(r *rig) error
		want   string
	}{
		{"another content", "f", func(r *rig) error { return os.WriteFile(r.path("f"), []byte("b b\n"), 0o600) }, "changed while the operator read"},
		{"gone", "f", func(r *rig) error { return os.Remove(r.path("f")) }, "changed while the operator read"},
		{"a link in its place", "f", func(r *rig) error {
			return firstError(os.Remove(r.path("f")), func() error { return os.Symlink(secret, r.path("f")) })
		}, "too many levels of symbolic links"},
		{"a directory in its place", "f", func(r *rig) error {
			return firstError(os.Remove(r.path("f")), func() error { return os.Mkdir(r.path("f"), 0o700) })
		}, "no regular file"},
		{"a pipe in its place", "f", func(r *rig) error {
			return firstError(os.Remove(r.path("f")), func() error { return unix.Mkfifo(r.path("f"), 0o600) })
		}, "no regular file"},
		{"a link in place of its directory", "d/f", func(r *rig) error {
			return firstError(os.Rename(r.path("d"), r.path("e")), func() error { return os.Symlink(outside, r.path("d")) })
		}, "too many levels of symbolic links"},
		{"the file is new, and there meanwhile", "new", func(r *rig) error { return os.WriteFile(r.path("new"), nil, 0o600) }, "changed while the operator read"},
		{"the file is new, and a link meanwhile", "new", func(r *rig) error { return os.Symlink(secret, r.path("new")) }, "too many levels of symbolic links"},
		{"the file is new, and a link to nothing meanwhile", "new", func(r *rig) error { return os.Symlink(filepath.Join(outside, "made"), r.path("new")) }, "too many levels"},
		{"the directory is new, and a link meanwhile", "x/y/new", func(r *rig) error { return os.Symlink(outside, r.path("x")) }, "too many levels of symbolic links"},
		{"the directory is new, and a file meanwhile", "x/y/new", func(r *rig) error { return os.WriteFile(r.path("x"), nil, 0o600) }, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			if err := os.WriteFile(secret, []byte("a b\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r.write("f", "a b\n")
			r.write("d/f", "a b\n")
			got := r.permitAfter(func() {
				if err := c.change(r); err != nil {
					t.Error(err)
				}
			}, "Write", writes(c.path, "hostile"))
			if !strings.Contains(got, c.want) || !strings.Contains(got, "Nothing was changed") {
				t.Error(got)
			}
			if v := r.verdict(); v.Granted || v.By != "gate" {
				t.Errorf("the trace has %+v", v)
			}
			left, err := os.ReadDir(outside)
			raw, readErr := os.ReadFile(secret)
			if err != nil || readErr != nil || len(left) != 1 || string(raw) != "a b\n" {
				t.Errorf("outside there is %v, with %q; %v", left, raw, err)
			}
		})
	}
}

func firstError(err error, next func() error) error {
	if err != nil {
		return err
	}
	return next()
}

// A link that was there before is followed, and the proposal names where it leads to.
func TestLinksAreFollowedBeforeTheyAreShown(t *testing.T) {
	r := newRig(t)
	r.write("real/f", "a b\n")
	outside := filepath.Join(t.TempDir(), "out")
	for link, to := range map[string]string{"in": "real/f", "dir": "real", "out": outside} {
		if err := os.Symlink(to, r.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(outside, []byte("a b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.permitAfter(nothing, "Edit", edits("in", "b", "c"))
	if p := r.last(); p.Title != "change real/f" || r.file("real/f") != "a c\n" || !holdsLink(r.path("in")) {
		t.Errorf("%q, the file: %q", p.Title, r.file("real/f"))
	}
	r.permitAfter(nothing, "Write", writes("dir/new/deep/g", "x"))
	if p := r.last(); p.Title != "write the new file real/new/deep/g" || r.file("real/new/deep/g") != "x" {
		t.Errorf("%q", p.Title)
	}
	r.permitAfter(nothing, "Edit", edits("out", "b", "c"))
	if p := r.last(); p.Title != "change "+outside || len(r.rows[2]) != 2 || !strings.Contains(p.Reason, "outside of the directory") {
		t.Errorf("%q: %s, with %v", p.Title, p.Reason, r.rows[2])
	}
}

func holdsLink(path string) bool { _, err := os.Readlink(path); return err == nil }

// A file keeps its mode, and a new one gets an ordinary one.
func TestModes(t *testing.T) {
	r := newRig(t)
	r.write("run.sh", "a b\n")
	if err := os.Chmod(r.path("run.sh"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	r.permitAfter(nothing, "Edit", edits("run.sh", "b", "c"))
	r.permitAfter(nothing, "Write", writes("new", "x"))
	for name, want := range map[string]fs.FileMode{"run.sh": 0o755, "new": 0o644} {
		if info, err := os.Stat(r.path(name)); err != nil || info.Mode().Perm()&^0o022 != want&^0o022 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.Chmod(r.path("new"), 0o400); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		t.Log("an administrator writes files that are read-only")
		return
	}
	if got := r.permitAfter(nothing, "Write", writes("new", "y")); !strings.Contains(got, "permission denied") || r.file("new") != "x" {
		t.Error(got)
	}
}

// The scratch directory of a run is its agent's own; a link out of it is none of it.
func TestScratchIsTheAgentsOwn(t *testing.T) {
	r := newRig(t)
	scratch := t.TempDir()
	r.turn.scratch, _ = filepath.EvalSymlinks(scratch)
	if d := r.permit("deny", "Write", writes(filepath.Join(scratch, "notes"), "x")); !d.Allow || r.asked() != 0 {
		t.Errorf("%+v", d)
	}
	if err := os.WriteFile(filepath.Join(scratch, "notes"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if d := r.permit("deny", "Read", map[string]string{"file_path": filepath.Join(scratch, "notes")}); !d.Allow || r.asked() != 0 {
		t.Errorf("%+v", d)
	}
	if err := os.Symlink(r.path("f"), filepath.Join(scratch, "link")); err != nil {
		t.Fatal(err)
	}
	r.write("f", "x")
	if d := r.permit("deny", "Write", writes(filepath.Join(scratch, "link"), "y")); d.Allow || r.asked() != 1 || r.verdict().Effect != host.EffectWrite {
		t.Errorf("%+v", d)
	}
	if d := r.permit("deny", "Write", writes(filepath.Join(scratch, "../g"), "y")); d.Allow || r.asked() != 2 {
		t.Errorf("%+v", d)
	}
}

// What a command printed beyond what a model reads, it may read in pieces; not the transcripts beside it.
func TestTheAgentReadsItsToolsOutput(t *testing.T) {
	r := newRig(t)
	kept, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r.turn.kept = []string{kept}
	for _, name := range []string{"session/tool-results/b1.txt", "session.jsonl", "session/b1.txt", "tool-results/b1.txt"} {
		if err := firstError(os.MkdirAll(filepath.Dir(filepath.Join(kept, name)), 0o700), func() error { return os.WriteFile(filepath.Join(kept, name), nil, 0o600) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../session.jsonl", filepath.Join(kept, "session/tool-results/link")); err != nil {
		t.Fatal(err)
	}
	for name, free := range map[string]bool{
		"session/tool-results/b1.txt": true, "session.jsonl": false, "session/b1.txt": false, "tool-results/b1.txt": false, "session/tool-results/link": false,
		"session/tool-results/../../session.jsonl": false, "session/tool-results/none": false,
	} {
		asked := r.asked()
		d := r.permit("deny", "Read", map[string]string{"file_path": kept + "/" + name})
		if d.Allow != free || (r.asked() == asked) != free {
			t.Errorf("%s: %+v", name, d)
		}
	}
	if d := r.permit("deny", "Write", writes(kept+"/session/tool-results/b1.txt", "x")); d.Allow || strings.Contains(d.Message, made) {
		t.Errorf("%+v", d)
	}
}
