package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

// A session of many days comes back in the time that its end takes.
func BenchmarkResumeAfter100000Lines(b *testing.B) {
	state := b.TempDir()
	m := NewManager(ManagerOptions{State: state, Agent: func(name string) (agent.Command, error) { return agent.Command{Name: name, Path: name}, nil }})
	s, err := m.OpenSession(context.Background(), Spec{Agent: "scripted", Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	s.record(trace.TurnStarted{SessionID: s.id, Turn: 1, Prompt: "go"})
	for i := range 50_000 {
		s.record(trace.AgentTool{SessionID: s.id, Turn: 1, ToolUseID: fmt.Sprint("toolu_", i), Tool: "Read"})
	}
	s.record(trace.TurnEnded{SessionID: s.id, Turn: 1, Outcome: "done"})
	if err := m.Close(context.Background(), host.HostClosing); err != nil {
		b.Fatal(err)
	}
	var lines bytes.Buffer
	lines.WriteString(`{"type":"system","subtype":"init","session_id":"talk-1","model":"m"}` + "\n")
	for i := range 100_000 {
		fmt.Fprintf(&lines, `{"type":"assistant","message":{"id":"m%d","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"/some/where/file%d.go"}}]},"session_id":"talk-1","uuid":"0f0f0f0f-0000-4000-8000-%012d"}`+"\n", i, i, i, i)
	}
	if err := os.WriteFile(filepath.Join(state, s.id, trace.TranscriptName), lines.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(lines.Len())/(1<<20), "MB-transcript")
	for b.Loop() {
		began := time.Now()
		again := NewManager(ManagerOptions{State: state, Agent: m.opt.Agent})
		if _, err := again.Resume(context.Background(), "last", Spec{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/resume")
		if err := again.Close(context.Background(), host.HostClosing); err != nil {
			b.Fatal(err)
		}
	}
}
