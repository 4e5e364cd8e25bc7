package mcpstdio

import (
	"context"
	"io"
	"time"
)

// ServeWithProgress is Serve with another time between words of progress.
func ServeWithProgress(ctx context.Context, socket string, every time.Duration, stdin io.Reader, stdout, stderr io.Writer) error {
	g := newGrandchild(socket, stdout)
	g.progressEvery = every
	return g.serve(ctx, stdin, stderr, "test")
}
