package trace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
)

func TestWholeSessionIsKeptAndHolds(t *testing.T) {
	path := storedTrace(t, story("s1")...)
	if r := mustHold(t, path); r.State != Closed || r.Events != 13 {
		t.Errorf("%+v", r)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v (%v)", p, info.Mode().Perm(), want, err)
		}
	}
}

func TestConcurrentRecordsAreDense(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f := NewFile(path, Options{})
	write(t, f, story("s1")[:2]...)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				if err := f.Record(context.Background(), AgentTool{SessionID: "s1", Turn: 1, ToolUseID: fmt.Sprint(g, i), Tool: "Read"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	closeFile(t, f)
	if r := mustHold(t, path); r.Events != 802 {
		t.Errorf("%d events", r.Events)
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	now := time.Unix(1000, 0)
	path := filepath.Join(t.TempDir(), FileName)
	f := NewFile(path, Options{Now: func() time.Time { now = now.Add(-time.Second); return now }})
	write(t, f, story("s1")...)
	closeFile(t, f)
	mustHold(t, path)
}

func TestContinuedTraceGoesOnInItsSequence(t *testing.T) {
	for name, test := range map[string]struct {
		damage func([]byte) []byte
		want   []string // after the events that stayed
	}{
		"closed":        {func(b []byte) []byte { return b }, []string{"session.opened"}},
		"torn":          {func(b []byte) []byte { return append(b, `{"seq":14,"ti`...) }, []string{"trace.repaired", "session.opened"}},
		"zeros":         {func(b []byte) []byte { return append(b, "\x00\x00\x00\x00"...) }, []string{"trace.repaired", "session.opened"}},
		"zeros, ended":  {func(b []byte) []byte { return append(b, "\x00\x00\x00\n"...) }, []string{"trace.repaired", "session.opened"}},
		"torn header":   {func(b []byte) []byte { return b[:20] }, []string{"trace.repaired", "session.opened"}},
		"only a header": {func(b []byte) []byte { return b[:bytes.IndexByte(b, '\n')+1] }, []string{"session.opened"}},
		"empty":         {func([]byte) []byte { return nil }, []string{"session.opened"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := storedTrace(t, story("s1")...)
			raw, _ := os.ReadFile(path)
			if err := os.WriteFile(path, test.damage(raw), 0o644); err != nil {
				t.Fatal(err)
			}
			f := NewFile(path, Options{})
			write(t, f, story("s1")[0])
			closeFile(t, f)
			recs := readAll(t, path)
			if got := names(recs[len(recs)-len(test.want):]); !slices.Equal(got, test.want) {
				t.Errorf("got %v", got)
			}
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v", info.Mode().Perm())
			}
			mustHold(t, path)
		})
	}
}

func TestOnlyOneProcessWritesATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f := NewFile(path, Options{})
	write(t, f, story("s1")[0])
	if !Live(path) {
		t.Error("not live while it is written")
	}
	second := NewFile(path, Options{})
	if err := second.Record(context.Background(), story("s1")[0]); err == nil || !strings.Contains(err.Error(), "another kitsoki") {
		t.Errorf("a second writer got %v", err)
	}
	closeFile(t, f)
	if Live(path) {
		t.Error("live after its end")
	}
	if err := f.Record(context.Background(), story("s1")[0]); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestForeignFileIsNotTouched(t *testing.T) {
	dir := t.TempDir()
	foreign, empty, link, link2 := filepath.Join(dir, "diary"), filepath.Join(dir, "empty"), filepath.Join(dir, FileName), filepath.Join(dir, "2")
	if err := os.WriteFile(foreign, []byte("dear diary\nnothing happened"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(foreign, link); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), os.Symlink(empty, link2)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{foreign, link, link2} {
		if err := NewFile(path, Options{}).Record(context.Background(), story("s1")[0]); err == nil {
			t.Errorf("%s was written to", path)
		}
	}
	if raw, _ := os.ReadFile(foreign); string(raw) != "dear diary\nnothing happened" {
		t.Errorf("now it says %q", raw)
	}
	if raw, _ := os.ReadFile(empty); len(raw) > 0 {
		t.Errorf("a link was followed: %q", raw)
	}
}

// The directory cannot be made at first; what is lost until then is counted in the trace.
func TestUnwritablePlaceIsTriedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s1")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := NewFile(filepath.Join(dir, FileName), Options{})
	events := story("s1")
	for _, e := range events[:4] {
		if f.Record(context.Background(), e) == nil {
			t.Fatal("recorded into a file that is in the way")
		}
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	write(t, f, events[4:]...)
	closeFile(t, f)
	gap, err := readAll(t, f.Path())[0].Decode()
	if g, ok := gap.(Gap); err != nil || !ok || g.Lost != 4 || g.SessionID != "s1" || g.Error == "" {
		t.Errorf("got %+v, %v", gap, err)
	}
	if r := mustHold(t, f.Path()); r.Lost != 4 {
		t.Errorf("%+v", r)
	}
}

// A 64 KiB disk fills, and gets room again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("a small tmpfs cannot be mounted here (%v); the limit on file size is tested beside this", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 40<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	fillAndRecover(t, filepath.Join(dir, FileName), func() {
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	})
}

