package classify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// nobody runs the commands where the tests run as root, so that whatever gets through harms nothing.
const nobody = 65534

// template is a directory that is made once and copied for each command: work is a repository, beside it are outside,
// home and tmp.
type template struct {
	root string
	path string // PATH of the commands
}

func newTemplate(tb testing.TB) *template {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("no git here: nothing is run; install it")
	}
	root, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	reachable(tb, root)
	tp := &template{root: root, path: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	for _, name := range []string{"go", "node", "rg", "fd", "fdfind", "tree"} {
		if at, err := exec.LookPath(name); err == nil && !strings.Contains(tp.path+":", filepath.Dir(at)+":") {
			tp.path += ":" + filepath.Dir(at)
		}
	}
	for _, dir := range []string{"work", "outside", "home", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	give(tb, root)
	s := &sandbox{root: root, path: tp.path}
	out, err := s.run(context.Background(), `
		git init -q --template= -b main . && git config user.name A && git config user.email a@example.com
		mkdir src empty; echo first > a.txt; echo other > b.txt; seq 300 > big.txt
		printf 'package main\n\nfunc main() {}\n' > src/main.go; echo '{"name":"x","list":[1,2]}' > a.json
		printf 'module example.com/m\n\ngo 1.21\n' > go.mod
		printf '#!/bin/sh\ntouch "%s/P" 2>/dev/null || touch P\n' . > script.sh; chmod +x script.sh
		git add . && git commit -qm first && git tag v1 && git branch side && echo more >> a.txt && git commit -qam second
		git checkout -q side && echo side > c.txt && git add c.txt && git commit -qm side && git checkout -q main
		git remote add origin ../outside/origin; echo third >> a.txt; git commit -qam third; echo changed >> b.txt`)
	if err != nil {
		tb.Fatalf("the template could not be made: %v\n%s", err, out)
	}
	return tp
}

// reachable lets another user into the test's own directories.
func reachable(tb testing.TB, dir string) {
	for at := dir; strings.HasPrefix(at, os.TempDir()+"/"); at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o711); err != nil {
			tb.Fatal(err)
		}
	}
}

func give(tb testing.TB, root string) {
	if os.Getuid() != 0 {
		return
	}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// sandbox is a copy of the template for one command.
type sandbox struct {
	root, path string
	port       string
}

func (tp *template) sandbox(tb testing.TB) *sandbox {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	reachable(tb, dir)
	root := filepath.Join(dir, "s")
	if out, err := exec.Command("cp", "-a", tp.root, root).CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return &sandbox{root: root, path: tp.path}
}

func (s *sandbox) dir() string { return filepath.Join(s.root, "work") }

// fill puts the directory and the port into a command.
func (s *sandbox) fill(command string) string {
	return strings.NewReplacer("@OUT@", filepath.Join(s.root, "outside"), "@PORT@", s.port).Replace(command)
}

// run runs a command as an agent would, with nothing of this process' environment. It is given up on with the context.
func (s *sandbox) run(ctx context.Context, command string, env ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir = s.dir()
	cmd.Env = append([]string{
		"PATH=" + s.path, "HOME=" + filepath.Join(s.root, "home"), "TMPDIR=" + filepath.Join(s.root, "tmp"), "LC_ALL=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z", "TERM=dumb",
	}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// hash is of every name, kind, mode, content and time of change below the sandbox.
func (s *sandbox) hash(tb testing.TB) string {
	tb.Helper()
	h := sha256.New()
	err := filepath.WalkDir(s.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(h, path, info.Mode(), info.ModTime().UnixNano())
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			_, _ = fmt.Fprintln(h, target)
			return err
		case info.Mode().IsRegular():
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			_, err = io.Copy(h, f)
			return errors.Join(err, f.Close())
		}
		return nil
	})
	if err != nil {
		return "changing: " + err.Error()
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// judge classifies a Bash command as it would be run in the sandbox.
func (s *sandbox) judge(tb testing.TB, command string) Verdict {
	tb.Helper()
	return Classify(Call{Tool: "Bash", Input: bashInput(tb, command), Dir: s.dir(), Home: filepath.Join(s.root, "home")})
}

func bashInput(tb testing.TB, command string) json.RawMessage {
	tb.Helper()
	raw, err := jsonText(command)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func jsonText(command string) (json.RawMessage, error) {
	return json.Marshal(map[string]string{"command": command})
}

// listener counts connections and answers none.
func listener(tb testing.TB) (port string, count *atomic.Int64) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	count = &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			count.Add(1)
			_ = c.Close()
		}
	}()
	tb.Cleanup(func() { _ = l.Close(); <-done })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port, count
}

// missing returns the first program that is not here.
func (tp *template) missing(names []string) string {
	for _, name := range names {
		found := false
		for dir := range strings.SplitSeq(tp.path, ":") {
			info, err := os.Stat(filepath.Join(dir, name))
			found = found || err == nil && info.Mode()&0o111 != 0
		}
		if !found {
			return name
		}
	}
	return ""
}
