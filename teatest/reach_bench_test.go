package teatest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/control"
	"example.com/kitsoki/host/session"
)

// BenchmarkQuestionToSubscriber is from an ask to its being shown by who subscribed over the control socket of its
// process (aim: median 5 ms), with the trace on the disk before, as every ask is; and from the answer that the subscriber
// sends back to the end of the ask.
func BenchmarkQuestionToSubscriber(b *testing.B) {
	runtime, err := os.MkdirTemp("", "kb") //nolint:usetesting // sockets need a short path
	if err != nil {
		b.Fatal(err)
	}
	feed := control.NewFeed(os.Getpid())
	m := session.NewManager(session.ManagerOptions{State: b.TempDir(), Watch: feed})
	s, err := m.New(session.Options{Command: agent.Command{Name: "bench"}, Dir: "/project", Access: agent.Read})
	if err != nil {
		b.Fatal(err)
	}
	server, err := control.Serve(b.Context(), control.Options{Runtime: runtime, Manager: m, Feed: feed, Version: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	c, err := control.Dial(b.Context(), server.Path())
	if err != nil {
		b.Fatal(err)
	}
	shown, sent := make(chan time.Time, 1), make(chan time.Time, 1)
	watch, err := c.Watch(b.Context(), "", "bench", func(ctx context.Context, a host.Ask, _ control.Question) {
		shown <- time.Now()
		sent <- time.Now()
		_ = a.Answer(ctx, []host.Answer{{Picked: []int{0}}}) // what went wrong leaves the ask open, and the benchmark hanging
	})
	if err != nil {
		b.Fatal(err)
	}
	release := s.Present()
	q := []host.OperatorQuestion{{Question: "Which DB?", Options: []host.OperatorOption{{Label: "Postgres"}, {Label: "SQLite"}}}}
	var there, back sample
	for b.Loop() {
		began := time.Now()
		if _, err := m.Board().Ask(b.Context(), s.ID(), q); err != nil {
			b.Fatal(err)
		}
		ended := time.Now()
		there = append(there, (<-shown).Sub(began))
		back = append(back, ended.Sub(<-sent))
	}
	there.report(b, time.Microsecond, "there-µs")
	back.report(b, time.Microsecond, "back-µs")
	release()
	watch.Close()
	ctx := context.Background()
	for _, err := range []error{c.Close(), server.Close(ctx), m.Close(ctx, host.HostClosing), os.RemoveAll(runtime)} {
		if err != nil {
			b.Error(err)
		}
	}
}

// BenchmarkInboxForStatusBar is the whole command that a status bar runs every few seconds (aim: 50 ms), with one kitsoki
// running.
func BenchmarkInboxForStatusBar(b *testing.B) {
	env, bin := plainEnv(b), build(b, "..")
	owner := exec.Command(bin, "demo", "--plain", "--cwd", b.TempDir())
	owner.Env = env
	in, err := owner.StdinPipe() // held open: its end is the end of the operator
	if err != nil {
		b.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		b.Fatal(err)
	}
	var took sample
	for b.Loop() {
		took.measure(func() {
			cmd := exec.Command(bin, "inbox", "--format", "tmux")
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
		})
	}
	took.report(b, time.Millisecond, "ms")
	_ = in.Close()
	if err := owner.Wait(); err != nil {
		b.Error(err)
	}
}
