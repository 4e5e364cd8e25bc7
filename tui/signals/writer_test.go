package signals

import (
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// bubbletea takes an output for a terminal when it is one of these.
var _ interface {
	io.ReadWriteCloser
	Fd() uintptr
} = (*Writer)(nil)

// Every way to write waits for the one who is writing; what an embedded file brings along must not go past it.
func TestEveryWriteWaitsItsTurn(t *testing.T) {
	for name, write := range map[string]func(*Writer) error{
		"Write":          func(w *Writer) error { _, err := w.Write([]byte("later")); return err },
		"io.WriteString": func(w *Writer) error { _, err := io.WriteString(w, "later"); return err },
		"io.Copy":        func(w *Writer) error { _, err := io.Copy(w, strings.NewReader("later")); return err },
		"WriteAt":        func(w *Writer) error { _, err := w.WriteAt([]byte("later"), 6); return err },
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Create(t.TempDir() + "/out")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			w := NewWriter(f)
			w.mu.Lock()
			var running sync.WaitGroup
			started := make(chan struct{})
			running.Go(func() {
				close(started)
				if err := write(w); err != nil {
					t.Error(err)
				}
			})
			<-started
			for range 1000 {
				runtime.Gosched()
			}
			if _, err := w.File.Write([]byte("first ")); err != nil {
				t.Error(err)
			}
			w.mu.Unlock()
			running.Wait()
			got, err := os.ReadFile(f.Name())
			if err != nil || string(got) != "first later" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
