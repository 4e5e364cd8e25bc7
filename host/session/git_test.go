package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// noGitSettings keeps the machine's own git settings out of a test.
func noGitSettings(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// project is a repository with one commit, in a directory whose siblings are nobody else's.
func project(t *testing.T) string {
	t.Helper()
	noGitSettings(t)
	dir := filepath.Join(t.TempDir(), "project")
	write(t, dir, "kept.txt", "one\ntwo\n")
	write(t, dir, "gone.txt", "bye\n")
	write(t, dir, "sub/inner.txt", "deep\n")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "first")
	return dir
}

func diffOf(t *testing.T, dir string) Diff {
	t.Helper()
	d, err := WorkingDiff(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWorkingDiff(t *testing.T) {
	dir := project(t)
	if d := diffOf(t, dir); d.Text != "" || len(d.Files) != 0 || d.Truncated {
		t.Errorf("nothing changed, and the diff is %+v", d)
	}
	write(t, dir, "kept.txt", "one\n\t2\nthree\n")
	write(t, dir, "staged.txt", "bye\n") // what gone.txt was: a rename, for who looks for one
	git(t, dir, "add", "staged.txt")
	write(t, dir, "new.txt", "hello\nworld")
	write(t, dir, "picture", "\x00\x01")
	write(t, dir, "long.txt", strings.Repeat("long\n", 10_000))
	write(t, dir, "sub/inner.txt", "deeper\n")
	write(t, dir, ".gitignore", "ignored\n")
	write(t, dir, "ignored", "x")
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "run.sh", "#!\n")
	write(t, dir, "same.txt", "same\n")
	git(t, dir, "add", "run.sh", "same.txt")
	git(t, dir, "commit", "-q", "-m", "second", "run.sh", "same.txt")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Git would note down in the index that this one is still the same.
	if err := os.Chtimes(filepath.Join(dir, "same.txt"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	d := diffOf(t, dir)
	want := []FileStat{
		{Path: "gone.txt", Deleted: 1},
		{Path: "kept.txt", Added: 2, Deleted: 1},
		{Path: "run.sh"},
		{Path: "staged.txt", Added: 1, New: true},
		{Path: "sub/inner.txt", Added: 1, Deleted: 1},
		{Path: ".gitignore", Added: 1, New: true},
		{Path: "long.txt", New: true},
		{Path: "new.txt", Added: 2, New: true},
		{Path: "picture", New: true},
	}
	if !slices.Equal(d.Files, want) {
		t.Errorf("files\n%+v\nwant\n%+v", d.Files, want)
	}
	for _, line := range []string{"-bye", "-two", "+    2", "+three", "+bye", "+hello", "+world", "diff --git a/new.txt b/new.txt"} {
		if !slices.Contains(strings.Split(d.Text, "\n"), line) {
			t.Errorf("the diff has no line %q:\n%s", line, d.Text)
		}
	}
	if strings.Contains(d.Text, "same.txt") || !strings.Contains(d.Text, "run.sh b/run.sh\nold mode 100644\nnew mode 100755\n") {
		t.Errorf("a file that was touched, or one with another mode:\n%s", d.Text)
	}
	if strings.Contains(d.Text, "+long") || d.Truncated {
		t.Error("a long new file is shown, or something was cut")
	}
	if after, err := os.ReadFile(filepath.Join(dir, ".git/index")); err != nil || !bytes.Equal(index, after) {
		t.Errorf("looking changed the index (%v)", err)
	}

	in := diffOf(t, filepath.Join(dir, "sub"))
	if want := []FileStat{{Path: "inner.txt", Added: 1, Deleted: 1}}; !slices.Equal(in.Files, want) {
		t.Errorf("in the subdirectory: %+v", in.Files)
	}
	if !strings.Contains(in.Text, "+deeper") || strings.Contains(in.Text, "three") {
		t.Errorf("in the subdirectory:\n%s", in.Text)
	}
}

func TestWorkingDiffWithoutACommit(t *testing.T) {
	noGitSettings(t)
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, dir, "a", "1\n")
	write(t, dir, "b", "2\n")
	git(t, dir, "add", "a")
	d := diffOf(t, dir)
	if want := []FileStat{{Path: "a", Added: 1, New: true}, {Path: "b", Added: 1, New: true}}; !slices.Equal(d.Files, want) {
		t.Errorf("files %+v", d.Files)
	}
	if !strings.Contains(d.Text, "+1") || !strings.Contains(d.Text, "+2") {
		t.Errorf("text\n%s", d.Text)
	}
}

func TestWithoutARepository(t *testing.T) {
	noGitSettings(t)
	dir := t.TempDir()
	if _, err := WorkingDiff(context.Background(), dir); !errors.Is(err, ErrNoRepository) {
		t.Errorf("WorkingDiff: %v", err)
	}
	if _, err := WorkingDiff(context.Background(), filepath.Join(dir, "none")); err == nil {
		t.Error("no error for a directory that is not there")
	}
	if _, _, err := AddWorktree(context.Background(), dir, "x"); !errors.Is(err, ErrNoRepository) {
		t.Errorf("AddWorktree: %v", err)
	}
	if b := Branch(context.Background(), dir); b != "" {
		t.Errorf("branch %q", b)
	}
}

// Whoever may write files in a repository must not get a program run by our looking at it.
func TestWorkingDiffRunsNothing(t *testing.T) {
	dir := project(t)
	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\necho \"$0 $*\" >>"+ran+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"core.fsmonitor": evil, "core.pager": evil, "pager.diff": evil, "diff.external": evil,
		"diff.d.command": evil, "diff.d.textconv": evil,
		"filter.f.clean": evil, "filter.f.smudge": evil, "filter.f.required": "true",
		"filter.g=h.clean": evil, "filter.g=h.process": evil, "filter.g=h.required": "true",
		"color.ui": "always", "diff.noprefix": "true", "diff.submodule": "log",
	} {
		git(t, dir, "config", key, value)
	}
	if err := os.Symlink(evil, filepath.Join(dir, ".git/hooks/post-index-change")); err != nil {
		t.Fatal(err)
	}
	// A repository in the repository has a configuration of its own.
	nested, ranNested := filepath.Join(dir, "nested"), filepath.Join(t.TempDir(), "ran")
	write(t, nested, "x", "1\n")
	git(t, nested, "init", "-q")
	git(t, nested, "add", ".")
	git(t, nested, "commit", "-q", "-m", "nested")
	git(t, dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "add", "nested")
	git(t, nested, "config", "filter.n.clean", "touch "+ranNested)
	write(t, nested, ".git/info/attributes", "* filter=n\n")
	write(t, nested, "x", "2\n")
	write(t, dir, ".gitattributes", "kept.txt diff=d filter=f\nsub/* filter=g=h\ngone.txt diff=d\n")
	write(t, dir, "kept.txt", "1\n2\n3\n")
	write(t, dir, "gone.txt", "again\n")
	write(t, dir, "sub/inner.txt", "deeper\n")
	t.Setenv("GIT_EXTERNAL_DIFF", evil)
	t.Setenv("GIT_PAGER", evil)
	d := diffOf(t, dir)
	if !strings.Contains(d.Text, "\n+3\n") || !strings.Contains(d.Text, "\n+deeper\n") || !strings.Contains(d.Text, "a/kept.txt") {
		t.Errorf("the diff is\n%s", d.Text)
	}
	Branch(context.Background(), dir)
	if what, err := os.ReadFile(ran); err == nil {
		t.Errorf("these ran:\n%s", what)
	}
	if _, err := os.Stat(ranNested); err == nil {
		t.Error("the filter of the repository in the repository ran")
	}
	// The test can fail: git alone runs them. What fails there does not speak the protocol of its place.
	for _, args := range [][]string{{"diff", "HEAD"}, {"-c", "core.fsmonitor=false", "diff", "--no-ext-diff", "HEAD", "--", "nested"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		_ = cmd.Run()
	}
	for _, trap := range []string{ran, ranNested} {
		if _, err := os.Stat(trap); err != nil {
			t.Errorf("a trap does not work: %v", err)
		}
	}
}

// In a partial clone git fetches what it misses, by a program that the remote's address can name.
func TestWorkingDiffFetchesNothing(t *testing.T) {
	dir := project(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, c := range [][2]string{
		{"core.repositoryFormatVersion", "1"}, {"extensions.partialClone", "origin"}, {"remote.origin.promisor", "true"},
		{"remote.origin.url", "ext::touch " + ran}, {"protocol.ext.allow", "always"}, {"protocol.allow", "always"},
	} {
		git(t, dir, "config", c[0], c[1])
	}
	blob := git(t, dir, "rev-parse", "HEAD:kept.txt")
	if err := os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "kept.txt", "changed\n")
	if _, err := WorkingDiff(context.Background(), dir); err == nil {
		t.Error("the diff has no error, and half of it is missing")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the remote's program ran")
	}
	cmd := exec.Command("git", "diff", "HEAD")
	cmd.Dir = dir
	_ = cmd.Run() // it cannot fetch
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("the trap does not work: %v", err)
	}
}

func TestWorkingDiffIgnoresTheEnvironmentsRepository(t *testing.T) {
	dir := project(t)
	other := t.TempDir()
	git(t, other, "init", "-q", "-b", "other")
	write(t, dir, "kept.txt", "changed\n")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_WORK_TREE", other)
	if d := diffOf(t, dir); len(d.Files) != 1 || !strings.Contains(d.Text, "+changed") {
		t.Errorf("%+v", d)
	}
	if b := Branch(context.Background(), dir); b != "main" {
		t.Errorf("branch %q", b)
	}
}

func TestWorkingDiffWithHostileNames(t *testing.T) {
	dir := project(t)
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, filepath.Dir(secret), "secret", "do not show\n")
	names := []string{"esc\x1b[2Jx", "line\nend", "tab\tin", ":colon", "-rf", "rtl\u202etxt", "latin\xe9", " ", "quo\"te", "café"}
	for i, name := range names {
		write(t, dir, name, "x\n\x1b[31mred\u202e\n")
		if i%2 == 0 {
			git(t, dir, "add", "--", "./"+name)
		}
	}
	if err := os.Symlink(secret, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(dir, "dirlink")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".git/config", filepath.Join(dir, "inlink")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := diffOf(t, dir)
	for _, name := range names {
		if !slices.ContainsFunc(d.Files, func(f FileStat) bool { return f.Path == askbridge.Safe(name) && f.New && f.Added == 2 }) {
			t.Errorf("%q is not in %+v", name, d.Files)
		}
	}
	wantSafe(t, d)
	if strings.Contains(d.Text, "do not show") || strings.Contains(d.Text, "[core]") {
		t.Error("a link was followed")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range []string{"fifo", "link", "inlink", "dirlink/secret", ".", "none"} {
		if text, ok := smallText(root, name); ok {
			t.Errorf("%s reads %q", name, text)
		}
	}
}

// wantSafe fails when a text could be no result of SafeText.
func wantSafe(t *testing.T, d Diff) {
	t.Helper()
	texts := strings.Split(d.Text, "\n")
	for _, f := range d.Files {
		texts = append(texts, f.Path)
	}
	for _, text := range texts {
		if _, err := askbridge.Unsafe(text); err != nil {
			t.Errorf("%v: %q", err, text)
		}
	}
}

func TestWorkingDiffIsBounded(t *testing.T) {
	dir := project(t)
	write(t, dir, "kept.txt", strings.Repeat("a line of some length\n", 30_000))
	write(t, dir, "gone.txt", strings.Repeat("w", 100_000)+"\n")
	for i := range diffFiles + 20 {
		write(t, dir, fmt.Sprintf("many/%d", i), strings.Repeat("\x01", 500)+"\n")
	}
	d := diffOf(t, dir)
	if !d.Truncated || len(d.Text) > diffText || len(d.Text) < diffText/2 || len(d.Files) != diffFiles {
		t.Errorf("truncated %v, %d bytes, %d files", d.Truncated, len(d.Text), len(d.Files))
	}
	if !strings.HasSuffix(d.Text, "\n") {
		t.Error("not cut at a line")
	}
	for line := range strings.Lines(d.Text) {
		if n := len([]rune(line)); n > 8*diffLine { // a control character takes eight
			t.Errorf("a line of %d runes", n)
		}
	}
	git(t, dir, "checkout", "-q", "kept.txt")
	if d := diffOf(t, dir); !d.Truncated || len(d.Text) > diffText || !strings.Contains(d.Text, "‹U+0001›") {
		t.Errorf("new files alone: truncated %v, %d bytes", d.Truncated, len(d.Text))
	}
}

func TestGitIsGivenUpOn(t *testing.T) {
	dir := project(t)
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nsleep 60 & wait\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := WorkingDiff(ctx, dir); !errors.Is(err, ErrGitSlow) {
		t.Errorf("err %v", err)
	}
	if took := time.Since(began); took > gitLook {
		t.Errorf("it took %v", took)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if _, err := WorkingDiff(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("err %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := WorkingDiff(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "install it") {
		t.Errorf("err %v", err)
	}
}

func TestBranch(t *testing.T) {
	dir := project(t)
	if b := Branch(context.Background(), filepath.Join(dir, "sub")); b != "main" {
		t.Errorf("branch %q", b)
	}
	hash := git(t, dir, "rev-parse", "--short", "HEAD")
	git(t, dir, "checkout", "-q", "--detach")
	if b := Branch(context.Background(), dir); b != hash {
		t.Errorf("detached: %q, want %q", b, hash)
	}
	empty := t.TempDir()
	git(t, empty, "init", "-q", "-b", "first\u202e")
	if b := Branch(context.Background(), empty); b != "first‹U+202E›" {
		t.Errorf("without a commit: %q", b)
	}
}

func TestAddWorktree(t *testing.T) {
	dir := project(t)
	ran := filepath.Join(t.TempDir(), "ran")
	git(t, dir, "config", "filter.f.smudge", "touch "+ran)
	write(t, dir, ".git/info/attributes", "* filter=f\n")
	write(t, dir, ".git/hooks/post-checkout", "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(dir, ".git/hooks/post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	path, branch, err := AddWorktree(context.Background(), filepath.Join(dir, "sub"), "docs")
	if err != nil {
		t.Fatal(err)
	}
	if path != dir+".docs" || branch != "kitsoki/docs" || Branch(context.Background(), path) != branch {
		t.Errorf("path %s, branch %s", path, branch)
	}
	if text, err := os.ReadFile(filepath.Join(path, "kept.txt")); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("the file there: %q, %v", text, err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a hook or a filter ran")
	}
	// From within the new one, the next is still called after the repository.
	if path, _, err := AddWorktree(context.Background(), path, "more"); err != nil || path != dir+".more" {
		t.Errorf("path %s, %v", path, err)
	}
}

func TestAddWorktreeRefuses(t *testing.T) {
	dir := project(t)
	git(t, dir, "branch", "kitsoki/taken")
	if err := os.Mkdir(dir+".there", 0o755); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	git(t, empty, "init", "-q")
	for _, c := range []struct{ dir, name, want string }{
		{dir, "taken", "the branch kitsoki/taken is there already"},
		{dir, "there", "is there already"},
		{empty, "x", "no commit yet"},
		{dir, "", "is no name"},
		{dir, "../x", "is no name"},
		{dir, "-x", "is no name"},
		{dir, "a..b", "is no name"},
		{dir, "a.lock", "is no name"},
		{dir, "a\x1b", "is no name"},
	} {
		_, _, err := AddWorktree(context.Background(), c.dir, c.name)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%q: %v, want %q", c.name, err, c.want)
		}
	}
	if all := git(t, dir, "branch", "--list", "kitsoki/*"); all != "kitsoki/taken" {
		t.Errorf("branches: %s", all)
	}
}

func TestAFailedWorktreeLeavesNoBranch(t *testing.T) {
	dir := project(t)
	blob := git(t, dir, "rev-parse", "HEAD:kept.txt")
	if err := os.Remove(filepath.Join(dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if _, _, err := AddWorktree(context.Background(), dir, "broken"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("err %v", err)
	}
	if all := git(t, dir, "branch", "--list", "kitsoki/*"); all != "" {
		t.Errorf("left behind: branch %s", all)
	}
	if _, err := os.Lstat(dir + ".broken"); err == nil {
		t.Error("left behind: the directory")
	}
}
