package teatest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// family lists the processes that were started in an environment, by its home directory, which each test has for
// itself: kitsoki, the agent, the grandchild, and whatever they start. Those that have ended are not in it.
func family(env []string) []int {
	home := []byte("HOME=" + lookup(env, "HOME") + "\x00")
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err)
	}
	var pids []int
	for _, dir := range entries {
		raw, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(append(raw, 0), home) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// member waits for the one process of an environment whose arguments hold a word, and returns its id.
func member(t *testing.T, env []string, word string) int {
	t.Helper()
	found := 0
	if !eventually(func() bool {
		var hits []int
		for _, pid := range family(env) {
			if slices.Contains(arguments(pid), word) {
				hits = append(hits, pid)
			}
		}
		if len(hits) == 1 {
			found = hits[0]
		}
		return found != 0
	}) {
		t.Fatalf("no process with the word %q among %v", word, family(env))
	}
	return found
}

func arguments(pid int) []string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it has none when it is gone
	return strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
}

// checkNobodyLeft checks that no process of an environment is left, within a bounded wait.
func checkNobodyLeft(t *testing.T, env []string) {
	t.Helper()
	if !eventually(func() bool { return len(family(env)) == 0 }) {
		for _, pid := range family(env) {
			t.Errorf("process %d is left: %q", pid, arguments(pid))
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// signal sends a signal to a process of the test's. It refuses what is no single process.
func signal(t *testing.T, pid int, sig unix.Signal) {
	t.Helper()
	if pid <= 1 {
		t.Fatalf("no process %d", pid)
	}
	if err := unix.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// descriptors counts what the test itself has open.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
