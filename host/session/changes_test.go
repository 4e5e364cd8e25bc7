package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/kitsoki/host/agent"
)

// A task's result is what it changed, by whatever means, and not what was changed before it.
func TestTaskTellsWhatItChanged(t *testing.T) {
	dir := project(t)
	write(t, dir, ".gitignore", "built/\n")
	write(t, dir, "kept.txt", "one\ntwo\nmine\n") // the operator's own, before the task
	write(t, dir, "draft.txt", "mine\n")
	before := git(t, dir, "status", "--porcelain=v2")
	index, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	s := taskIn(t, dir, func() error {
		write(t, dir, "kept.txt", "one\ntwo\nmine\nits\n")
		write(t, dir, "sub/new.txt", "a\nb\n")
		write(t, dir, "built/big", "ignored")
		return os.Remove(filepath.Join(dir, "gone.txt"))
	})
	res, err := s.Run(context.Background(), Input{Prompt: "go", Verb: agent.Task})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range res.Changed.Files {
		got = append(got, f.Path)
	}
	if strings.Join(got, " ") != "gone.txt kept.txt sub/new.txt" || res.Changed.Truncated {
		t.Errorf("changed are %v", got)
	}
	for _, want := range []string{"+its\n", "-bye\n", "+++ b/sub/new.txt\n", "+a\n"} {
		if !strings.Contains(res.Changed.Text, want) {
			t.Errorf("the diff lacks %q:\n%s", want, res.Changed.Text)
		}
	}
	if strings.Contains(res.Changed.Text, "+mine") || strings.Contains(res.Changed.Text, "draft") {
		t.Errorf("the diff has what was there before:\n%s", res.Changed.Text)
	}
	if e, _ := ended(t, s, 0); e.Text != "changed 3 files: +3 −1" {
		t.Errorf("the end says %q", e.Text)
	}
	now, err := os.ReadFile(filepath.Join(dir, ".git/index"))
	if err != nil || string(now) != string(index) {
		t.Errorf("the repository's index was touched (%v)", err)
	}
	if after := git(t, dir, "status", "--porcelain=v2"); !strings.Contains(before, "kept.txt") || strings.Contains(after, "A ") {
		t.Errorf("something was staged: %s", after)
	}
}

// A task that fails has changed what it has changed; a turn that is no task, and a directory that is no repository,
// are not looked at.
func TestChangesOfOtherTurns(t *testing.T) {
	dir := project(t)
	fails := taskIn(t, dir, func() error {
		write(t, dir, "half.txt", "x\n")
		return errors.New("the agent died")
	})
	res, err := fails.Run(context.Background(), Input{Prompt: "go", Verb: agent.Task})
	if err == nil || len(res.Changed.Files) != 1 {
		t.Errorf("got %+v, %v", res.Changed, err)
	}
	if e, _ := ended(t, fails, 0); e.Text != "the agent died\nchanged half.txt: +1 −0" {
		t.Errorf("the end says %q", e.Text)
	}
	talks := taskIn(t, dir, func() error { write(t, dir, "more.txt", "x\n"); return nil })
	if res, err := talks.Run(context.Background(), Input{Prompt: "go"}); err != nil || res.Changed.Files != nil {
		t.Errorf("got %+v, %v", res.Changed, err)
	}
	bare := t.TempDir()
	lost := taskIn(t, bare, func() error { write(t, bare, "x", "x"); return nil })
	if res, err := lost.Run(context.Background(), Input{Prompt: "go", Verb: agent.Task}); err != nil || res.Changed.Files != nil {
		t.Errorf("got %+v, %v", res.Changed, err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "kitsoki-changes-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("scratch directories are left: %v, %v", left, err)
	}
}

// taskIn is a session in dir whose agent does this.
func taskIn(t *testing.T, dir string, do func() error) *Session {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	s := newTestSession(t, func(context.Context, agent.Request, agent.Observer) (agent.Result, error) {
		return agent.Result{}, do()
	})
	s.opt.Dir = dir
	return s
}
