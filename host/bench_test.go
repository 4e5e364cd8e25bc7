package host_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"example.com/kitsoki/host"
)

// BenchmarkOneMoreAsk is an ask that is opened and answered beside others that stay open: its cost must not grow
// with their number. bytes/open is what each open one holds.
func BenchmarkOneMoreAsk(b *testing.B) {
	for _, open := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("open=%d", open), func(b *testing.B) {
			board := host.NewSwitchboard(host.SwitchboardOptions{MaxOpen: open + 1})
			defer board.Declare(nil)()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			for range open {
				opened := make(chan struct{})
				ctx := host.WithAskRequest(context.Background(), host.AskRequest{Opened: func(host.OpenedAsk) { close(opened) }})
				go func() { _, _ = board.Ask(ctx, "waiting", []host.OperatorQuestion{database}) }() // ends with Close
				<-opened
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			ctx := host.WithAskRequest(context.Background(), host.AskRequest{Opened: func(a host.OpenedAsk) {
				if err := a.Answer(context.Background(), []host.Answer{{Picked: []int{0}}}); err != nil {
					b.Error(err)
				}
			}})
			for b.Loop() {
				if _, err := board.Ask(ctx, "answered", []host.OperatorQuestion{database}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse)/float64(open), "bytes/open")
			if err := board.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
