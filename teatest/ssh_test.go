package teatest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"example.com/kitsoki/teatest/claudecli"
	"example.com/kitsoki/teatest/needs"
)

// Two asks one after the other: the first is answered, the second is open when the operator is lost.
const portThenHost = scenarioHead + `  - ask: {id: port, questions: [{question: Which port?, header: Port, options: [{label: eighty}, {label: ninety}], multiSelect: false}]}
  - on:
      call: port
      answered: [{say: 'It listens on {{answer "port" "Which port?"}}.'}]
      error: [{say: 'no port, {{error "port"}}'}]
  - ask: {id: host, questions: [{question: Which host?, header: Host, options: [{label: here}, {label: there}], multiSelect: false}]}
  - say: That is all.
`

// far is a terminal that the program reaches through something else.
type far struct {
	send   func(keys string)
	see    func(text string) // waits for it
	resize func(w, h int)
	rang   func() bool // the bell has reached the operator's side
	drop   func()      // the way to the program is lost
}

// The sequences by which a terminal that was asked to tells whether the operator looks at it. tmux says that nobody
// does while nobody is attached.
const (
	focusIn  = "\x1b[I"
	focusOut = "\x1b[O"
)

// operate is an operator who answers an ask, looks elsewhere, is rung for the next, resizes, and is lost.
func (f far) operate(t *testing.T, env []string) {
	t.Helper()
	f.see("This is a demo")
	f.send(focusIn)
	quiet() // a report that is read together with keys after it is lost
	f.send("begin it")
	f.see("begin it")
	f.send("\r")
	f.see("1 ( ) eighty")
	quiet()
	if f.rang() {
		t.Error("the bell rang for an operator who was looking")
	}
	f.send("2\r" + focusOut)
	f.see("1 ( ) here")
	if !eventually(f.rang) {
		t.Error("the bell was not heard")
	}
	rule := strings.Repeat("-", 100)
	f.resize(100, 30)
	f.see(rule)

	began := time.Now()
	f.drop()
	checkNobodyLeft(t, env)
	if took := time.Since(began); took > limitOfEnd {
		t.Errorf("what was left ended after %s", took)
	}
	checkNothingLeft(t, env)
	outcomes := checkTrace(t, env)
	for _, r := range traceOf(t, env) {
		if id, _ := r.Data["question_id"].(string); r.Event == "operator.question.asked" {
			want := "answered"
			if strings.Contains(fmt.Sprint(r.Data["questions"]), "Which host?") {
				want = "no_operator"
			}
			if outcomes[id] != want {
				t.Errorf("the ask %v ended as %q, want %s", r.Data["questions"], outcomes[id], want)
			}
		}
		if r.Event == "operator.question.answered" && !strings.Contains(fmt.Sprint(r.Data["answers"]), "ninety") {
			t.Errorf("the answer is %v", r.Data["answers"])
		}
	}
	if len(outcomes) != 2 {
		t.Errorf("%d asks ended, want 2", len(outcomes))
	}
}

func TestInsideTmux(t *testing.T) {
	p, env := demo(t, 80, 24, "--on-hangup", "end", "--scenario", scenarioFile(t, portThenHost))
	far{
		send: p.Type, see: p.WaitFor, resize: p.Resize, rang: p.Rang,
		drop: func() {
			p.CloseSession()
			if code := p.WaitExit(); code != 130 {
				t.Errorf("exit code %d", code)
			}
		},
	}.operate(t, env)
}

