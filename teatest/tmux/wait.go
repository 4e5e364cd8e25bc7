package tmux

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// WaitFor waits until the screen contains text.
func (p *Pane) WaitFor(text string) {
	p.t.Helper()
	p.WaitUntil(fmt.Sprintf("%q on the screen", text), func(s string) bool { return strings.Contains(s, text) })
}

// WaitMatch waits until the screen matches, and gives the match and its groups.
func (p *Pane) WaitMatch(re *regexp.Regexp) []string {
	p.t.Helper()
	var found []string
	p.WaitUntil(fmt.Sprintf("/%s/ on the screen", re), func(s string) bool {
		found = re.FindStringSubmatch(s)
		return found != nil
	})
	return found
}

// WaitGone waits until the screen no longer contains text.
func (p *Pane) WaitGone(text string) {
	p.t.Helper()
	p.WaitUntil(fmt.Sprintf("%q to leave the screen", text), func(s string) bool { return !strings.Contains(s, text) })
}

// WaitUntil waits until ok holds for the screen. It ends the test, showing the
// last screen, when the limit passes or the program has ended without it. What
// completes "waited for".
func (p *Pane) WaitUntil(what string, ok func(screen string) bool) {
	p.t.Helper()
	var end time.Time
	p.poll(func(last bool) bool {
		code, ended := p.Exited()
		if ended && end.IsZero() {
			end = time.Now()
		}
		screen := p.Screen()
		switch {
		case ok(screen):
			return true
		case ended && time.Since(end) > drainLimit:
			p.t.Fatalf("tmux: waited for %s, but the program ended with %d\n%s", what, code, frame(screen))
		case last:
			p.t.Fatalf("tmux: waited %v for %s\n%s", p.Limit, what, frame(screen))
		}
		return false
	})
}

// WaitExit waits until the program has ended and gives its exit code as Exited
// does.
func (p *Pane) WaitExit() int {
	p.t.Helper()
	code := 0
	p.poll(func(last bool) bool {
		c, ended := p.Exited()
		if !ended && last {
			screen := "(the terminal is closed)"
			if !p.lost {
				screen = p.Screen()
			}
			p.t.Fatalf("tmux: waited %v for the program to end\n%s", p.Limit, frame(screen))
		}
		code = c
		return ended
	})
	return code
}

// poll calls check until it holds; last tells it that the limit has passed and
// nobody will ask again.
func (p *Pane) poll(check func(last bool) bool) {
	p.t.Helper()
	pollUntil(p.Limit, check)
}

func pollUntil(limit time.Duration, check func(last bool) bool) {
	end := time.Now().Add(limit)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		last := !time.Now().Before(end)
		if check(last) || last {
			return
		}
		<-tick.C
	}
}

// close ends the server, and with it the terminal. A program that does not end
// then is killed, and fails the test.
func (p *Pane) close() {
	if _, err := os.Stat(p.sock()); err == nil && !p.lost {
		if _, err := p.run("", "kill-server"); err != nil {
			p.t.Errorf("tmux: %v", err)
		}
	}
	if _, ended := p.Exited(); p.pid == 0 || ended {
		return
	}
	pollUntil(killLimit, func(last bool) bool {
		if !alive(p.pid) {
			return true
		}
		if last {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
			p.t.Errorf("tmux: the program outlived its terminal by %v and was killed", killLimit)
		}
		return false
	})
}

// alive is false for a process that ended, also where nobody has reaped it.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err)
	}
	// The state follows the command's name, which may hold anything.
	rest := stat[strings.LastIndexByte(string(stat), ')')+1:]
	return !strings.HasPrefix(strings.TrimSpace(string(rest)), "Z")
}

func frame(screen string) string {
	rule := strings.Repeat("-", 40)
	return rule + "\n" + strings.TrimRight(screen, "\n") + "\n" + rule
}
