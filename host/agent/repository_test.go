package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// put writes a file, and the directories above it.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skipf("no git here: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestRootOfARepository(t *testing.T) {
	top := realTemp(t)
	main, linked := filepath.Join(top, "main"), filepath.Join(top, "linked")
	put(t, filepath.Join(main, "sub", "f"), "")
	git(t, main, "init", "-q")
	git(t, main, "commit", "-q", "--allow-empty", "-m", "first")
	git(t, main, "worktree", "add", "-q", linked)
	put(t, filepath.Join(linked, "sub", "f"), "")
	// These claim to be worktrees of main, which does not know of them.
	own := filepath.Join(main, ".git", "worktrees", "linked")
	for name, gitdir := range map[string]string{
		"claims the linked one": own, "claims one that there is not": filepath.Join(main, ".git", "worktrees", "x"),
		"claims with files of its own": filepath.Join(top, "forged", "worktrees", "w"), "a submodule": "../main/.git/modules/m",
		"nothing": "", "a file": "/dev/null",
	} {
		put(t, filepath.Join(top, name, ".git"), "gitdir: "+gitdir+"\n")
	}
	forged := filepath.Join(top, "forged", "worktrees", "w")
	put(t, filepath.Join(forged, "gitdir"), filepath.Join(top, "claims with files of its own", ".git"))
	put(t, filepath.Join(forged, "commondir"), filepath.Join(main, ".git"))
	put(t, filepath.Join(top, "odd", ".git"), "what is this")
	for dir, want := range map[string]string{
		"main": "main", "main/sub": "main", "linked": "main", "linked/sub": "main", ".": "",
		"claims the linked one": "claims the linked one", "claims one that there is not": "claims one that there is not",
		"claims with files of its own": "claims with files of its own", "a submodule": "a submodule", "nothing": "nothing", "odd": "odd", "a file": "a file",
	} {
		if want != "" {
			want = filepath.Join(top, want)
		}
		if got := repository(filepath.Join(top, dir)); got != want && (want != "" || len(got) >= len(top)) {
			t.Errorf("%s belongs to %q, want %q", dir, got, want)
		}
	}
}

func TestConfigurationsOfGitThatNamePrograms(t *testing.T) {
	for config, want := range map[string]bool{
		"": false,
		"[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/y\n\tfetch = +refs/*\n[branch \"command\"]\n\tmerge = x\n": false,
		"[core]\n\tfsmonitor = true\n":                           false,
		"[core]\n\tfsmonitor = touch x\n":                        true,
		"[core] FSMonitor=x":                                     true,
		"[diff]\r\n\texternal = x\r\n":                           true,
		"[diff \"d\"]\n\ttextConv = x\n":                         true,
		"[filter \"f\"]\n\tclean=x\n":                            true,
		"[core]\n\tsshcommand = x\n":                             true,
		"[include]\n\tpath = x\n":                                true,
		"[core][includeIf \"gitdir:/\"] path = x":                true,
		"# fsmonitor = x\n[user]\n\tname = the command = line\n": false,
	} {
		if got := namesPrograms(config); got != want {
			t.Errorf("%q: %v", config, got)
		}
	}
}

// Wherever git finds its configuration, it is looked at.
func TestGitsConfigurationIsFound(t *testing.T) {
	const hostile = "[core]\n\tfsmonitor = x\n"
	for name, files := range map[string]map[string]string{
		"of the directory":    {".git/config": hostile},
		"of a worktree":       {".git": "gitdir: ../x/.git/worktrees/w", "../x/.git/worktrees/w/commondir": "../..\n", "../x/.git/config": hostile},
		"of a worktree alone": {".git": "gitdir: ../x/.git/worktrees/w", "../x/.git/worktrees/w/commondir": "../..\n", "../x/.git/worktrees/w/config.worktree": hostile},
		"of a submodule":      {".git": "gitdir: ../.git/modules/m", "../.git/modules/m/config": hostile},
		"above":               {"../.git/config": hostile},
		"bare":                {"HEAD": "", "objects/x": "", "refs/x": "", "config": hostile},
		"a hook":              {".git/hooks/post-index-change": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(realTemp(t), "dir")
			put(t, filepath.Join(dir, "a"), "")
			if gitRunsPrograms(dir) {
				t.Fatal("without a repository")
			}
			for path, text := range files {
				put(t, filepath.Join(dir, path), text)
			}
			if !gitRunsPrograms(dir) {
				t.Error("it was not found")
			}
		})
	}
	plain := filepath.Join(realTemp(t), "plain")
	put(t, filepath.Join(plain, "a"), "")
	git(t, plain, "init", "-q")
	git(t, plain, "commit", "-q", "--allow-empty", "-m", "first")
	git(t, plain, "worktree", "add", "-q", plain+"-linked")
	for _, dir := range []string{plain, plain + "-linked"} {
		if gitRunsPrograms(dir) {
			t.Errorf("git is not plain in %s", dir)
		}
	}
}

// The operator's own settings of git in the environment stay.
func TestGitRunsNoMonitorAndNoHook(t *testing.T) {
	dir := filepath.Join(realTemp(t), "dir")
	put(t, filepath.Join(dir, "a"), "")
	git(t, dir, "init", "-q")
	git(t, dir, "config", "core.fsmonitor", "touch monitor; false")
	put(t, filepath.Join(dir, ".git", "hooks", "post-index-change"), "#!/bin/sh\ntouch hook\n")
	if err := os.Chmod(filepath.Join(dir, ".git", "hooks", "post-index-change"), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	own := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=me"}
	for _, env := range [][]string{nil, withoutGitsPrograms(own)} {
		name := map[bool]string{true: "as it is", false: "guarded"}[env == nil]
		put(t, filepath.Join(dir, "a"), name)
		for _, args := range [][]string{{"add", "a"}, {"status"}, {"config", "user.name"}} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir, cmd.Env = dir, append(append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, own...), env...)
			if out, err := cmd.CombinedOutput(); err != nil || args[0] == "config" && string(out) != "me\n" {
				t.Errorf("%s: %v: %s, %v", name, args, out, err)
			}
		}
		for _, file := range []string{"monitor", "hook"} {
			if err := os.Remove(filepath.Join(dir, file)); (err == nil) != (env == nil) {
				t.Errorf("%s: %s: %v", name, file, err)
			}
		}
	}
}
