package mcpstdio_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"example.com/kitsoki/mcpstdio"
)

// childEnv has the socket of a test binary that is the server itself, on its own standard input and output.
const childEnv = "MCPSTDIO_TEST_SOCKET"

func TestMain(m *testing.M) {
	if socket, ok := os.LookupEnv(childEnv); ok {
		if err := mcpstdio.Serve(context.Background(), mcpstdio.Options{Socket: socket, Version: "child"}, os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
