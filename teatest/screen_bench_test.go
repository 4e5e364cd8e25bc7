package teatest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// which is a question whose last option is found only in the form that shows it.
func which(n int) (qs []host.OperatorQuestion, needle string) {
	needle = fmt.Sprintf("needle-%06d", n)
	return []host.OperatorQuestion{{
		Question: "Which database should the service use?", Header: "Database",
		Options: []host.OperatorOption{{Label: "Postgres"}, {Label: "SQLite"}, {Label: needle}},
	}}, needle
}

// BenchmarkQuestionToVisible is from an ask's reaching the host until its last option was written to the terminal
// (aim: 50 ms), and through a real grandchild from the tool call. Beside it a bare bubbletea program that is sent
// a line. A frame alone is 42 ms, of which a question waits half on average.
func BenchmarkQuestionToVisible(b *testing.B) {
	b.Run("path=switchboard", func(b *testing.B) {
		g, turn := kitsokiOnGlass(b)
		opened := make(chan host.OpenedAsk, 1)
		ctx := host.WithAskRequest(context.Background(), host.AskRequest{Opened: func(a host.OpenedAsk) { opened <- a }})
		settled := make(chan error, 1)
		visible(b, g, func(n int) (string, func()) {
			qs, needle := which(n)
			return needle, func() {
				go func() { _, err := turn.board.Ask(ctx, turn.id, qs); settled <- err }()
			}
		}, func() {
			answerFirst(b, <-opened)
			if err := <-settled; err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("path=grandchild", func(b *testing.B) {
		g, turn := kitsokiOnGlass(b)
		opened := make(chan host.OpenedAsk, 1)
		env := askSocket(b, turn.board, host.BridgeOptions{
			SessionID: turn.id, Opened: func(_ string, a host.OpenedAsk) { opened <- a },
		})
		child := startGrandchild(b, env, release(b), "mcp-operator-ask")
		child.exchange(b, initialize)
		visible(b, g, func(n int) (string, func()) {
			_, needle := which(n)
			call := callOfTool(n+3, map[string][]string{"Which database should the service use?": {"Postgres", "SQLite", needle}})
			return needle, func() { child.send(b, call) }
		}, func() {
			answerFirst(b, <-opened)
			if reply := child.receive(b); !strings.Contains(reply, "Postgres") {
				b.Fatal(reply)
			}
		})
		child.end(b)
	})
	b.Run("path=bare", func(b *testing.B) {
		g, send := bareOnGlass(b)
		var took sample
		for n := 0; b.Loop(); n++ {
			_, needle := which(n)
			took = append(took, g.after(needle, func() { send(show(needle)) }))
			b.StopTimer()
			rest(n)
			b.StartTimer()
		}
		took.report(b, time.Millisecond, "ms")
	})
}

// visible measures from ask until its needle shows; answer ends the ask, whose form is then closed.
func visible(b *testing.B, g *glass, question func(n int) (needle string, ask func()), answer func()) {
	b.Helper()
	var took sample
	for n := 0; b.Loop(); n++ {
		needle, ask := question(n)
		took = append(took, g.after(needle, ask))
		b.StopTimer()
		g.after("ended: answered", answer)
		g.after("F1 all", func() { g.keys("\x1b") })
		rest(n)
		b.StartTimer()
	}
	took.report(b, time.Millisecond, "ms")
}

func answerFirst(b *testing.B, a host.OpenedAsk) {
	b.Helper()
	if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkKeyToFrame is from a key until the prompt with it was written to the terminal, while nothing happens,
// and while an agent says 10,000 lines a second (aim: two frames, 83 ms); lag-ms is how far the screen is behind the agent then. Beside it a bare bubbletea program.
func BenchmarkKeyToFrame(b *testing.B) {
	b.Run("screen=quiet", func(b *testing.B) {
		g, _ := kitsokiOnGlass(b)
		typing(b, g)
	})
	b.Run("screen=flooded", func(b *testing.B) {
		g, turn := kitsokiOnGlass(b)
		quit, said := make(chan struct{}), make(chan float64)
		go func() { said <- flood(turn, 10_000, quit) }()
		typing(b, g)
		close(quit)
		b.ReportMetric(<-said, "lines/s")
		last := agent.Text{MessageID: "last", Text: "the last line"}
		b.ReportMetric(float64(g.after(last.Text, func() { turn.emit(last) }).Milliseconds()), "lag-ms")
	})
	b.Run("screen=bare", func(b *testing.B) {
		g, _ := bareOnGlass(b)
		typing(b, g)
	})
}

// flood says so many lines a second, a message each, and returns how many it came to.
func flood(turn dispatched, perSecond int, quit <-chan struct{}) float64 {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began, n := time.Now(), 0
	for {
		select {
		case <-quit:
			return float64(n) / time.Since(began).Seconds()
		case <-tick.C:
			for due := int(time.Since(began).Seconds() * float64(perSecond)); n < due; n++ {
				turn.emit(agent.Text{MessageID: fmt.Sprint(n), Text: fmt.Sprintf("%08d 1234567890 +-*/ 1234567890", n)})
			}
		}
	}
}

// typing measures letters until the word that they make stands on the screen. A word of 20 is taken back.
func typing(b *testing.B, g *glass) {
	b.Helper()
	var took sample
	word := ""
	for n := 0; b.Loop(); n++ {
		letter := string(rune('A' + n%26))
		word += letter
		took = append(took, g.after(word, func() { g.keys(letter) }))
		b.StopTimer()
		if len(word) == 20 {
			for ; len(word) > 1; word = word[:len(word)-1] {
				g.keys("\x7f")
			}
			g.after(word+"Z", func() { g.keys("Z") })
			word += "Z"
		}
		rest(n)
		b.StartTimer()
	}
	took.report(b, time.Millisecond, "ms")
}

// BenchmarkIdle5sOf20 is the processor time of a screen on which nothing happens, measured for 5 s and scaled to
// 20 s (aim: 100 ms): kitsoki's with an ask open, and a bare bubbletea program's.
func BenchmarkIdle5sOf20(b *testing.B) {
	b.Run("screen=ask", func(b *testing.B) {
		g, turn := kitsokiOnGlass(b)
		settled := make(chan struct{})
		qs, needle := which(0)
		ctx, cancel := context.WithCancel(context.Background())
		g.after(needle, func() {
			go func() { defer close(settled); _, _ = turn.board.Ask(ctx, turn.id, qs) }() // withdrawn below
		})
		idle(b)
		cancel()
		<-settled
	})
	b.Run("screen=bare", func(b *testing.B) {
		bareOnGlass(b)
		idle(b)
	})
}

func idle(b *testing.B) {
	b.Helper()
	<-time.After(time.Second) // what the start left to do
	runtime.GC()
	const watched = 5 * time.Second
	var used time.Duration
	for b.Loop() {
		before := processorTime(b)
		<-time.After(watched)
		used += processorTime(b) - before
	}
	scaled := float64(used) / float64(b.N) * float64(20*time.Second/watched)
	b.ReportMetric(scaled/float64(time.Millisecond), "cpu-ms/20s")
}

// processorTime is what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}
