package transcript

import (
	"fmt"
	"strings"
	"testing"

	"example.com/kitsoki/host/session"
)

func called(key, tool, text string) session.Event {
	return session.Event{Kind: session.Tool, Key: key, Tool: tool, Text: text}
}

func done(key string) session.Event { return session.Event{Kind: session.ToolDone, Key: key} }

func said(text string) session.Event {
	return session.Event{Kind: session.Said, Key: text, Text: text}
}

func TestToolsShowWhatBecameOfThem(t *testing.T) {
	m := newLog(40, called("1", "Read", "main.go"), called("2", "Bash", "go test"), done("1"),
		session.Event{Kind: session.ToolDone, Key: "2", Failed: true, Text: "exit 1"})
	want := "* Read main.go                        ok\n* Bash go test · failed: exit 1"
	if got := text(m, 20); got != want {
		t.Errorf("got\n%s", got)
	}
	if len(m.running) > 0 {
		t.Errorf("%d are still waited for", len(m.running))
	}
}

func TestRunsOfCallsFold(t *testing.T) {
	run := []session.Event{
		called("1", "Bash", "go vet"), called("2", "Read", "a.go"), called("3", "Read", "b.go"), called("4", "Bash", "go test"), called("5", "Read", "c.go"),
		{Kind: session.ToolDone, Key: "1", Failed: true, Text: "exit 1"},
	}
	m := newLog(60, run...)
	if got, want := text(m, 20), "* 2 tool calls: Bash 1, Read 1 · 1 failed: Bash go vet\n* Read b.go\n* Bash go test\n* Read c.go"; got != want {
		t.Errorf("the newest run is\n%s", got)
	}
	m.Add(said("so"))
	if got, want := text(m, 20), "* 5 tool calls: Read 3, Bash 2 · 1 failed: Bash go vet\n  so"; got != want {
		t.Errorf("folded it is\n%s", got)
	}
	m.Add(session.Event{Kind: session.ToolDone, Key: "4", Failed: true, Text: "exit 2"})
	if got := text(m, 20); !strings.Contains(got, "· 2 failed: Bash go vet, Bas…") {
		t.Errorf("a late failure is not in\n%s", got)
	}
	m.ToggleFold()
	if got, want := text(m, 20), "* Bash go vet · failed: exit 1\n* Read a.go\n* Read b.go\n* Bash go test · failed: exit 2\n* Read c.go\n  so"; got != want {
		t.Errorf("unfolded it is\n%s", got)
	}
	m.ToggleFold()
	m.Resize(30)
	if got := text(m, 20); !strings.HasPrefix(got, "* 5 tool calls:… · 2 failed: …\n") {
		t.Errorf("narrow it is\n%s", got)
	}
}

func TestASingleCallIsNotFolded(t *testing.T) {
	m := newLog(60, called("1", "Read", "a.go"), said("so"), called("2", "Read", "b.go"), called("3", "Read", "c.go"), called("4", "Read", "d.go"), called("5", "Bash", "ls"))
	if got, want := text(m, 20), "* Read a.go\n  so\n\n* Read b.go\n* Read c.go\n* Read d.go\n* Bash ls"; got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestCallsOfASubAgentNameIt(t *testing.T) {
	of := func(path string) []session.Event {
		a, b := called("1", "Read", "a.go"), called("2", "Read", "b.go")
		a.Path, b.Path = []string{"tests"}, []string{path}
		return []session.Event{a, b, said("so")}
	}
	if got := text(newLog(60, of("tests")...), 20); !strings.HasPrefix(got, "* tests › 2 tool calls: Read 2") {
		t.Errorf("got\n%s", got)
	}
	if got := text(newLog(60, of("docs")...), 20); !strings.HasPrefix(got, "* 2 tool calls: Read 2") {
		t.Errorf("of two it is\n%s", got)
	}
}

func TestFoldingKeepsTheWindow(t *testing.T) {
	m := newLog(40)
	for i := range 40 {
		m.Add(said(fmt.Sprint("line ", i)))
	}
	m.Scroll(20, 6)
	read := text(m, 6)
	for i := range 9 {
		m.Add(called(fmt.Sprint(i), "Read", "a.go"))
		m.View(6)
	}
	m.Add(said("so"))
	if got := text(m, 6); got != read || m.Up() != 23 {
		t.Errorf("%d up it is\n%s\nnot\n%s", m.Up(), got, read)
	}
	m.ToggleFold()
	if got := text(m, 6); got != read || m.Up() != 31 {
		t.Errorf("unfolded, %d up, it is\n%s", m.Up(), got)
	}
	m.Scroll(10, 6)
	read = text(m, 6)
	m.Add(session.Event{Kind: session.ToolDone, Key: "3", Failed: true})
	m.ToggleFold()
	if got := text(m, 6); got != read {
		t.Errorf("folded again it is\n%s", got)
	}
}

func TestFoldingAboveTheWindowDoesNotMoveIt(t *testing.T) {
	m := newLog(40, called("1", "Read", "a.go"), called("2", "Read", "b.go"), called("3", "Read", "c.go"))
	for i := range 20 {
		m.Add(said(fmt.Sprint("line ", i)))
	}
	for _, up := range []int{0, 4} {
		m.Scroll(up, 6)
		read := text(m, 6)
		m.ToggleFold()
		if got := text(m, 6); got != read || m.Up() != up {
			t.Errorf("from %d up it goes to %d:\n%s", up, m.Up(), got)
		}
	}
}

// BenchmarkCalls is 100,000 tool calls in runs of a few, with a frame every 50.
func BenchmarkCalls(b *testing.B) {
	for b.Loop() {
		m := newLogIn(colours(), 80)
		for i := range 100_000 {
			key := fmt.Sprint(i)
			m.Add(called(key, "Read", "a/file.go"))
			m.Add(done(key))
			if i%7 == 0 {
				m.Add(said("and so on"))
			}
			if i%50 == 0 {
				m.View(24)
			}
		}
	}
}
