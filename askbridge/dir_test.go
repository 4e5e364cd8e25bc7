package askbridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/kitsoki/askbridge"
)

// env is an environment of these variables alone.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// scratch is a directory with a path short enough for sockets, whatever the name of the test.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kt") //nolint:usetesting // t.TempDir is too long a path for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// runtimeDir is a runtime directory of the test's own.
func runtimeDir(t *testing.T) string {
	t.Helper()
	dir, err := askbridge.RuntimeDir(env("XDG_RUNTIME_DIR", scratch(t)))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func newDir(t *testing.T, runtime string) *askbridge.Dir {
	t.Helper()
	dir, err := askbridge.NewDir(runtime)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Remove() })
	return dir
}

func wantMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", filepath.Base(path), info.Mode(), want)
	}
}

// cli-sub-agent#2644, tauri-pilot#31
func TestY1ADispatchIsPrivate(t *testing.T) {
	runtime := runtimeDir(t)
	dir := newDir(t, runtime)
	l, err := askbridge.Listen(dir, &handler{}, askbridge.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	wantMode(t, runtime, os.ModeDir|0o700)
	wantMode(t, dir.Path(), os.ModeDir|0o700)
	wantMode(t, dir.Socket(), os.ModeSocket|0o600)
	wantMode(t, dir.Join("token"), 0o600)
	wantMode(t, dir.Join("lock"), 0o600)
	token, err := os.ReadFile(dir.Join("token"))
	if err != nil || len(token) != 64 || strings.Trim(string(token), "0123456789abcdef") != "" {
		t.Errorf("the token is %q, %v; want 256 random bits", token, err)
	}
	if other := newDir(t, runtime); other.Token() == dir.Token() || other.Path() == dir.Path() {
		t.Error("two dispatches have one token or one directory")
	}
}

// cli-sub-agent#2644, tauri-pilot#31
func TestY1ALongTMPDIRIsPassedOver(t *testing.T) {
	long := filepath.Join(scratch(t), strings.Repeat("x", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := askbridge.RuntimeDir(env("TMPDIR", long))
	if err != nil || !strings.HasPrefix(got, "/tmp/kitsoki-") {
		t.Errorf("TMPDIR of 120 characters gives %q, %v", got, err)
	}
	short := scratch(t)
	got, err = askbridge.RuntimeDir(env("XDG_RUNTIME_DIR", long, "TMPDIR", short))
	if err != nil || filepath.Dir(got) != short {
		t.Errorf("a long XDG_RUNTIME_DIR gives %q, %v; want one in TMPDIR", got, err)
	}
	dir := newDir(t, got)
	l, err := askbridge.Listen(dir, &handler{}, askbridge.ListenOptions{})
	if err != nil {
		t.Fatalf("no socket can be bound there: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheLongestRuntimeDirectoryStillBinds(t *testing.T) {
	base := scratch(t)
	const rest = len("/kitsoki/0123456789ab/ask.sock")
	longest := filepath.Join(base, strings.Repeat("y", 107-rest-len(base)-1))
	for _, c := range []struct {
		path  string
		taken bool
	}{{longest, true}, {longest + "y", false}} {
		if err := os.Mkdir(c.path, 0o700); err != nil {
			t.Fatal(err)
		}
		got, err := askbridge.RuntimeDir(env("XDG_RUNTIME_DIR", c.path, "TMPDIR", base))
		if err != nil || (filepath.Dir(got) == c.path) != c.taken {
			t.Fatalf("a directory of %d bytes gives %q, %v", len(c.path), got, err)
		}
		l, err := askbridge.Listen(newDir(t, got), &handler{}, askbridge.ListenOptions{})
		if err != nil {
			t.Fatalf("no socket can be bound in %q: %v", got, err)
		}
		_ = l.Close()
	}
}

func TestRuntimeDirIsChosen(t *testing.T) {
	xdg, tmp := scratch(t), scratch(t)
	for name, c := range map[string]struct {
		env    func(string) string
		parent string
	}{
		"XDG_RUNTIME_DIR first":         {env("XDG_RUNTIME_DIR", xdg, "TMPDIR", tmp), xdg},
		"TMPDIR without it":             {env("TMPDIR", tmp), tmp},
		"a relative one does not count": {env("XDG_RUNTIME_DIR", "run", "TMPDIR", tmp), tmp},
		"nor does a relative TMPDIR":    {env("TMPDIR", "tmp"), "/tmp"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := askbridge.RuntimeDir(c.env)
			if err != nil || filepath.Dir(got) != c.parent {
				t.Errorf("got %q, %v, want one in %q", got, err, c.parent)
			}
			if again, err := askbridge.RuntimeDir(c.env); again != got || err != nil {
				t.Errorf("the second time %q, %v", again, err)
			}
		})
	}
}

func TestAPlantedRuntimeDirIsNotUsed(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(path string) error
		words string
	}{
		"a symlink to a directory of ours": {func(p string) error { return os.Symlink(scratch(t), p) }, "is not a directory"},
		"a dangling symlink":               {func(p string) error { return os.Symlink("/nowhere", p) }, "is not a directory"},
		"a file":                           {func(p string) error { return os.WriteFile(p, nil, 0o600) }, "is not a directory"},
		"open to the group":                {func(p string) error { return mkdirMode(p, 0o710) }, "chmod 700"},
		"open to all":                      {func(p string) error { return mkdirMode(p, 0o701) }, "chmod 700"},
		"sticky and open to all":           {func(p string) error { return mkdirMode(p, 0o777|os.ModeSticky) }, "chmod 700"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := scratch(t)
			if err := c.plant(filepath.Join(parent, "kitsoki")); err != nil {
				t.Fatal(err)
			}
			got, err := askbridge.RuntimeDir(env("XDG_RUNTIME_DIR", parent))
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %q, %v; want an error that says %q", got, err, c.words)
			}
		})
	}
}

func mkdirMode(path string, mode os.FileMode) error {
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, mode) // past the umask
}

func TestARuntimeDirOfSomebodyElseIsNotUsed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a directory of somebody else")
	}
	parent := scratch(t)
	dir := filepath.Join(parent, "kitsoki")
	if err := mkdirMode(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if got, err := askbridge.RuntimeDir(env("XDG_RUNTIME_DIR", parent)); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("got %q, %v", got, err)
	}
}
