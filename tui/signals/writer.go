package signals

import (
	"io"
	"os"
	"sync"
)

// Writer lets others write to the terminal beside bubbletea's renderer: every write is whole before the next one
// starts, so that no sequence lands in the middle of a frame. It embeds the file, because bubbletea takes only
// what has its Fd for a terminal; everything of the file that writes is covered here, for io.WriteString and
// io.Copy would find it otherwise. (An os.File happens to keep single writes whole by itself, but promises nothing.)
//
// A terminal that takes no output holds whoever writes, and then everybody else who wants to: never write from
// Update.
type Writer struct {
	*os.File
	mu sync.Mutex // held for each write
}

// NewWriter wraps the terminal. The file stays its opener's to close.
func NewWriter(f *os.File) *Writer { return &Writer{File: f} }

// Write writes all of p before anybody else writes.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.File.Write(p)
}

// WriteString is Write for a string.
func (w *Writer) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// ReadFrom writes what comes from r, in pieces between which others may write.
func (w *Writer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{w}, r)
}

// WriteAt is Write at a place in a file.
func (w *Writer) WriteAt(p []byte, off int64) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.File.WriteAt(p, off)
}