func TestOverSSH(t *testing.T) {
	env := claudecli.Env(t, "http://127.0.0.1:9")
	term, s := overSSH(t, env, program(t), "demo", "--on-hangup", "end", "--cwd", t.TempDir(), "--scenario", scenarioFile(t, portThenHost))
	titles := regexp.MustCompile(`\x1b\][^\a]*\a`)
	far{
		send: term.sends,
		see:  term.sees,
		resize: func(w, h int) {
			if err := pty.Setsize(term.ptm, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil { //nolint:gosec // sizes of terminals
				t.Fatal(err)
			}
		},
		rang: func() bool { return strings.Contains(titles.ReplaceAllString(term.output(), ""), "\a") },
		drop: func() {
			signal(t, term.cmd.Process.Pid, unix.SIGKILL)
			term.waitExit()
		},
	}.operate(t, env)
	if !eventually(func() bool { return len(childrenOf(t, s.pid)) == 0 }) {
		t.Errorf("sshd still has the session: %v", childrenOf(t, s.pid))
	}
}

// overSSH runs a program on a terminal at the other end of a connection of ssh.
func overSSH(t *testing.T, env []string, argv ...string) (*terminal, *sshd) {
	t.Helper()
	words := append(append([]string{"exec", "env", "-i"}, env...), argv...)
	for i, w := range words[1:] {
		words[i+1] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	s := startSSHD(t, script(t, "session", "#!/bin/sh\n"+strings.Join(words, " ")+"\n"))
	return openTerminal(t, s.clientEnv, s.client...), s
}

// sends types keys.
func (term *terminal) sends(keys string) {
	term.t.Helper()
	if _, err := term.ptm.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// sees waits for a text among all that was drawn.
func (term *terminal) sees(text string) {
	term.t.Helper()
	if !eventually(func() bool { return strings.Contains(ansi.Strip(term.output()), text) }) {
		term.t.Fatalf("never saw %q in %q", text, term.output())
	}
}

// sshd is a server of the test's own on the loopback. It lets in one key that is made for the test, and runs one
// command.
type sshd struct {
	pid       int
	log       *lockedBuffer
	client    []string // connects, with a terminal
	clientEnv []string
}

func startSSHD(t *testing.T, command string) *sshd {
	t.Helper()
	bin := sshTool(t, "sshd", "openssh-server")
	ssh, keygen := sshTool(t, "ssh", "openssh-client"), sshTool(t, "ssh-keygen", "openssh-client")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	separationDirectory(t)
	dir := t.TempDir()
	for _, name := range []string{"host", "key"} {
		out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", filepath.Join(dir, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	port := freePort(t)
	config := script(t, "sshd_config", fmt.Sprintf(`ListenAddress 127.0.0.1:%d
HostKey %s/host
AuthorizedKeysFile %s/key.pub
AllowUsers %s
ForceCommand %s
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
DisableForwarding yes
PermitUserRC no
PrintMotd no
PrintLastLog no
UseDNS no
PidFile none
`, port, dir, dir, me.Username, command))
	hostKey, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	known := script(t, "known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s", port, hostKey))

	s := &sshd{log: &lockedBuffer{}}
	cmd := exec.Command(bin, "-D", "-e", "-f", config)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.Stderr, cmd.WaitDelay = s.log, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	exited := make(chan struct{})
	go func() { defer close(exited); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM) // an error means that it has ended
		select {
		case <-exited:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-exited
		}
	})
	if !eventually(func() bool { return strings.Contains(s.log.String(), "Server listening on") || over(exited) }) || over(exited) {
		t.Fatalf("sshd does not listen; it said:\n%s", s.log)
	}
	s.clientEnv = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color"}
	s.client = []string{
		ssh, "-tt", "-F", "none", "-i", filepath.Join(dir, "key"), "-p", strconv.Itoa(port), "-l", me.Username, "-e", "none",
		"-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "UserKnownHostsFile=" + known,
		"-o", "GlobalKnownHostsFile=none", "127.0.0.1",
	}
	return s
}

// sshTool finds a program of OpenSSH. Distributions keep the server off the PATH of ordinary users, and it wants to
// be started by its full path.
func sshTool(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath("/usr/sbin/" + name)
	}
	if err != nil {
		needs.Missing(t, "%s is neither on PATH nor in /usr/sbin; install the package %s", name, pkg)
	}
	return path
}

// separationDirectory makes the empty directory that an sshd of root's insists on and a service manager would make,
// where nobody has made it yet.
func separationDirectory(t *testing.T) {
	t.Helper()
	const dir = "/run/sshd"
	if os.Geteuid() != 0 {
		return
	}
	switch err := os.Mkdir(dir, 0o755); { //nolint:gosec // sshd refuses one that only root can read
	case err == nil:
		t.Cleanup(func() { _ = os.Remove(dir) })
	case !errors.Is(err, os.ErrExist):
		t.Fatal(err)
	}
}

// freePort is a port that nobody had a moment ago: sshd takes no listener from others.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("listens on %v", l.Addr())
	}
	return addr.Port
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
