package signals

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/kitsoki/host"
)

func notice() AskNotice {
	opened := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return NoticeOf(host.AskInfo{
		ID: "q1", SessionID: "s1", Asker: host.Asker{Agent: "claude", Path: []string{"tests"}, Dir: "/work"},
		Opened: opened, Deadline: opened.Add(5 * time.Minute),
		Questions: []host.OperatorQuestion{
			{Question: "Which <port>?", Options: []host.OperatorOption{{Label: "80"}, {Label: "8080"}}},
			{Question: "And what else?", Header: "Rest", MultiSelect: true},
		},
	})
}

const noticeJSON = `{"id":"q1","session":"s1","agent":"claude","path":["tests"],"dir":"/work","header":"Rest",` +
	`"questions":[{"question":"Which <port>?","options":["80","8080"],"multi_select":false},` +
	`{"question":"And what else?","options":[],"multi_select":true}],` +
	`"opened":"2026-03-01T12:00:00Z","deadline":"2026-03-01T12:05:00Z"}` + "\n"

func shell(script string, args ...string) OnAsk {
	return OnAsk{Argv: append([]string{"sh", "-c", script, "sh"}, args...)}
}

func TestProgramGetsTheAsk(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	o := shell(`cat >"$1"; printf %s "$WORD" >>"$1"`, out)
	o.Env = []string{"WORD=hello"}
	if err := o.Run(t.Context(), notice()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil || string(got) != noticeJSON+"hello" {
		t.Errorf("got  %s (%v)\nwant %s", got, err, noticeJSON)
	}
	var back AskNotice
	if err := json.Unmarshal([]byte(noticeJSON), &back); err != nil || !reflect.DeepEqual(back, notice()) {
		t.Errorf("it reads back as %+v, %v", back, err)
	}
}

func TestEmptyListsAreNotNull(t *testing.T) {
	got, err := json.Marshal(NoticeOf(host.AskInfo{}))
	if err != nil || strings.Contains(string(got), "null") {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestProgramThatNeverReads(t *testing.T) {
	long := notice()
	long.Dir = strings.Repeat("x", 1<<20) // more than a pipe holds
	if err := (OnAsk{Argv: []string{"true"}}).Run(t.Context(), long); err != nil {
		t.Error(err)
	}
}

func TestNoProgram(t *testing.T) {
	if err := (OnAsk{}).Run(t.Context(), notice()); err != nil {
		t.Error(err)
	}
}

func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		o    OnAsk
		want string
	}{
		"an exit code":     {OnAsk{Argv: []string{"false"}}, "on_ask: false failed: exit status 1"},
		"a shell's words":  {OnAsk{Argv: []string{"sh", "-c", "echo 'no \033[31mluck' >&2; exit 3"}}, "on_ask: echo 'no ‹ESC›[31mluck' >&2, exit 3 failed: exit status 3: no ‹ESC›[31mluck"},
		"no such program":  {OnAsk{Argv: []string{"kitsoki-no-such"}}, `on_ask: kitsoki-no-such failed: exec: "kitsoki-no-such": executable file not found in $PATH`},
		"much on stderr":   {shell(`yes | head -c 100000 | tr -d '\n' >&2; exit 1`), "on_ask: sh failed: exit status 1: " + strings.Repeat("y", 200)},
		"output is nobody": {shell(`echo words; echo more; exit 1`), "on_ask: sh failed: exit status 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.o.Run(t.Context(), notice()); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// The program has a session and a group of its own, and cannot find the terminal by any way.
func TestProgramHasNoTerminal(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	err := shell(`if (exec 3<>/dev/tty) 2>/dev/null; then echo tty >"$1"; exit; fi
		out=$(readlink /proc/$$/fd/1); cut -d' ' -f1,5,6,7 /proc/$$/stat >"$1"; echo "$out" >>"$1"`, out).Run(t.Context(), notice())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	f := strings.Fields(string(text))
	if err != nil || len(f) != 5 || f[0] != f[1] || f[0] != f[2] || f[3] != "0" || f[4] != os.DevNull {
		t.Errorf("pid, group, session, terminal, output are %q, %v", text, err)
	}
}

func TestProgramIsStopped(t *testing.T) {
	deaf := `trap "" TERM; sleep 300 & echo $! >"$1"; echo deaf >&2; wait; wait; sleep 300`
	for name, c := range map[string]struct {
		script string
		run    func(o OnAsk, ctx context.Context, file string) error
		want   string
	}{
		"at its bound": {`sleep 300 & echo $! >"$1"; echo slow >&2; wait`, func(o OnAsk, ctx context.Context, _ string) error {
			return o.within(ctx, 300*time.Millisecond, notice())
		}, "on_ask: sh did not end within 300ms and was stopped: slow"},
		"though it is deaf": {deaf, func(o OnAsk, ctx context.Context, _ string) error {
			return o.within(ctx, 300*time.Millisecond, notice())
		}, "on_ask: sh did not end within 300ms and was stopped: deaf"},
		"when nobody wants it any more": {`sleep 300 & echo $! >"$1"; wait`, func(o OnAsk, ctx context.Context, file string) error {
			ctx, cancel := context.WithCancelCause(ctx)
			done := make(chan struct{})
			go func() { defer close(done); pidIn(file); cancel(errors.New("the program ends")) }()
			defer func() { <-done }()
			return o.Run(ctx, notice())
		}, "on_ask: sh was stopped: the program ends"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			start := time.Now()
			err := c.run(shell(c.script, file), t.Context(), file)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			wantGone(t, pidIn(file))
		})
	}
}

// What the program leaves behind ends with it.
func TestLeftBehindIsEnded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	if err := shell(`sleep 300 & echo $! >"$1"`, file).Run(t.Context(), notice()); err != nil {
		t.Error(err)
	}
	wantGone(t, pidIn(file))
}

// pidIn waits for a whole number in a file, 10 seconds at the longest; 0 when there is none.
func pidIn(file string) int {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		text, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSuffix(string(text), "\n")); err == nil && strings.HasSuffix(string(text), "\n") {
			return pid
		}
		<-tick.C
	}
	return 0
}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	if pid == 0 {
		t.Fatal("there was no process")
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 400 {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if syscall.Kill(pid, 0) != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		<-tick.C
	}
	t.Errorf("process %d is still there", pid)
}
