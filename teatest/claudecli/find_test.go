package claudecli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindTakesTheBinaryOfThePlatform(t *testing.T) {
	dir := t.TempDir()
	put := func(pkg string, mode os.FileMode) string {
		path := filepath.Join(dir, "node_modules", pkg, "claude")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got := find(dir, Current, "linux", "amd64"); got != "" {
		t.Errorf("found %s in an empty folder", got)
	}
	musl := put(scope+"/claude-code-linux-x64-musl", 0o755)
	if got := find(dir, Current, "linux", "amd64"); got != musl {
		t.Errorf("found %q, want the one for musl", got)
	}
	glibc := put(scope+"/claude-code-linux-x64", 0o755)
	if got := find(dir, Current, "linux", "amd64"); got != glibc {
		t.Errorf("found %q, want %q", got, glibc)
	}
	put(scope+"/claude-code-darwin-arm64", 0o644)
	if got := find(dir, Current, "darwin", "arm64"); got != "" {
		t.Errorf("found %s, which cannot be run", got)
	}
	if got := find(dir, Older, "linux", "amd64"); got != "" {
		t.Errorf("found %s for a release that is not there", got)
	}
	older := put("claude-code-2-1-197/node_modules/"+scope+"/claude-code-linux-x64", 0o755)
	if got := find(dir, Older, "linux", "amd64"); got != older {
		t.Errorf("found %q, want %q", got, older)
	}
}
