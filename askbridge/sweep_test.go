package askbridge_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/kitsoki/askbridge"
)

// killedHost starts another process that makes a dispatch's directory, and returns the directory and what kills
// the process without a chance to tidy up.
func killedHost(t *testing.T, runtime string) (dir string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+runtime)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = stdin.Close()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the other process made no directory: %v", err)
	}
	return strings.TrimSpace(line), kill
}

func sweep(t *testing.T, runtime string, want int) {
	t.Helper()
	if n, err := askbridge.Sweep(runtime); n != want || err != nil {
		t.Errorf("swept %d, %v; want %d", n, err, want)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// claude-code#33947, oh-my-pi#8596, gh-aw#25103
func TestY2SweepRemovesWhatAKilledHostLeft(t *testing.T) {
	runtime := runtimeDir(t)
	mine := newDir(t, runtime)
	theirs, kill := killedHost(t, runtime)
	sweep(t, runtime, 0)
	if !exists(theirs) || !exists(mine.Path()) {
		t.Fatal("a directory in use was swept")
	}
	kill()
	sweep(t, runtime, 1)
	if exists(theirs) || !exists(mine.Path()) {
		t.Errorf("after the kill: theirs %t, mine %t; want only mine", exists(theirs), exists(mine.Path()))
	}
	sweep(t, runtime, 0)
	if err := mine.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(runtime); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A process can be killed at any step of making a directory, and of removing one.
func TestSweepRemovesWhatWasHalfMade(t *testing.T) {
	runtime := runtimeDir(t)
	bare, torn := filepath.Join(runtime, "0123456789ab"), filepath.Join(runtime, "ba9876543210")
	for _, dir := range []string{bare, torn} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(torn, "token"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	sweep(t, runtime, 2)
	if exists(bare) || exists(torn) {
		t.Error("they are still there")
	}
}

func TestSweepLeavesWhatIsNoDispatch(t *testing.T) {
	runtime := runtimeDir(t)
	outside := scratch(t)
	keep := []string{"control", "0123456789AB", "0123456789abc", "0123456789a"}
	for _, name := range keep {
		if err := os.Mkdir(filepath.Join(runtime, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{
		filepath.Join(runtime, "control", "lock"), filepath.Join(runtime, "a.sock"), filepath.Join(runtime, "aaaaaaaaaaaa"),
		filepath.Join(outside, "lock"),
	} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(runtime, "bbbbbbbbbbbb")); err != nil {
		t.Fatal(err)
	}
	sweep(t, runtime, 0)
	for _, name := range append(keep, "control/lock", "a.sock", "aaaaaaaaaaaa", "bbbbbbbbbbbb/lock") {
		if !exists(filepath.Join(runtime, name)) {
			t.Errorf("%s was swept", name)
		}
	}
}

func TestSweepOfNoDirectoryIsAnError(t *testing.T) {
	if n, err := askbridge.Sweep(filepath.Join(scratch(t), "none")); n != 0 || err == nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if _, err := askbridge.NewDir(filepath.Join(scratch(t), "none")); err == nil {
		t.Error("a dispatch has a directory in no directory")
	}
}

func TestSweepingWhileDispatchesComeAndGo(t *testing.T) {
	runtime := runtimeDir(t)
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 25 {
				dir, err := askbridge.NewDir(runtime)
				if err != nil {
					t.Error(err)
					return
				}
				sweep(t, runtime, 0)
				if !exists(dir.Join("token")) {
					t.Error("a directory in use was swept")
				}
				if err := dir.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
}

func TestRemoveTwice(t *testing.T) {
	dir := newDir(t, runtimeDir(t))
	for range 2 {
		if err := dir.Remove(); err != nil {
			t.Error(err)
		}
	}
	if exists(dir.Path()) {
		t.Error("it is still there")
	}
}
