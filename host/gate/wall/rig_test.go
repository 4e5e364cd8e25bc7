package wall_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.com/kitsoki/host/gate/wall"
)

// This test binary plays the parts of the processes: the launcher, the agent, which starts a command and waits for
// it, and the commands of the attacks.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "inner" {
		fmt.Fprintln(os.Stderr, inner())
		os.Exit(1)
	}
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case wall.Subcommand:
			// On another thread than the first, as it may happen to anyone: what belongs to a thread must not be lost.
			runtime.LockOSThread()
			failed := make(chan error)
			go func() { failed <- wall.Launch(os.Args[2], os.Args[3:], os.Environ()) }()
			fmt.Fprintln(os.Stderr, <-failed)
			os.Exit(3)
		case "agent":
			cmd := exec.Command(os.Args[2], os.Args[3:]...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			_ = cmd.Run()
			os.Exit(cmd.ProcessState.ExitCode())
		case "host":
			fmt.Fprintln(os.Stderr, hosting(os.Args[2]))
			os.Exit(1)
		case "attack":
			if err := attack(os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	goleak.VerifyTestMain(m)
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// ground is what a trial is about: a repository and a home that are not to be changed, and a scratch directory
// that may be.
type ground struct {
	root, repo, home, tmp string
	env                   []string
}

func newGround(t testing.TB) ground {
	t.Helper()
	root, err := os.MkdirTemp("", "wall") //nolint:usetesting // sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	g := ground{root: root, repo: root + "/repo", home: root + "/home", tmp: root + "/tmp"}
	for _, dir := range []string{g.repo, g.home, g.tmp, g.home + "/.claude"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{g.repo + "/file": "as it was\n", g.home + "/.bashrc": "# mine\n", g.home + "/.claude/settings.json": "{}\n", g.tmp + "/mine": "mine\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "TMPDIR=" + g.tmp, "ROOT=" + root, "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1",
		"GORACE=atexit_sleep_ms=0", // else every process of this binary ends a second later, when it looks for races
	}
	return g
}

func (g ground) spec() wall.Spec {
	return wall.Spec{Writable: []string{g.tmp}, AgentConnects: true}
}

// outcome is how a command behind a wall ended.
type outcome struct {
	out     string
	code    int
	refused []wall.Refusal
	run     error // of Wall.Run
}

// behind runs a command as the agent itself, behind a wall of the level, in the repository.
func (g ground) behind(t testing.TB, level wall.Level, spec wall.Spec, argv ...string) outcome {
	t.Helper()
	var mu sync.Mutex
	var o outcome
	w, err := wall.Prepare(spec, level, func(r wall.Refusal) {
		mu.Lock()
		defer mu.Unlock()
		o.refused = append(o.refused, r)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path, args, files := w.Wrap([]string{self(t)}, argv[0], argv[1:])
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles, cmd.WaitDelay = g.repo, g.env, files, 5*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.Attr(cmd.SysProcAttr)
	supervised := make(chan error, 1)
	go func() { supervised <- w.Run(ctx) }()
	out, err := combined(cmd, files)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	o.run = <-supervised
	mu.Lock()
	defer mu.Unlock()
	o.out, o.code = out, cmd.ProcessState.ExitCode()
	return o
}

// combined runs a command and closes its files after the start, as Wrap wants it.
func combined(cmd *exec.Cmd, files []*os.File) (string, error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Start()
	for _, f := range files {
		_ = f.Close()
	}
	if err != nil {
		return "", err
	}
	err = cmd.Wait()
	return out.String(), err
}

// need skips where the machine cannot build the level.
func need(t testing.TB, level wall.Level) {
	t.Helper()
	if s := wall.Probe(); !slices.Contains(s.Levels(), level) {
		t.Skipf("this machine cannot build a wall of level %s: %s", level, s.Why)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