// The kernel refuses to let the file grow, until it may again.
func TestFileSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"TRACE_TEST_WRITER=limited", "TRACE_TEST_PATH=" + path}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	afterTheGap(t, path)
}

func writeUnderLimit(path string) int {
	limit := func(n uint64) {
		_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: 1 << 30})
	}
	limit(10_001)
	defer limit(1 << 30)
	return fill(path, func() { limit(1 << 30) })
}

func fillAndRecover(t *testing.T, path string, room func()) {
	t.Helper()
	if code := fill(path, room); code != 0 {
		t.Fatalf("fill ended with %d", code)
	}
	afterTheGap(t, path)
}

// fill records until events are refused, ten of them, makes room, and records the rest.
func fill(path string, room func()) int {
	f := NewFile(path, Options{})
	events := story("s1")
	for _, e := range events[:3] {
		if f.Record(context.Background(), e) != nil {
			return 3
		}
	}
	refused := 0
	for i := 0; refused < 10; i++ {
		if i > 10_000 {
			return 4
		}
		if f.Record(context.Background(), AgentTool{SessionID: "s1", Turn: 1, Tool: strings.Repeat("x", 700+i%7*100)}) != nil {
			refused++
		}
	}
	room()
	for _, e := range events[3:] {
		if err := f.Record(context.Background(), e); err != nil {
			fmt.Println(err)
			return 5
		}
	}
	if f.Close() != nil {
		return 6
	}
	return 0
}

func afterTheGap(t *testing.T, path string) {
	t.Helper()
	r := mustHold(t, path)
	if r.Lost < 1 || r.Torn != 0 || r.State != Closed {
		t.Errorf("%+v", r)
	}
	var lost uint64
	for _, rec := range readAll(t, path) {
		e, _ := rec.Decode() // only a gap is looked at
		if gap, ok := e.(Gap); ok {
			lost += gap.Lost
		}
	}
	if lost != 10 {
		t.Errorf("the gaps tell of %d lost events, and 10 were refused", lost)
	}
}

func TestCloseTellsOfWhatIsMissingAtTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s1")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := NewFile(filepath.Join(dir, FileName), Options{})
	_ = f.Record(context.Background(), story("s1")[0])
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), "1 events are missing") {
		t.Errorf("got %v", err)
	}
}

// Whatever the moment of kill -9, what was recorded before is there, and the next process goes on.
func TestKilledWriter(t *testing.T) {
	for range 8 {
		path := filepath.Join(t.TempDir(), FileName)
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"TRACE_TEST_WRITER=endless", "TRACE_TEST_PATH=" + path}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		if !Live(path) {
			t.Error("the writer lives and the trace is not live")
		}
		time.Sleep(rand.N(20 * time.Millisecond)) //nolint:forbidigo // the random moment, not a synchronisation
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if r := mustHold(t, path); r.State != Killed || r.Killed != 1 {
			t.Errorf("%+v", r)
		}
		f := NewFile(path, Options{})
		write(t, f, story("s1")...)
		closeFile(t, f)
		if r := mustHold(t, path); r.State != Closed || r.Killed != 1 {
			t.Errorf("%+v", r)
		}
	}
}

func TestHashedTextsStillProveTheAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	f := NewFile(path, Options{Text: TextHash})
	write(t, f, story("s1")...)
	closeFile(t, f)
	mustHold(t, path)
	raw, _ := os.ReadFile(path)
	for _, text := range []string{"start the service", "Which", "Database", "SQLite", "for now", "not now", "was read as"} {
		if bytes.Contains(raw, []byte(text)) {
			t.Errorf("%q is in the trace", text)
		}
	}
	for _, kept := range []string{"scripted", "Bash", "declined", "terminal", "/project", "host_closing"} {
		if !bytes.Contains(raw, []byte(kept)) {
			t.Errorf("%q is not in the trace", kept)
		}
	}
	if _, err := ParseText("half"); err == nil {
		t.Error("half was understood")
	}
}

type newEvent struct {
	SessionID string `json:"session_id"`
	Thoughts  string `json:"thoughts"`
}

func (newEvent) Name() string      { return "story.thought" }
func (e newEvent) Session() string { return e.SessionID }

func TestTextsOfNewEventsAreHashedToo(t *testing.T) {
	data, err := Options{Text: TextHash}.Data(newEvent{SessionID: "s1", Thoughts: "hm"})
	if err != nil || strings.Contains(string(data), "hm") || !strings.Contains(string(data), "s1") {
		t.Errorf("%s, %v", data, err)
	}
}

var _ host.Event = newEvent{}
