// Package claudecli finds the pinned Claude Code CLI for end-to-end tests and
// builds the environment they run it in: from nothing, so that no setting and
// no credential of the machine takes part.
//
// It imports the standard library, messagesapi (for its fake key) and needs.
// It starts no goroutine and no process.
package claudecli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/kitsoki/teatest/messagesapi"
	"example.com/kitsoki/teatest/needs"
)

// Version is one release of the CLI that package.json pins.
type Version string

// The pinned releases speak different ages of MCP. Current talks to servers without initialize and hides tools
// behind a search unless told otherwise; Older initializes each server.
const (
	Current Version = "2.1.332"
	Older   Version = "2.1.197"
)

// Versions are the pinned releases, newest first.
func Versions() []Version { return []Version{Current, Older} }

const scope = "@anthropic-ai"

// dependency is what package.json calls the release: Current by its own name, others by an alias.
func (v Version) dependency() string {
	if v == Current {
		return scope + "/claude-code"
	}
	return "claude-code-" + strings.ReplaceAll(string(v), ".", "-")
}

// Require is the path of the binary of a pinned release. Without it the test
// is skipped, or fails where nothing may be skipped.
func Require(t testing.TB, v Version) string {
	t.Helper()
	dir, err := packageDir()
	if err != nil {
		t.Fatal(err)
	}
	if path := find(dir, v, runtime.GOOS, runtime.GOARCH); path != "" {
		return path
	}
	needs.Missing(t, "the pinned Claude Code CLI %s is not installed for %s/%s; run `npm ci` in teatest", v, runtime.GOOS, runtime.GOARCH)
	return ""
}

// Env is the whole environment for the CLI, or for a program that starts it:
// scratch directories that end with the test, the scripted API, the fake key.
// Extra entries ("NAME=value") come last and win.
func Env(t testing.TB, apiURL string, extra ...string) []string {
	t.Helper()
	home := t.TempDir()
	runtimeDir, err := os.MkdirTemp("", "krun") //nolint:usetesting // sockets need a short path; that of t.TempDir carries the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtimeDir) })
	env := []string{
		"HOME=" + home,
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local", "state"),
		"XDG_DATA_HOME=" + filepath.Join(home, ".local", "share"),
		"XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
		"XDG_RUNTIME_DIR=" + runtimeDir,
		"PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + apiURL,
		"ANTHROPIC_API_KEY=" + messagesapi.FakeKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
	}
	return append(env, extra...)
}

// packageDir is the folder of the npm package that pins the CLI. Tests run in
// their package's folder, so the module's root is above.
func packageDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the pinned CLI: %w", err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if err == nil {
			return filepath.Join(dir, "teatest"), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the pinned CLI: %w", err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find the pinned CLI: no go.mod above the working directory")
		}
		dir = parent
	}
}

// find is the path of the binary under dir, or "". The package ships one
// binary a platform, those of Linux also in a form for musl; npm puts them
// beside Current and below an alias.
func find(dir string, v Version, goos, goarch string) string {
	arch := goarch
	if arch == "amd64" {
		arch = "x64"
	}
	modules := filepath.Join(dir, "node_modules")
	if v != Current {
		modules = filepath.Join(modules, v.dependency(), "node_modules")
	}
	for _, libc := range []string{"", "-musl"} {
		path := filepath.Join(modules, scope, "claude-code-"+goos+"-"+arch+libc, "claude")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o100 != 0 {
			return path
		}
	}
	return ""
}

// Pinned is the release that package.json names for v.
func Pinned(t testing.TB, v Version) string {
	t.Helper()
	dir, err := packageDir()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatalf("package.json: %v", err)
	}
	pin := manifest.Dependencies[v.dependency()]
	return pin[strings.LastIndexByte(pin, '@')+1:]
}
