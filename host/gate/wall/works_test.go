package wall_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/kitsoki/host/gate/wall"
	"example.com/kitsoki/teatest/needs"
)

// What an agent that explores does all day goes on as if there were no wall.
func TestWorksBehindTheWall(t *testing.T) {
	for _, level := range []wall.Level{wall.Kernel, wall.Files, wall.Namespace} {
		t.Run(string(level), func(t *testing.T) {
			need(t, level)
			for _, w := range []struct{ name, needs, sh, want string }{
				{"read", "", "cat file", "as it was"},
				{"read elsewhere", "", "head -c 1 /etc/passwd; ls / >/dev/null && echo; echo ok", "ok"},
				{"write in scratch", "", "echo x > $TMPDIR/x && mkdir $TMPDIR/d && mv $TMPDIR/x $TMPDIR/d/y && cat $TMPDIR/d/y && rm -r $TMPDIR/d", "x"},
				{"/dev/null", "", "echo x > /dev/null && : >> /dev/null && echo ok 2>/dev/null", "ok"},
				{"here document and pipe", "", "cat <<E | tr a-z A-Z\nok\nE", "OK"},
				{"mode in scratch (modes)", "", "cd $TMPDIR && echo x > x && chmod 755 x && touch -d 2020-01-01 x && stat -c '%a %Y' x", "755 1577836800"},
				{"mode by a relative name (modes)", "", "cd $TMPDIR && mkdir d && cd d && chmod 711 ../mine && stat -c %a $TMPDIR/mine", "711"},
				{"copy with modes (modes)", "", "cp -a file $TMPDIR/c && stat -c %a $TMPDIR/c", "600"},
				{"run what was written (modes)", "", "printf '#!/bin/sh\necho ran' > $TMPDIR/p && chmod +x $TMPDIR/p && $TMPDIR/p", "ran"},
				{"temporary file", "", "f=$(mktemp) && case $f in $TMPDIR/*) echo ok;; esac", "ok"},
				{"end its own", "", "sleep 60 & kill $! && wait $!; echo $?", "143"},
				{"git status (modes)", "git", "git init -q $TMPDIR/r && cd $TMPDIR/r && echo x > x && git add x && git status --short", "A  x"},
				{"git of the repository", "git", "git status --short", "?? file"},
				{"python", "python3", "python3 -c 'import subprocess,json,socket; print(subprocess.check_output([\"echo\",\"ok\"]).decode()); a,b=socket.socketpair(); a.send(b\"x\")'", "ok"},
				{"python's threads", "python3", "python3 -c 'import threading\nt=threading.Thread(target=lambda: print(\"ok\"));t.start();t.join()'", "ok"},
				{"node", "node", "node -e 'console.log(require(\"child_process\").execSync(\"echo ok\").toString())'", "ok"},
				{"go", "go", "go version", "go version"},
				{"sqlite", "sqlite3", "sqlite3 $TMPDIR/d 'create table t(a); insert into t values(7); select a from t'", "7"},
				{"find and grep", "", "find . -type f | xargs grep -l was", "./file"},
				{"memory of /proc", "", "cat /proc/self/status | grep -c Name; ps >/dev/null && echo ok", "ok"},
			} {
				t.Run(w.name, func(t *testing.T) {
					t.Parallel()
					if level == wall.Files && strings.HasSuffix(w.name, "(modes)") {
						return // modes are held everywhere at this level, in scratch too
					}
					if w.needs != "" {
						if _, err := exec.LookPath(w.needs); err != nil {
							needs.Missing(t, "%s is not installed", w.needs)
						}
					}
					f := newField(t)
					if w.needs == "git" {
						if out, err := exec.Command("git", "-C", f.repo, "init", "-q").CombinedOutput(); err != nil {
							t.Fatalf("git init: %v %s", err, out)
						}
					}
					o := f.behind(t, level, f.spec(), self(t), "agent", "sh", "-c", w.sh)
					if o.run != nil || !strings.Contains(o.out, w.want) || len(o.refused) > 0 {
						t.Errorf("got %+v, want %q", o, w.want)
					}
				})
			}
		})
	}
}

// A process that the agent starts reaches the socket of the spec by every plain name for it, and sees it as any
// other connection.
func TestTheSocketOfTheSpecIsReached(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	for name, attack := range map[string]string{"unix": "", "unix-relative": "", "unix-link": ""} {
		t.Run(name, func(t *testing.T) {
			_ = attack
			f := newField(t)
			spec := f.spec()
			spec.Sockets = []string{f.root + "/outside.sock"}
			if o := f.behind(t, wall.Kernel, spec, self(t), "agent", self(t), "attack", name); o.code != 0 || !reached(f.stream) {
				t.Errorf("it was not reached: %+v", o)
			}
		})
	}
}

// The agent's own process, and only that, opens connections where the spec says so.
func TestTheAgentItselfConnects(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	for _, connects := range []bool{true, false} {
		f := newField(t)
		spec := f.spec()
		spec.AgentConnects = connects
		o := f.behind(t, wall.Kernel, spec, self(t), "attack", "tcp")
		if reached(f.tcp) != connects || (o.code == 0) != connects {
			t.Errorf("agent connects %t: %+v", connects, o)
		}
		if o := f.behind(t, wall.Kernel, spec, self(t), "attack", "udp"); told(f.udp) != connects || (o.code == 0) != connects {
			t.Errorf("agent sends %t: %+v", connects, o)
		}
	}
}

// A name is looked up by the agent itself as without a wall; nobody answers here, but it is sent.
func TestTheAgentItselfLooksUpNames(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	f := newField(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		needs.Missing(t, "python3 is not installed")
	}
	o := f.behind(t, wall.Kernel, f.spec(), python, "-c", `
import socket
print(socket.getaddrinfo("localhost", 80)[0][0].name)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
import os
h, p = os.environ["UDP"].split(":")
s.connect((h, int(p)))
s.send(b"x")
`)
	if o.code != 0 || len(o.refused) > 0 || !told(f.udp) {
		t.Errorf("%+v", o)
	}
}

// Files may be written over, and nothing else; what is below a writable directory is.
func TestSingleFiles(t *testing.T) {
	need(t, wall.Kernel)
	t.Parallel()
	g := newGround(t)
	spec := wall.Spec{Files: []string{g.repo + "/file"}}
	o := g.behind(t, wall.Kernel, spec, "sh", "-c", "echo y > file; chmod 640 file; rm -f file; mv file other; echo x > new")
	if got := content(t, g.repo+"/file"); got != "y\n" || o.run != nil {
		t.Errorf("the file is %q: %+v", got, o)
	}
	if left, err := os.ReadDir(g.repo); err != nil || len(left) != 1 {
		t.Errorf("left %v %v", left, err)
	}
}

func TestNoConnectionBeforeTheSocketIsThere(t *testing.T) {
	g := newGround(t)
	l, err := net.Listen("unix", filepath.Join(g.root, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for name, spec := range map[string]wall.Spec{
		"missing directory": {Writable: []string{g.root + "/none"}}, "a file for a directory": {Writable: []string{g.repo + "/file"}},
		"a directory for a file": {Files: []string{g.repo}}, "a file for a socket": {Sockets: []string{g.repo + "/file"}},
		"a relative name": {Writable: []string{"tmp"}}, "everything": {Writable: []string{"/"}},
	} {
		if w, err := wall.Prepare(spec, wall.Kernel, nil); err == nil {
			t.Errorf("%s: prepared", name)
			_ = w.Close()
		}
	}
}
